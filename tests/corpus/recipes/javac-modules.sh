# tool: make -k, javac -Xlint
# how: 60 modules are compiled one by one with warnings, two depend on a class that one module failed to make
# decisive: Prices.java:5: error: incompatible types: possible lossy conversion from long to int
prepare() {
python3 - <<'X'
import os
for n in range(60):
    os.makedirs(f"m{n}")
    lints = "\n".join(f"  java.util.List raw{i} = new java.util.ArrayList(); void add{i}() {{ raw{i}.add(\"error {i}\"); }}" for i in range(40))
    open(f"m{n}/Part{n}.java", "w").write(f"public class Part{n} {{\n{lints}\n" + ("  int p = Prices.of(3);\n" if n in (30, 55) else "") + "}\n")
open("m22/Prices.java", "w").write("public class Prices {\n  static long base = 100;\n\n  static int of(int n) {\n    return base * n;\n  }\n}\n")
open("Makefile", "w").write("all: " + " ".join(f"c{n}" for n in range(60)) + "\nc%:\n\tjavac -Xlint:all -Xmaxwarns 1000 -cp out -d out m$*/*.java\n")
X
}
run() { make -k; }
