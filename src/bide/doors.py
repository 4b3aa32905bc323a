"""The two ways to have the verbs in Python: in this process, or over the daemon's socket."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager

from bide import config
from bide.client import remote
from bide.client.remote import RemoteJobs
from bide.runtime.local import LocalJobs, open_jobs


def connect(home: str | os.PathLike[str] | None = None) -> AbstractAsyncContextManager[RemoteJobs]:
    """The verbs over the socket of this home's daemon; it is started if there is none, and outlives this program."""
    return remote.connect(config.home(home))


def local(home: str | os.PathLike[str] | None = None) -> AbstractAsyncContextManager[LocalJobs]:
    """The verbs in this process, with no daemon. Jobs outlive the program all the same.

    Raises HomeBusy if a daemon or another program serves this home.
    """
    return open_jobs(config.home(home))
