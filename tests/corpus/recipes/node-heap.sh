# tool: node
# how: an export that keeps every row until the heap is full
# decisive: FATAL ERROR:
# decisive: JavaScript heap out of memory
prepare() {
cat > export.js <<'X'
const rows = [];
for (let n = 0; ; n++) { rows.push({ n, text: ("row " + n).repeat(50).split("") }); if (n % 20 === 0) console.log(`page ${n / 20} exported, errors: 0`); }
X
}
run() { node --max-old-space-size=60 export.js; }
