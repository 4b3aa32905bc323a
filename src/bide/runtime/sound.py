"""A verb that meets a damaged index is done again once that was rebuilt.

Errors of the system that users can do something about, such as a full disk, get their own codes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from bide.model.errors import of_os_error
from bide.runtime.core import Core
from bide.runtime.renewal import redone


class HasCore(Protocol):
    """Something that does verbs on a runtime."""

    core: Core


S = TypeVar("S", bound=HasCore)
P = ParamSpec("P")
T = TypeVar("T")


def with_sound_store(
    verb: Callable[Concatenate[S, P], CoroutineType[Any, Any, T]],
) -> Callable[Concatenate[S, P], CoroutineType[Any, Any, T]]:
    """Make a verb wait for the index where it met damage, and begin again.

    Raises DiskFull where there was no room for what it had to write, HomeReadOnly and TooManyFiles likewise.
    """

    @functools.wraps(verb)
    async def done(self: S, *args: P.args, **options: P.kwargs) -> T:
        try:
            return await redone(self.core.renewal, lambda: verb(self, *args, **options))
        except OSError as error:
            known = of_os_error(error, self.core.home.path)
            if known is None:
                raise
            raise known from error

    return done
