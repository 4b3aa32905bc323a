"""Templates: files of HTML, in which every value is made harmless unless it is HTML already."""

from __future__ import annotations

import os
from functools import cache
from html import escape
from string import Template

from bide.model.sanitize import plain_text

_HERE = os.path.dirname(os.path.abspath(__file__))


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def fill(template: str, /, **values: str) -> Html:
    """A template of this name with these values."""
    safe = {key: value if isinstance(value, Html) else escape(plain_text(value)) for key, value in values.items()}
    return Html(Template(files("templates")[f"{template}.html"].decode()).substitute(safe))


def joined(parts: list[Html]) -> Html:
    """One after the other."""
    return Html("".join(parts))


def verbatim(text: str) -> Html:
    """What somebody typed, as it was typed, for the field that it was typed into."""
    return Html(escape(text))


@cache
def files(folder: str) -> dict[str, bytes]:
    """What a folder beside this file holds. Read at once: another version may be installed while we run."""
    found: dict[str, bytes] = {}
    for name in os.listdir(os.path.join(_HERE, folder)):
        with open(os.path.join(_HERE, folder, name), "rb") as file:
            found[name] = file.read()
    return found
