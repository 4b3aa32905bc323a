# tool: ThreadSanitizer
# how: a counter that two threads write, with 200 lines of the program's own between
# decisive: WARNING: ThreadSanitizer: data race
# decisive: count /srv/app/shop/count.c:6
prepare() {
cat > count.c <<'X'
#include <pthread.h>
#include <stdio.h>

static int total;

static void *count(void *a) { for (int n = 0; n < 1000; n++) total++; return a; }
int main(void) {
    pthread_t a, b;
    for (int n = 0; n < 60; n++) printf("section %d checked, no error\n", n);
    fflush(stdout);
    pthread_create(&a, 0, count, 0); pthread_create(&b, 0, count, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    for (int n = 60; n < 200; n++) printf("section %d checked, no error\n", n);
    printf("total %d, failed 0\n", total);
    return 0;
}
X
gcc -g -fsanitize=thread -o count count.c
}
run() { setarch -R ./count; }
