# tool: npm install
# how: two packages that want different versions of react
# decisive: npm error Could not resolve dependency:
# decisive: peer react@"^16.8.0 || ^17.0.0" from @material-ui/core@4.12.4
prepare() { echo '{"name":"shop","version":"1.0.0","dependencies":{"react":"18.2.0","@material-ui/core":"4.12.4"}}' > package.json; }
run() { npm install; }
