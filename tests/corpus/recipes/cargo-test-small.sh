# tool: cargo test
# how: a library with eight tests, one of which fails
# decisive: thread 'tests::rounds_half_up' panicked at
# decisive: left: `12`
prepare() {
mkdir src; cat > Cargo.toml <<'X'
[package]
name = "money"
version = "0.1.0"
edition = "2021"
X
cat > src/lib.rs <<'X'
pub fn cents(price: f64) -> i64 { (price * 100.0) as i64 }

#[cfg(test)]
mod tests {
    use super::*;
    #[test] fn nothing() { assert_eq!(cents(0.0), 0); }
    #[test] fn whole() { assert_eq!(cents(3.0), 300); }
    #[test] fn quarter() { assert_eq!(cents(0.25), 25); }
    #[test] fn rounds_half_up() { assert_eq!(cents(0.125), 13); }
    #[test] fn negative() { assert_eq!(cents(-1.0), -100); }
    #[test] fn large() { assert_eq!(cents(1e6), 100_000_000); }
    #[test] fn half() { assert_eq!(cents(0.5), 50); }
    #[test] fn dime() { assert_eq!(cents(0.75), 75); }
}
X
}
run() { cargo test --offline; }
