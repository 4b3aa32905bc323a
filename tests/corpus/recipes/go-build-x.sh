# tool: go build -x
# how: the commands of a build of the standard library are shown, a package that uses cgo lacks a header
# decisive: hsm.go:4:11: fatal error: pkcs11.h: No such file or directory
prepare() {
printf 'module example.com/sign\ngo 1.19\n' > go.mod; mkdir hsm
printf 'package hsm\n\n/*\n #include <pkcs11.h>\n*/\nimport "C"\n\n// Open does nothing.\nfunc Open() C.int { return 0 }\n' > hsm/hsm.go
printf 'package main\n\nimport (\n\t"net/http"\n\n\t"example.com/sign/hsm"\n)\n\nfunc main() { hsm.Open(); http.ListenAndServe(":0", nil) }\n' > main.go
}
run() { GOCACHE=/srv/app/shop/cache go build -x -p 2 . 2>&1; }
