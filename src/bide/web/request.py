"""One HTTP request, as it arrived."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

from bide.model import jsontext
from bide.model.jsontext import check_values


class PeerGone(Exception):
    """Whoever asked is no longer there."""


def has_left(error: BaseException) -> bool:
    """Whether an error says only that whoever asked is gone, in however many tasks that was met."""
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).split(PeerGone)[1] is None
    return isinstance(error, PeerGone)


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
        """The body as an object; an empty body is an empty one. It is read once. Raises ValueError."""
        check_values(self.body)
        try:
            value: object = jsontext.decode(self.body) if self.body else {}
        except RecursionError as error:
            raise ValueError("the body is nested too deeply") from error
        if not isinstance(value, dict):
            raise ValueError("the body must be a JSON object")
        self.body = bytearray()  # it may be large, and a call may take long
        return value  # pyright: ignore[reportUnknownVariableType]
