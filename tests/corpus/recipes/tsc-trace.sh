# tool: tsc --traceResolution
# how: how each of 700 imports is resolved, with one that is not
# decisive: error TS2307: Cannot find module '@shop/mailer'
prepare() {
mkdir -p src; echo '{"compilerOptions":{"strict":true,"noEmit":true,"target":"es2022","module":"esnext","moduleResolution":"bundler","types":[],"baseUrl":".","paths":{"@shop/*":["packages/*/src"]}},"include":["src"]}' > tsconfig.json
for n in $(seq 700); do mkdir -p packages/p$n/src; echo "export const v$n = $n;" > packages/p$n/src/index.ts; printf 'import { v%s } from "@shop/p%s";\n%s\nexport const w%s = v%s;\n' $n $n "$([ $n = 350 ] && echo 'import { mail } from "@shop/mailer"; mail();')" $n $n > src/u$n.ts; done
}
run() { tsc -p . --traceResolution; }
