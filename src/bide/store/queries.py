"""Reads `queries.sql`: every statement by its name."""

from pathlib import Path


def load(path: Path) -> dict[str, str]:
    """The statements of a file whose blocks are a name, a line of prose, and SQL, with blank lines between them."""
    blocks = [block.split("\n", 2) for block in path.read_text(encoding="utf-8").strip().split("\n\n")]
    found = {block[0].removeprefix("-- "): block[2] for block in blocks if len(block) == 3}
    return {name: sql.replace("{columns}", found["columns"]) for name, sql in found.items()}


QUERIES = load(Path(__file__).with_name("queries.sql"))
