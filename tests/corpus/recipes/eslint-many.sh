# tool: eslint
# how: 300 files with 3,000 warnings, one has a syntax error
# decisive: Parsing error: Unexpected token }
# decisive: part187.js
prepare() {
printf 'export default [{ files: ["**/*.js"], rules: { "no-undef": "warn", "no-unused-vars": "warn", eqeqeq: "warn", "no-console": "warn" } }];\n' > eslint.config.mjs
for n in $(seq 300); do printf 'const error%s = 1;\nexport const f%s = (x) => x == 2 || failed;\nfunction unused%s(a, b) { console.log("error"); %s }\n' $n $n $n "$([ $n = 187 ] && echo 'return [a, };' || echo 'return a != b;')" > part$n.js; done
}
run() { eslint .; }
