# tool: valgrind
# how: a program that jumps by a value which was not initialised, then leaks in 40 places
# decisive: Conditional jump or move depends on uninitialised value(s)
# decisive: choose (tree.c:7)
prepare() {
python3 - <<'X'
leaks = "".join(f"static void keep{n}(void) {{ char *p = malloc({n} + 10); p[0] = 'x'; if (p[0] == 'y') free(p); }}\n" for n in range(40))
calls = "".join(f"    keep{n}();\n" for n in range(40))
open("tree.c", "w").write("""#include <stdio.h>
#include <stdlib.h>

struct node { int key; int colour; };

static int choose(struct node *n) {
    if (n->colour == 1) return 1;
    return 0;
}
""" + leaks + "int main(void) {\n    struct node *n = malloc(sizeof *n);\n    n->key = 3;\n    printf(\"%d\\n\", choose(n));\n    free(n);\n" + calls + "    return 0;\n}\n")
X
gcc -g -O0 -o tree tree.c
}
run() { valgrind --leak-check=full --show-leak-kinds=all --error-exitcode=9 ./tree; }
