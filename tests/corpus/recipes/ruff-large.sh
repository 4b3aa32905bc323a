# tool: ruff
# how: 200 files with findings of style; one name is used before it is defined
# decisive: F821 Undefined name `discount`
# decisive: part91.py:5:
prepare() {
python3 - <<'X'
for n in range(200):
    last = "discount" if n == 91 else "cents"
    open(f"part{n}.py", "w").write(f"import os\nimport sys\ndef f{n}(cents):\n    l = 1\n    return cents + {last}\nraise_error = lambda: None\n")
X
}
run() { ruff check --no-cache --output-format concise --select E,F,I,N,D .; }
