"""Waits that something else can end first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def unless(ended: Callable[[], Awaitable[object]], act: Callable[[], Awaitable[T]]) -> T | None:
    """Return what `act` returns, or `None` if `ended` returns first, which cancels `act`. Raises what `act` raises."""
    found: list[T] = []
    failed: list[Exception] = []
    async with anyio.create_task_group() as group:

        async def stop() -> None:
            await ended()
            group.cancel_scope.cancel()

        group.start_soon(stop)
        try:
            found.append(await act())
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            failed.append(error)
        group.cancel_scope.cancel()
    if failed:
        raise failed[0]
    return found[0] if found else None
