# tool: jest
# how: two suites in colour, one value differs
# decisive: formats euros
# decisive: "12,50 €"
prepare() {
echo '{"name":"shop","jest":{}}' > package.json
printf 'const money = (n) => n.toFixed(2) + " €";\nmodule.exports = { money };\n' > money.js
printf 'const { money } = require("./money");\ntest("formats euros", () => { expect(money(12.5)).toBe("12,50 €"); });\ntest("has two digits", () => { expect(money(1)).toContain("00"); });\n' > money.test.js
printf 'test.each([1,2,3,4,5,6,7,8])("adds %%d", (n) => { expect(n + 1).toBeGreaterThan(n); });\n' > other.test.js
}
run() { FORCE_COLOR=1 jest --color --verbose; }
