# tool: pip install -v
# how: a source package with 60 C files, one needs a header of a library
# decisive: src/part41.c:2:10: fatal error: lz4frame.h: No such file or directory
prepare() {
mkdir -p fast/src; python3 - <<'X'
for n in range(60):
    extra = "#include <lz4frame.h>" if n == 41 else ""
    open(f"fast/src/part{n}.c", "w").write(f"#include <Python.h>\n{extra}\nstatic int unused{n}(void) {{ char b[4]; return -1 < sizeof b; }}\nint part{n}(void) {{ int error; return 1; }}\n")
open("fast/setup.py", "w").write("from setuptools import Extension, setup\nsetup(name='fast', version='2.1', ext_modules=[Extension('fast', [f'src/part{n}.c' for n in range(60)], extra_compile_args=['-Wall','-Wextra'])])\n")
X
}
run() { pip install -v --target here ./fast; }
