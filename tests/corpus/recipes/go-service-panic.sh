# tool: go service, JSON lines, goroutine dump
# how: 40,000 requests, then a concurrent write to a map ends it with a dump of 1,500 goroutines
# decisive: panic: assignment to entry in nil map
# decisive: main.(*cache).put(
prepare() {
printf 'module example.com/shop\ngo 1.19\n' > go.mod
cat > main.go <<'X'
package main

import (
	"encoding/json"
	"os"
	"runtime/debug"
	"time"
)

type cache struct{ rows map[string]int }

func (c *cache) put(key string, n int) { c.rows[key] = n }

func (c *cache) reset(n int) {
	if n == 39000 {
		c.rows = nil
	}
}

func handle(c *cache, n int, say *json.Encoder) {
	say.Encode(map[string]any{"ts": time.Now().Format(time.RFC3339Nano), "level": "info", "msg": "request handled", "n": n, "error": nil, "status": 200, "path": "/orders"})
	c.put("k", n)
}

func idle(wake chan int) { <-wake }

func main() {
	debug.SetTraceback("all")
	say := json.NewEncoder(os.Stderr)
	c := &cache{rows: map[string]int{}}
	wake := make(chan int)
	for n := 0; n < 1500; n++ {
		go idle(wake)
	}
	for n := 0; n < 40000; n++ {
		c.reset(n)
		handle(c, n, say)
	}
}
X
go build -o service .
}
run() { ./service; }
