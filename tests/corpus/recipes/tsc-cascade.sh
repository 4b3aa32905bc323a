# tool: tsc
# how: 150 files that use types of a module which was not generated
# decisive: src/api.ts(1,28): error TS2792: Cannot find module './generated/schema'
prepare() {
mkdir src; echo '{"compilerOptions":{"strict":true,"noEmit":true,"target":"es2022","types":[]},"include":["src"]}' > tsconfig.json
printf 'import type { Order } from "./generated/schema";\nexport type { Order };\nexport const list: readonly Order[] = [];\nexport const by = <K extends keyof Order>(key: K, f: (value: { [P in K]: number }) => void) => f;\n' > src/api.ts
for n in $(seq 150); do printf 'import { list, by } from "./api";\nexport const f%s = list.map((o) => o.total).filter((n) => n.big);\nby("total", (v) => v.totl);\nexport function g%s(a, b) { return a + b; }\nexport const h%s: number = "x";\n' $n $n $n > src/use$n.ts; done
}
run() { tsc -p .; }
