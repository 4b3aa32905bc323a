# tool: make -j4 -k, gcc
# how: 260 files with warnings, one with an error in the middle
# decisive: part143.c:9:13: error: ‘struct order’ has no member named ‘discount’
prepare() {
printf 'struct order { int id; int total; };\nint checked(struct order *o);\n' > order.h
python3 - <<'X'
for n in range(260):
    field = "discount" if n == 143 else "total"
    open(f"part{n}.c", "w").write(f'''#include "order.h"
#include <string.h>
int error_{n}(const char *s) {{
    int unused_error; unsigned u = 3; int i = -1; char b[4];
    if (i < u) strncpy(b, s, 4);
    return b[0];
}}
int part{n}(struct order *o) {{
    return o->{field} + checked(o);
}}
''')
open("Makefile", "w").write("OBJS=" + " ".join(f"part{n}.o" for n in range(260)) + "\nCFLAGS=-O2 -Wall -Wextra\nall: libparts.a\nlibparts.a: $(OBJS)\n\tar rc $@ $^\n")
X
}
run() { make -j4 -k 2>&1; }
