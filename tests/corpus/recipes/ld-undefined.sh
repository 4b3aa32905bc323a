# tool: gcc and ld
# how: a library is missing on the command line
# decisive: undefined reference to `deflateInit_'
prepare() {
cat > pack.c <<'X'
struct z { int n; };
extern int deflateInit_(struct z *, int, const char *, int);
extern int deflate(struct z *, int);
int main(void) {
    struct z s = {0};
    if (deflateInit_(&s, 6, "1.2.13", 112)) return 1;
    return deflate(&s, 4);
}
X
}
run() { make CFLAGS="-O2 -Wall -g" pack; }
