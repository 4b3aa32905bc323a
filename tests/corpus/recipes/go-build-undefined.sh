# tool: go build
# how: a package that calls a function which was renamed
# decisive: ./main.go:12:14: undefined: loadConfig
prepare() {
cat > go.mod <<'X'
module example.com/shop
go 1.19
X
cat > main.go <<'X'
package main

import (
	"fmt"
	"os"
)

type config struct{ port int }

func main() {
	fmt.Println("start")
	cfg, err := loadConfig("shop.toml"), error(nil)
	if err != nil {
		os.Exit(1)
	}
	var port string = cfg.port
	fmt.Println(port)
}

func readConfig(path string) config { return config{port: 80} }
X
}
run() { go build ./...; }
