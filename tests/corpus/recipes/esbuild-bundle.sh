# tool: esbuild --log-limit=0
# how: 500 modules with warnings, one import has no matching export
# decisive: No matching export in "src/shared.js" for import "formatVat"
prepare() {
mkdir src; echo 'export const one = 1;' > src/shared.js
for n in $(seq 500); do if [ $n = 260 ]; then printf 'import { formatVat } from "./shared.js";\nexport const f260 = formatVat(1);\n' > src/m$n.js; else printf 'export const f%s = (x) => { if (x === -0) return "error"; return typeof x === "strin"; };\n' $n > src/m$n.js; fi; echo "import { f$n } from './m$n.js'; console.log(f$n(1));" >> src/index.js; done
}
run() { esbuild src/index.js --bundle --log-limit=0 --outfile=out.js --log-level=verbose; }
