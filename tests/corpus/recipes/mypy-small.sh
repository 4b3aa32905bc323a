# tool: mypy
# how: four modules, one returns an optional value as a sure one
# decisive: store.py:9: error: Incompatible return value type (got "str | None", expected "str")
prepare() {
cat > store.py <<'X'
class Store:
    """Keep words."""

    def __init__(self) -> None:
        self.rows: dict[int, str] = {}

    def get(self, key: int) -> str:
        """Return a word."""
        return self.rows.get(key)
X
for n in a b c; do printf 'from store import Store\n\n\ndef first(store: Store) -> str:\n    return store.get(1)\n' > $n.py; done
}
run() { mypy --strict --no-incremental .; }
