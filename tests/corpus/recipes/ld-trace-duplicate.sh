# tool: gcc, ld --trace --verbose
# how: 900 objects are linked with a trace of all symbols, two of them define the same one
# decisive: multiple definition of `settings_load'; part112.o
# decisive: part611.o
prepare() {
python3 - <<'X'
for n in range(900):
    extra = "int settings_load(void) { return 1; }" if n in (112, 611) else ""
    open(f"part{n:03}.s", "w").write((".globl settings_load\nsettings_load:\n ret\n" if extra else "") + f".globl part_error_handler_{n}\npart_error_handler_{n}:\n ret\n.section .note.GNU-stack\n")
open("main.c", "w").write("int main(void) { return 0; }\n")
X
for n in $(seq -w 0 899); do as -o part$n.o part$n.s; done; gcc -c main.c
}
run() { gcc -v -Wl,--trace,--verbose main.o part*.o -o app 2>&1; }
