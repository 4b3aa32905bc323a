# tool: cmake and ninja -v -k 0
# how: 180 sources with long command lines, one includes a header that is generated too late
# decisive: src/part77.c:2:10: fatal error: version_info.h: No such file or directory
prepare() {
mkdir src; python3 - <<'X'
for n in range(180):
    extra = '#include "version_info.h"' if n == 77 else ""
    open(f"src/part{n}.c", "w").write(f"#include <stdio.h>\n{extra}\nint part{n}(int a) {{ int failed; return printf(\"error %s\", a); }}\n")
flags = " ".join(f"-DSHOP_WITH_FEATURE_{f}=1 -I/srv/app/shop/third_party/feature_{f}/include" for f in range(20))
open("CMakeLists.txt", "w").write("cmake_minimum_required(VERSION 3.20)\nproject(shop C)\nset(CMAKE_C_FLAGS \"-Wall " + flags + "\")\nadd_library(shop STATIC " + " ".join(f"src/part{n}.c" for n in range(180)) + ")\n")
X
cmake -G Ninja -B build > /dev/null
}
run() { ninja -C build -v -k 0; }
