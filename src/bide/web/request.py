"""One HTTP request, as it arrived."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from bide.model import jsontext
from bide.model.jsontext import check_values


@dataclass(slots=True)
class HttpRequest:
    """One request."""

    method: str = "GET"
    path: str = "/"
    query: dict[str, str] = field(default_factory=dict[str, str])
    body: bytearray = field(default_factory=bytearray)
    headers: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    """By their names in lower case."""
    last: bool = False
    """The peer wants no other answer on this connection."""
    fault: str = ""
    """Why it is refused; then it is not here as a whole."""
    status: int = 400

    @property
    def owner(self) -> str:
        """Whose client asks, if it says so."""
        return unquote(self.header(b"bide-owner")) if b"bide-owner" in self.headers else ""

    def header(self, name: bytes) -> str:
        """A header's value; empty if it is not there."""
        return self.headers.get(name, b"").decode("latin-1")

    def json(self) -> dict[str, Any]:
        """The body as an object; an empty body is an empty one. Raises ValueError."""
        check_values(self.body)
        try:
            value: object = jsontext.decode(self.body) if self.body else {}
        except RecursionError as error:
            raise ValueError("the body is nested too deeply") from error
        if not isinstance(value, dict):
            raise ValueError("the body must be a JSON object")
        return value  # pyright: ignore[reportUnknownVariableType]
