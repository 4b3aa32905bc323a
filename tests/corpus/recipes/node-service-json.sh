# tool: node service, JSON lines (pino)
# how: a service under load for 60,000 requests; its pool is lost in the middle, then each request fails
# decisive: connection terminated: too many clients already
prepare() {
ln -s ../tools/node_modules node_modules
cat > service.js <<'X'
const log = require("pino")({ level: "debug" }, require("pino").destination({ sync: true }));
const net = require("net");
class Pool {
  constructor(max) { this.open = new Set(); this.max = max; this.lost = false; }
  query(n) {
    if (this.lost) throw new Error("pool is closed");
    const connection = { n };
    this.open.add(connection);
    if (n % 300) this.open.delete(connection);
    if (this.open.size > this.max) { this.lost = true; const e = new Error("connection terminated: too many clients already"); e.code = "53300"; throw e; }
    return [{ n }];
  }
}
const pool = new Pool(100);
let failed = 0;
for (let n = 0; n < 60000; n++) {
  const child = log.child({ request: n, route: ["/orders", "/cart", "/health"][n % 3] });
  child.debug({ headers: { accept: "application/json", trace: (n * 2654435761 % 4294967296).toString(16) } }, "request received");
  try { child.info({ rows: pool.query(n).length, ms: n % 17 }, "request completed"); }
  catch (error) {
    if (error.code) child.warn({ code: error.code, reason: error.message }, "pool event");
    else { failed++; child.error({ err: { message: error.message } }, "request failed"); }
  }
}
log.fatal({ failed }, "too many failed requests, giving up");
process.exitCode = 1;
X
}
run() { node service.js; }
