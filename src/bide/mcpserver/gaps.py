"""Excerpts of output as plain text, in which each gap is named by its bytes."""

from __future__ import annotations

from collections.abc import Callable

from bide.model.excerpt import Part

CHARS_PER_TOKEN = 4


def text_of(part: Part, mark: str, reads: Callable[[int, int], str] | None = None) -> str:
    """Return what an excerpt shows of one stream; lines of ours carry a mark that the job cannot know.

    `reads` gives the call that reads a gap.
    """
    text, at = "", part.start
    for piece in part.pieces:
        text += _gap((at, piece.start), mark, text, reads)
        text += piece.text
        if piece.times > 1:
            text += f"[{mark} {piece.times} lines like the one above]\n"
        at = piece.end
    return text + _gap((at, part.next), mark, text, reads)


def _gap(gap: tuple[int, int], mark: str, before: str, reads: Callable[[int, int], str] | None) -> str:
    first, last = gap
    if last <= first:
        return ""
    call = "" if reads is None else f": {reads(first, last)}"
    return ("" if not before or before.endswith("\n") else "\n") + f"[{mark} bytes {first} to {last} left out{call}]\n"
