# tool: ctest -V
# how: 150 tests that print 150 lines each, one is ended by a signal
# decisive: store.c:10: flush: Assertion `left == 0' failed.
# decisive: test63
prepare() {
cat > store.c <<'X'
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static void flush(int n) {
    int left = n == 62;
    for (int i = 0; i < 150; i++) printf("flush %d of store %d: wrote %d bytes, errors 0, failed 0\n", i, n, i * 512);
    fflush(stdout);
    assert(left == 0);
}
int main(int argc, char **argv) { flush(atoi(argv[1])); return 0; }
X
python3 - <<'X'
open("CMakeLists.txt", "w").write("cmake_minimum_required(VERSION 3.20)\nproject(store C)\nenable_testing()\nadd_executable(store store.c)\n" + "".join(f"add_test(NAME test{n + 1} COMMAND store {n})\n" for n in range(150)))
X
sed -i 's/#include <assert.h>/#undef NDEBUG\n#include <assert.h>/' store.c; cmake -B build > /dev/null && make -C build > /dev/null
}
run() { ctest --test-dir build -V; }
