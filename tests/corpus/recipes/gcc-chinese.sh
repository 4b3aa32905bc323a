# tool: gcc, in Chinese
# how: a call with too few arguments in a small program of four files
# decisive: order.c:4:
# decisive: send_mail
prepare() {
echo 'int send_mail(const char *to, const char *what);' > mail.h
printf '#include "mail.h"\n#include <stdio.h>\nint order(int n) {\n    int sent = send_mail("a@b.example");\n    return sent + n;\n}\n' > order.c
for f in a b c; do printf '#include "mail.h"\nint %s(void) { int unused; return send_mail("x", "y"); }\n' $f > $f.c; done
printf 'all: a.o b.o order.o c.o\n%%.o: %%.c\n\tgcc -Wall -c $<\n' > Makefile
}
run() { LANG=zh_CN.UTF-8 make; }
