# tool: node
# how: a report program that meets an order without a customer
# decisive: TypeError: Cannot read properties of undefined (reading 'name')
# decisive: at line (/srv/app/shop/report.js:4:
prepare() {
cat > report.js <<'X'
const orders = require("./orders.json");

function line(order) {
  return `${order.id} ${order.customer.name} ${order.total}`;
}
console.log(`${orders.length} orders`);
for (const order of orders) console.log(line(order));
X
node -e 'console.log(JSON.stringify(Array.from({length: 60}, (_, n) => ({id: n, total: n * 3, customer: n === 41 ? undefined : {name: "c" + n}}))))' > orders.json
}
run() { node report.js; }
