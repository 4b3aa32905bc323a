"""How a function of this program is called: a coroutine function here, any other in a thread."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import anyio.to_thread


async def called(function: Callable[..., object], *positional: Any, **named: Any) -> object:
    """Return what a function returns, or what it returns awaited.

    A thread cannot be ended: if this is cancelled, it goes on by itself and what it returns is dropped.
    """
    call = partial(function, *positional, **named)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004 - its kind, not whether it has one
        return await cast("Awaitable[object]", call())
    found = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
    return await cast("Awaitable[object]", found) if inspect.isawaitable(found) else found
