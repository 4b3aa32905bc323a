# tool: cargo build -v
# how: 60 crates with warnings, one borrows a value that was moved
# decisive: error[E0382]: borrow of moved value: `names`
# decisive: part37/src/lib.rs:7
prepare() {
python3 - <<'X'
import os
members = [f"part{n}" for n in range(60)]
open("Cargo.toml", "w").write("[workspace]\nmembers = [" + ", ".join(f'"{m}"' for m in members) + "]\n")
for n, m in enumerate(members):
    os.makedirs(f"{m}/src")
    open(f"{m}/Cargo.toml", "w").write(f'[package]\nname = "{m}"\nversion = "0.1.0"\nedition = "2021"\n')
    last = "names" if n == 37 else "copy"
    open(f"{m}/src/lib.rs", "w").write(f'''fn unused_error_{n}() -> Result<(), String> {{ Err("x".into()) }}
pub fn shown(names: Vec<String>) -> usize {{
    let copy = names.clone();
    let failed = 3;
    unused_error_{n}();
    let joined: String = names.into_iter().collect();
    joined.len() + {last}.len()
}}
''')
X
}
run() { cargo build -v --offline -j 2 2>&1; }
