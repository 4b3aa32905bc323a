# tool: go test -timeout
# how: a test that waits for ever for a lock, with 900 goroutines in the dump
# decisive: panic: test timed out after 3s
# decisive: shop.(*Store).Close(
prepare() {
printf 'module example.com/shop\ngo 1.19\n' > go.mod
cat > store.go <<'X'
package shop

import (
	"sync"
	"time"
)

// Store keeps rows.
type Store struct {
	mu   sync.Mutex
	rows map[int]int
}

// Put adds a row.
func (s *Store) Put(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[n] = n
}

// Close flushes, which locks again.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Put(-1)
}

// Watch sleeps until the end.
func (s *Store) Watch(n int, events <-chan int) {
	for {
		select {
		case <-events:
		case <-time.After(time.Hour):
			s.Put(n)
		}
	}
}
X
cat > store_test.go <<'X'
package shop

import "testing"

func TestClose(t *testing.T) {
	s := &Store{rows: map[int]int{}}
	for n := 0; n < 900; n++ {
		go s.Watch(n, make(chan int))
	}
	s.Close()
}
X
}
run() { go test -timeout 3s ./...; }
