"""Excerpts of output as plain text, in which each gap is named by its bytes."""

from __future__ import annotations

from bide.model.excerpt import Part

CHARS_PER_TOKEN = 4


def text_of(part: Part, mark: str) -> str:
    """Return what an excerpt shows of one stream; lines of ours carry a mark that the job cannot know."""
    text, at = "", part.start
    for piece in part.pieces:
        text += _gap(at, piece.start, mark, text)
        text += piece.text
        if piece.times > 1:
            text += f"[{mark} {piece.times} lines like the one above]\n"
        at = piece.end
    return text + _gap(at, part.next, mark, text)


def _gap(first: int, last: int, mark: str, before: str) -> str:
    if last <= first:
        return ""
    return ("" if not before or before.endswith("\n") else "\n") + f"[{mark} bytes {first} to {last} left out]\n"
