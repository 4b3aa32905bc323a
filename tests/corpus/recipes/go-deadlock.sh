# tool: go
# how: a pipeline in which nobody reads the results
# decisive: fatal error: all goroutines are asleep - deadlock!
# decisive: main.work(
prepare() {
cat > main.go <<'X'
package main

import (
	"fmt"
	"sync"
)

func work(n int, results chan<- int, done *sync.WaitGroup) {
	defer done.Done()
	results <- n * n
}

func main() {
	results := make(chan int, 2)
	var done sync.WaitGroup
	for n := 0; n < 12; n++ {
		done.Add(1)
		go work(n, results, &done)
	}
	done.Wait()
	close(results)
	for r := range results {
		fmt.Println(r)
	}
}
X
go build -o pipeline main.go
}
run() { ./pipeline; }
