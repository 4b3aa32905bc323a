# tool: rust service
# how: 70,000 lines of two threads; one panics in the middle, the other waits for it and gives up
# decisive: thread 'indexer' panicked at 'called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }'
# decisive: main.rs:6:
prepare() {
mkdir src; printf '[package]\nname = "indexer"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
cat > src/main.rs <<'X'
use std::{sync::mpsc, thread};

fn index(said: mpsc::Sender<u32>) {
    for n in 0..40_000u32 {
        let text = if n == 17_500 { "17 500".to_string() } else { n.to_string() };
        let key: u32 = text.parse().unwrap();
        eprintln!("[indexer] INFO document {} indexed, errors: 0, segment {}", key, key % 61);
        if said.send(key).is_err() { return; }
    }
}

fn main() {
    let (say, hear) = mpsc::channel();
    let indexer = thread::Builder::new().name("indexer".into()).spawn(move || index(say)).unwrap();
    let mut seen = 0u32;
    for attempt in 0..60_000u32 {
        match hear.recv() {
            Ok(_) => seen += 1,
            Err(error) => eprintln!("[merger] WARN attempt {attempt}: nothing to merge ({error}), failed so far: {}", attempt - seen),
        }
    }
    eprintln!("[merger] ERROR merged {seen} of 40000 documents");
    drop(indexer);
    std::process::exit(1);
}
X
cargo build -q --offline --release
}
run() { ./target/release/indexer; }
