"""A message posted to a URL, signed so that its receiver knows whose it is."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

SECONDS = 10.0


def signature(secret: str, at: int, body: bytes) -> str:
    """`t=TIME,v1=HEX`: the HMAC-SHA256 of the time, a dot and the body."""
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def post(url: str, secret: str, delivery: str, body: bytes, seconds: float = SECONDS) -> str:
    """Why it was not accepted; empty if it was, with a status from 200 to 299. Follows no redirect; blocks so long at most."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    headers = {"Content-Type": "application/json", "User-Agent": "bide", "Bide-Delivery": delivery}
    if secret:
        headers["Bide-Signature"] = signature(secret, int(time.time()), body)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection = kind(parts.hostname or "localhost", parts.port, timeout=seconds)
        # The timeout is for each read, and who sends a byte now and then would never be given up.
        enough = threading.Timer(seconds, _hang_up, [connection])
        enough.start()
        try:
            connection.request("POST", target, body, headers)
            status = connection.getresponse().status
        finally:
            enough.cancel()
            connection.close()
    except (OSError, HTTPException, ValueError) as error:
        return str(error) or type(error).__name__
    return "" if 200 <= status < 300 else f"it answered {status}"


def _hang_up(connection: HTTPConnection) -> None:
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)
