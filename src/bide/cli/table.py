"""A table fitted to the terminal."""

from bide.cli.terminal import has_colours, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NARROWEST = 10
COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}


def paint(text: str, colour: str | None, *, fd: int = 1) -> str:
    """The text in a colour, where colours may be used."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if colour and has_colours(fd) else text


def cells(text: str) -> int:
    """How many columns a terminal gives the text."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - only wide text pays for it

    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)


def fit(text: str, columns: int) -> str:
    """The text cut to so many columns."""
    if cells(text) <= columns:
        return text
    while text and cells(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def pad(text: str, columns: int) -> str:
    """The text filled up to so many columns."""
    return text + " " * max(0, columns - cells(text))


def lines(
    head: "Sequence[str]", rows: "Sequence[Sequence[str]]", colour: "Callable[[int, int], str | None]", *, limited: bool
) -> list[str]:
    """The table's lines. With `limited` the last column is cut so that a line fits the terminal.

    `colour` names the colour of a cell by row and column.
    """
    widths = [max(cells(row[column]) for row in (head, *rows)) for column in range(len(head))]
    room = max(_NARROWEST, width() - sum(widths[:-1]) - 2 * (len(head) - 1))
    out = [paint("  ".join([*map(pad, head[:-1], widths), head[-1]]), "bold")]
    for number, row in enumerate(rows):
        last = fit(row[-1], room) if limited else row[-1]
        shown = [paint(pad(text, widths[at]), colour(number, at)) for at, text in enumerate(row[:-1])]
        out.append("  ".join([*shown, last]))
    return out
