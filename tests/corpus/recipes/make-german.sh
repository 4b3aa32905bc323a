# tool: make, in German
# how: a rule that needs a file nobody makes
# decisive: Keine Regel vorhanden, um das Ziel „version.h“
prepare() {
printf 'all: a.o b.o c.o app\n%%.o: %%.c\n\tgcc -c $<\nc.o: c.c version.h\napp: a.o b.o c.o\n\tgcc -o app $^\n' > Makefile
for f in a b c; do echo "int $f(void) { return 0; }" > $f.c; done
}
run() { LANG=de_DE.UTF-8 make; }
