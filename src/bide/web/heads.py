"""The heads of answers, and answers that are whole at once."""

from __future__ import annotations

from collections.abc import Mapping

from bide.model import jsontext

_PHRASES = {
    200: "OK",
    303: "See Other",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    421: "Misdirected Request",
    500: "Internal Server Error",
    503: "Service Unavailable",
    507: "Insufficient Storage",
}


def head(status: int, kind: str, headers: Mapping[str, object]) -> bytes:
    """Return the status line and the headers of an answer."""
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, 'Answer')}", f"Content-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def whole(error: Mapping[str, object], status: int) -> bytes:
    """Return an answer that carries an error and ends the connection."""
    body = jsontext.encode({"error": error})
    return head(status, "application/json", {"Content-Length": len(body), "Connection": "close"}) + body
