# tool: AddressSanitizer
# how: a cache that is read after one of its entries was freed
# decisive: ERROR: AddressSanitizer: heap-use-after-free
# decisive: in lookup /srv/app/shop/cache.c:13
prepare() {
cat > cache.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry { char key[16]; int value; struct entry *next; };
static struct entry *first;

static void add(const char *key, int value) {
    struct entry *e = malloc(sizeof *e);
    strcpy(e->key, key); e->value = value; e->next = first; first = e;
}
static int lookup(const char *key) {
    for (struct entry *e = first; e; e = e->next) if (!strcmp(e->key, key)) return e->value;
    return -1;
}
static void evict(void) { for (struct entry *e = first; e; ) { struct entry *n = e->next; if (e->value % 7 == 3) free(e); e = n; } }
int main(void) {
    char key[16];
    for (int n = 0; n < 50; n++) { sprintf(key, "key%d", n); add(key, n); printf("added %s\n", key); }
    evict();
    printf("key20 is %d\n", lookup("key20"));
    return 0;
}
X
gcc -g -O0 -fsanitize=address -Wno-all -o cache cache.c
}
run() { ./cache; }
