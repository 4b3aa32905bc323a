# tool: vitest run
# how: 30 files, one cannot be loaded because of a cycle in its imports
# decisive: TypeError: Cannot read properties of undefined (reading 'toFixed')
# decisive: tax.js:2:
prepare() {
echo '{"name":"shop","type":"module"}' > package.json; mkdir src
printf 'import { tax } from "./tax.js";\nexport const base = 100;\nexport const total = () => base + tax;\n' > src/price.js
printf 'import { base } from "./price.js";\nexport const tax = base.toFixed(2);\n' > src/tax.js
for n in $(seq 30); do printf 'import { test, expect } from "vitest";\n%s\ntest.each(Array.from({ length: 60 }, (_, n) => n))("number %%d of %s", (n) => { console.log("checked", n, "errors:", 0); expect(n).toBeGreaterThan(-1); });\n' "$([ $n = 12 ] && echo 'import { total } from "./src/price.js"; total();')" $n > f$n.test.js; done
}
run() { vitest run --reporter=verbose --globals; }
