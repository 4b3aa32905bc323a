"""What a docstring says of a function and of its parameters: in the styles of Google, of NumPy and of Sphinx."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Params|Other Parameters|Returns?|Raises|Yields?|Examples?|Notes?|Attributes|See Also|Warnings?)\s*(:?)\s*\Z"
)
_PARAMETERS = ("Args", "Arguments", "Parameters", "Params", "Other Parameters")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")
_NUMPY = re.compile(r"\*{0,2}(\w+)\s*(?::.*)?()\Z")
_SPHINX = re.compile(r":param(?:\s+[^:]+?)?\s+\*{0,2}(\w+):\s*(.*)")


class Docstring(Struct, frozen=True):
    """A docstring in its parts."""

    description: str
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def read(doc: str) -> Docstring:
    """Return what comes before the first section, and what is said of each parameter."""
    lines = doc.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith(":") or _begins(lines, at)), len(lines))
    said: dict[str, list[str]] = {}
    for name, words in _parameters(lines[first:]):
        said.setdefault(name, []).append(words)
    return Docstring("\n".join(lines[:first]).strip(), {key: " ".join(filter(None, one)) for key, one in said.items()})


def _parameters(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each parameter with what a line says of it."""
    style: re.Pattern[str] | None = None
    current, depth = "", -1
    for at, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if section := _begins(lines, at):
            underlined = not section[2]
            style = (_NUMPY if underlined else _GOOGLE) if section[1] in _PARAMETERS else None
            current, depth = "", -1
            continue
        sphinx = _SPHINX.match(line)
        found = sphinx or (style.match(line.strip()) if (style and indent <= depth) or (style and depth < 0) else None)
        if found is not None and line.strip():
            current, depth = found[1], indent
            yield current, found[2]
        elif line.startswith(":"):
            current, style = "", None
        elif current and line.strip():
            yield current, line.strip()


def _begins(lines: Sequence[str], at: int) -> re.Match[str] | None:
    """Return the name of the section that begins here: it has a colon behind it, or is underlined."""
    found = _SECTION.match(lines[at])
    if found is None or (not found[2] and not (at + 1 < len(lines) and set(lines[at + 1].strip()) == {"-"})):
        return None
    return found
