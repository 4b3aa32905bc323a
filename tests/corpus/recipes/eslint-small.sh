# tool: eslint
# how: five files with warnings and one error
# decisive: 'total' is not defined
# decisive: cart.js
prepare() {
cat > eslint.config.mjs <<'X'
export default [{ files: ["**/*.js"], rules: { "no-undef": "error", "no-unused-vars": "warn", eqeqeq: "warn" } }];
X
for n in a b c d; do printf 'const unused%s = 1;\nexport const f%s = (x) => x == 2;\n' $n $n > $n.js; done
printf 'export function price(lines) {\n  for (const line of lines) total += line.price;\n  return lines.length;\n}\n' > cart.js
}
run() { eslint .; }
