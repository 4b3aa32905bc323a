# tool: bats
# how: tests of a shell function, one of which fails after a warning that says error
# decisive: not ok 3 hidden files count
# decisive: `[ "$output" = "3 files" ]' failed
prepare() {
cat > shell.bats <<'X'
count() { echo "$(ls "$1" | wc -l) files"; }

setup() { mkdir -p box && touch box/a box/b; }

@test "an empty folder" {
  mkdir -p none; run count none
  [ "$output" = "0 files" ]
}
@test "errors are printed" { run ls nowhere; [ "$status" -ne 0 ]; }
@test "hidden files count" {
  touch box/.hidden
  run count box
  [ "$output" = "3 files" ]
}
@test "0 errors" { true; }
X
}
run() { bats --tap shell.bats; }
