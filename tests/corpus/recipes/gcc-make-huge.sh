# tool: make -j2 -k, g++ -H
# how: 420 files whose 700 headers are listed, one error a third of the way
# decisive: unit141.cpp:4:46: error: ‘struct basket’ has no member named ‘push’
prepare() {
python3 - <<'X'
import os
os.makedirs("include/shop")
for h in range(700):
    open(f"include/shop/interface_{h:04}.h", "w").write(f"#pragma once\nint interface_{h}(int);\n")
open("include/all.h", "w").write("#pragma once\n" + "".join(f'#include "shop/interface_{h:04}.h"\n' for h in range(700)))
for n in range(420):
    call = "push(3)" if n == 141 else "add(3)"
    open(f"unit{n}.cpp", "w").write(f'''#include "all.h"
struct basket {{ int n; void add(int m) {{ n += m; }} }};
int unused_{n}() {{ int error; return 1; }}
void unit{n}_fills_the_basket(basket &b) {{ b.{call}; }}
''')
open("Makefile", "w").write("all: " + " ".join(f"unit{n}.o" for n in range(420)) + "\n%.o: %.cpp\n\tg++ -Wall -Iinclude -H -fsyntax-only $< && touch $@\n")
X
}
run() { make -j2 -k 2>&1; }
