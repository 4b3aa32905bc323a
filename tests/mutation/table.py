"""The table of faults: faults.toml."""

from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("faults.toml")


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One small fault, and the tests that should notice it."""

    id: str
    area: str
    file: str
    old: str
    """Stands in the file exactly once."""
    new: str
    tests: tuple[str, ...]
    """Arguments of pytest: files or tests."""
    survives: str = ""
    """Why no test can notice it; empty if one must."""

    def wrong(self, root: Path) -> str:
        """Why it cannot be applied to the files below `root`; empty if it can."""
        path = root / self.file
        count = path.read_text(encoding="utf-8").count(self.old) if path.exists() else 0
        if count != 1:
            return f"its old text stands {count} times in {self.file}"
        return "it changes nothing" if self.old == self.new else ""

    @property
    def is_c(self) -> bool:
        """Whether the keeper has to be compiled for it."""
        return self.file.endswith((".c", ".h"))


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    fault: list[Fault]


def read() -> list[Fault]:
    """Return all faults, in the order of the table."""
    return msgspec.toml.decode(TABLE.read_bytes(), type=_Table).fault
