# tool: make -d -k
# how: what make considers for 900 files, one needs a file that has no rule
# decisive: No rule to make target 'schema/orders.sql', needed by 'gen300.c'
prepare() {
python3 - <<'X'
for n in range(900):
    open(f"gen{n}.in", "w").write("x\n")
open("Makefile", "w").write("all: " + " ".join(f"gen{n}.c" for n in range(900)) + "\n%.c: %.in\n\t@cp $< $@\ngen300.c: schema/orders.sql\n")
X
}
run() { make -d -k 2>&1; }
