# tool: vite build
# how: a page that imports a package that is not installed
# decisive: Rollup failed to resolve import "date-fns-tz" from "/srv/app/shop/src/main.js"
prepare() {
mkdir src; echo '<html><body><script type="module" src="/src/main.js"></script></body></html>' > index.html
printf 'import { shown } from "./shown.js";\nimport { toZonedTime } from "date-fns-tz";\ndocument.body.append(shown(toZonedTime(new Date(), "UTC")));\n' > src/main.js
echo 'export const shown = (day) => String(day);' > src/shown.js; echo '{"name":"shop","type":"module"}' > package.json
}
run() { vite build; }
