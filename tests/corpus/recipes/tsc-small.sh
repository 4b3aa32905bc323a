# tool: tsc
# how: a property that the type does not have, in one of three files
# decisive: cart.ts(4,15): error TS2551: Property 'totl' does not exist on type 'Cart'
prepare() {
cat > tsconfig.json <<'X'
{"compilerOptions": {"strict": true, "noEmit": true, "target": "es2022", "types": []}, "include": ["*.ts"]}
X
cat > types.ts <<'X'
export interface Cart { total: number; lines: string[] }
X
cat > cart.ts <<'X'
import { Cart } from "./types";

export function show(cart: Cart): string {
  return cart.totl.toFixed(2) + " in " + cart.lines.length;
}
X
cat > main.ts <<'X'
import { show } from "./cart";
export const said: string = show({ total: 3, lines: [] });
X
}
run() { tsc -p .; }
