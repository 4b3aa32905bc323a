# tool: jest
# how: 40 suites whose code logs with console.log and a stack each, one suite times out
# decisive: Exceeded timeout of 300 ms for a test
# decisive: mail 29 › is delivered
prepare() {
echo '{"name":"shop","jest":{"testTimeout":300}}' > package.json
printf 'async function deliver(n, lost) {\n  for (let i = 0; i < 12; i++) console.log(`delivery ${n} step ${i}: error=null, failed=0`);\n  if (lost) await new Promise(() => {});\n  return n;\n}\nmodule.exports = { deliver };\n' > mail.js
for n in $(seq 40); do printf 'const { deliver } = require("./mail");\ndescribe("mail %s", () => {\n  for (let i = 0; i < 30; i++) test("number " + i + " is sent", async () => { expect(await deliver(i)).toBe(i); });\n  test("is delivered", async () => { expect(await deliver(1, %s === 29)).toBe(1); });\n});\n' $n $n > t$n.test.js; done
}
run() { jest --ci -i; }
