# tool: mocha
# how: 800 tests of a parser that prints each token; an after hook fails, and so does the suite
# decisive: "after all" hook for "parses text 799"
# decisive: Error: 3 files are still open: a.tmp b.tmp c.tmp
prepare() {
cat > parser.spec.js <<'X'
const assert = require("assert");
const open = new Set();
describe("parser", () => {
  for (let n = 0; n < 800; n++) it(`parses text ${n}`, () => {
    for (let i = 0; i < 60; i++) console.log(`token ${i} of text ${n}: kind=word error=null failed=false at=${n * 60 + i}`);
    if ([4, 5, 6].includes(n)) open.add("abc"[n - 4] + ".tmp");
    assert.ok(n >= 0);
  });
  after(() => { if (open.size) throw new Error(`${open.size} files are still open: ${[...open].join(" ")}`); });
});
X
}
run() { mocha parser.spec.js; }
