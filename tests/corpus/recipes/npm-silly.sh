# tool: npm install --loglevel silly
# how: 300 packages are fetched, then the script of one of them fails
# decisive: Error: Cannot find module '/srv/app/shop/native/build/config.json'
prepare() {
echo '{"name":"shop","version":"1.0.0","dependencies":{"webpack":"5.90.0","jest":"29.7.0","native":"file:native"}}' > package.json
mkdir native; echo '{"name":"native","version":"0.3.0","scripts":{"postinstall":"node setup.js"}}' > native/package.json
echo 'console.log("setting up"); require(process.env.INIT_CWD + "/native/build/config.json");' > native/setup.js
}
run() { npm install --loglevel silly 2>&1; }
