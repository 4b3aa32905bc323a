"""Which requests of browsers are answered at all: those that no other site, and no other name of this address, can make."""

from __future__ import annotations

from bide.web.request import HttpRequest

NAMES = ("127.0.0.1", "localhost")
"""What this machine is called in the address that a browser shows."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Not 'no-referrer': with that, browsers name no Origin when a form is sent.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def refused(request: HttpRequest, port: int) -> tuple[int, str] | None:
    """Why a request is not answered, with the status that says so; `None` if it is."""
    host = request.header(b"host")
    if host not in [f"{name}:{port}" for name in NAMES]:
        return 421, f"This page is at http://{NAMES[0]}:{port} alone; open it under that name."
    if request.header(b"sec-fetch-site") not in ("", "none", "same-origin"):
        return 403, "Another page led here, which it may not: paste the address into the browser's address bar."
    if request.header(b"origin") not in ("", f"http://{host}"):
        return 403, "Another page sent this, so nothing was done."
    return None


def cookie(request: HttpRequest, name: str) -> str:
    """The cookie of this name; empty if there is none."""
    for part in request.header(b"cookie").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""
