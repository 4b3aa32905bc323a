# tool: jest --verbose
# how: 60 suites of 40 tests, one fails with a rejected promise, console.error calls between
# decisive: ● rates 37 › converts yen
# decisive: no rate for JPY on 2024-02-30
prepare() {
echo '{"name":"shop","jest":{}}' > package.json
cat > rates.js <<'X'
const rates = new Map([["2024-02-28", 161], ["2024-03-01", 163]]);
async function rate(day) {
  console.error(`warning: error rate of source A on ${day} is 0`);
  if (!rates.has(day)) throw new Error(`no rate for JPY on ${day}`);
  return rates.get(day);
}
module.exports = { rate };
X
for n in $(seq 60); do cat > t$n.test.js <<X
const { rate } = require("./rates");
describe("rates $n", () => {
  for (let i = 0; i < 39; i++) test("case " + i + " is positive", async () => { expect(i % 13 ? 1 : await rate("2024-02-28")).toBeGreaterThan(0); });
  test("converts yen", async () => { expect(await rate($n === 37 ? "2024-02-30" : "2024-03-01")).toBe(163); });
});
X
done
}
run() { jest --verbose --ci -i; }
