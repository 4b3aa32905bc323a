"""The door for browsers: loaded, and its port opened, when somebody first asks for its address."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio

from bide.gate import Limits
from bide.web.http import HEAD_MAX, serving

if TYPE_CHECKING:
    from bide.api import Jobs
    from bide.web.browser import Browser

_BODY_MAX = 64 * 1024
_LIMITS = Limits(most=100, asks_within=10, rests=60, public=True)
"""Anybody on this machine can connect, and nobody may take what the other doors need."""


class WebDoor(AsyncExitStack):
    """Serves browsers on a port of the loopback address that the kernel chooses, from the first who asks to its exit."""

    def __init__(self, jobs: Jobs) -> None:
        """Nothing is open yet."""
        super().__init__()
        self._jobs = jobs
        self._browser: Browser | None = None
        self._opening = anyio.Lock()

    async def address(self) -> str:
        """An address that signs a browser in, once."""
        async with self._opening:
            if self._browser is None:
                self._browser = await self._open()
        return self._browser.address()

    async def _open(self) -> Browser:
        from bide.web.browser import Browser  # noqa: PLC0415 - a daemon that no browser asks does not pay for it

        sock = socket.create_server(("127.0.0.1", 0))
        browser = Browser(self._jobs, sock.getsockname()[1])
        await self.enter_async_context(
            serving(sock, "the page", lambda _: browser, _LIMITS, bytes_max=HEAD_MAX + _BODY_MAX)
        )
        return browser
