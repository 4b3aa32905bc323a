"""A database that is found damaged is made anew from the folders, and what was asked is done again. A full disk is said."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from bide.keeper.folder import NO_ROOM
from bide.model.errors import DiskFull
from bide.runtime.core import Core
from bide.store.faults import DatabaseCorrupt


class HasCore(Protocol):
    """Something that does verbs on a runtime."""

    core: Core


S = TypeVar("S", bound=HasCore)
P = ParamSpec("P")
T = TypeVar("T")


def with_sound_store(
    verb: Callable[Concatenate[S, P], CoroutineType[Any, Any, T]],
) -> Callable[Concatenate[S, P], CoroutineType[Any, Any, T]]:
    """A verb that meets a damaged database has it made anew from the job folders, and is done again.

    Raises DiskFull where there was no room for what it had to write.
    """

    @functools.wraps(verb)
    async def done(self: S, *args: P.args, **options: P.kwargs) -> T:
        try:
            return await verb(self, *args, **options)
        except DatabaseCorrupt:
            self.core.keeping.renew()
            return await verb(self, *args, **options)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise DiskFull(home=self.core.home.path) from error
            raise

    return done
