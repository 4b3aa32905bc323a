# tool: go test -v
# how: 25 packages of 60 tests, one fails in the middle and logs before it
# decisive: ledger_test.go:22: balance of account 7 is 311, want 310
prepare() {
printf 'module example.com/ledger\ngo 1.19\n' > go.mod
for p in $(seq 10 34); do mkdir p$p; cat > p$p/ledger_test.go <<X
package p$p

import (
	"fmt"
	"testing"
)

func balance(account int) int {
	if $p == 21 && account == 7 {
		return 311
	}
	return 310
}

func TestBalance(t *testing.T) {
	for account := 0; account < 60; account++ {
		t.Run(fmt.Sprintf("account%d", account), func(t *testing.T) {
			if account%5 == 0 {
				t.Logf("expected error: no such account %d", -account)
			}
			if got := balance(account); got != 310 {
				t.Errorf("balance of account %d is %d, want 310", account, got)
			}
		})
	}
}
X
done
}
run() { go test -v ./...; }
