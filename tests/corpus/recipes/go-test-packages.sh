# tool: go test -v
# how: 40 packages of 400 subtests, the tests of one do not compile
# decisive: p33/ledger_test.go:9:2: failed declared but not used
prepare() {
printf 'module example.com/ledger\ngo 1.19\n' > go.mod
for p in $(seq 10 49); do mkdir p$p; { printf 'package p%s\n\nimport (\n\t"fmt"\n\t"testing"\n)\n\nfunc TestErrors(t *testing.T) {\n' $p; [ $p = 33 ] && printf '\tfailed := 3\n'; printf '\tfor n := 0; n < 400; n++ {\n\t\tt.Run(fmt.Sprintf("failed_%%d_times_without_error", n), func(t *testing.T) { t.Log("retry", n, "of", n+1, "ended with no error") })\n\t}\n}\n'; } > p$p/ledger_test.go; done
}
run() { go test -v ./... 2>&1; }
