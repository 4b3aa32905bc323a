# tool: go service, log/text
# how: 120,000 lines; a certificate could not be read early on, plain connections are refused later, and it exits at the end
# decisive: tls: failed to find any PEM data in certificate input
prepare() {
printf 'module example.com/gateway\ngo 1.19\n' > go.mod
cat > main.go <<'X'
package main

import (
	"crypto/tls"
	"log"
	"os"
)

func load(say *log.Logger) *tls.Config {
	os.WriteFile("server.pem", []byte("not a certificate\n"), 0o600)
	pair, err := tls.LoadX509KeyPair("server.pem", "server.pem")
	if err != nil {
		say.Printf("WARN  tls disabled: %v", err)
		return nil
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func main() {
	say := log.New(os.Stdout, "", log.LstdFlags|log.Lmicroseconds|log.Lshortfile)
	for n := 0; n < 900; n++ {
		say.Printf("INFO  route %d registered, 0 errors", n)
	}
	config := load(say)
	refused := 0
	for n := 0; n < 120000; n++ {
		if config == nil && n > 60000 && n%6 == 0 {
			say.Printf("ERROR request %d refused: client requires encryption", n)
			refused++
			continue
		}
		say.Printf("INFO  request %d answered in %d us, error=nil", n, n*7919%997)
	}
	if refused > 0 {
		say.Fatalf("FATAL %d requests refused", refused)
	}
}
X
go build -o gateway .
}
run() { ./gateway; }
