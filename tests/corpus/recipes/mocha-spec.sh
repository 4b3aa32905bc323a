# tool: mocha
# how: 2,500 tests of the spec reporter, one with another deep value
# decisive:   1) Basket 31
# decisive: Expected values to be strictly deep-equal
prepare() {
cat > basket.spec.js <<'X'
const assert = require("assert");
const sorted = (lines, n) => (n === 31 ? [...lines].sort() : lines);
for (let n = 0; n < 50; n++) describe(`Basket ${n}`, () => {
  for (let i = 0; i < 49; i++) it(`adds ${i} lines without error`, () => assert.equal(sorted(Array(i).fill(0), n).length, i));
  it("keeps the order of lines", () => assert.deepStrictEqual(sorted(["pear", "apple"], n), ["pear", "apple"]));
});
X
}
run() { mocha basket.spec.js; }
