# tool: webpack
# how: 400 modules with warnings of missing exports, one cannot be parsed
# decisive: Module parse failed: Unexpected token (2:17)
# decisive: ./src/part201.js
prepare() {
mkdir src; python3 - <<'X'
for n in range(400):
    body = 'export const go = \nexport const x = @;' if n == 201 else f'export const go = () => shared.missing{n} + 1;'
    open(f"src/part{n}.js", "w").write(f'import * as shared from "./shared.js"; \n{body}\n' if n != 201 else "import './shared.js';\nexport const a = <b>;\n")
open("src/shared.js", "w").write("export const one = 1;\n")
open("src/index.js", "w").write("".join(f'import {{ go as g{n} }} from "./part{n}.js"; g{n}();\n' for n in range(400)))
X
}
run() { webpack --mode development --stats verbose --entry ./src/index.js; }
