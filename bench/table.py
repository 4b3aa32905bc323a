"""The table as people read it."""

from __future__ import annotations

from bench.figures import Figure

_HEAD = ("", "what", "bide", "against", "", "ratio", "reach", "")
_RIGHT = {2, 3, 5, 6}


def render(figures: list[Figure]) -> str:
    """Aligned columns, and below them what needs a word more."""
    notes: list[str] = []
    lines: list[tuple[str, ...]] = [_HEAD]
    before = ""
    for figure in figures:
        mark = ""
        if figure.note:
            notes.append(figure.note)
            mark = f" [{len(notes)}]"
        lines.append(_cells(figure, "" if figure.row == before else figure.row, mark))
        before = figure.row
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    text = [_line(line, widths) for line in lines]
    text[1:1] = ["  ".join("-" * width for width in widths)]
    return "\n".join(text + [f"[{number}] {note}" for number, note in enumerate(notes, start=1)])


def _cells(figure: Figure, row: str, mark: str) -> tuple[str, ...]:
    sign = "<=" if figure.at_most else ">="
    ratio = "-" if figure.ratio is None else f"{figure.ratio:.2f}x"
    return (
        row,
        figure.what + mark,
        _amount(figure.ours, figure.unit),
        _amount(figure.theirs, figure.unit),
        figure.against,
        ratio,
        f"{sign} {figure.reach:g}x",
        figure.verdict,
    )


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    placed = (
        cell.rjust(width) if n in _RIGHT else cell.ljust(width)
        for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(placed).rstrip()
