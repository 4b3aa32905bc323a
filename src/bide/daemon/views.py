"""Which verbs a peer on a unix socket has: all of them, or those that a job has."""

from __future__ import annotations

import os
import socket
import struct

from msgspec import Struct

from bide.api import Jobs, Upkeep
from bide.runtime.confined.jobs import Confined
from bide.runtime.confined.rights import Rights
from bide.runtime.local import LocalJobs
from bide.runtime.peers import Peers, PeerVanished

_CREDENTIALS = struct.Struct("3i")


class View(Struct, frozen=True):
    """The verbs of one peer."""

    jobs: Jobs
    upkeep: Upkeep
    rights: Rights | None = None
    """What it may do, if it is within a job."""


class Views:
    """Looks at who connected, once per connection."""

    def __init__(self, jobs: LocalJobs) -> None:
        """Of the jobs of this runtime."""
        self._jobs = jobs
        self._peers = Peers(jobs.core)
        self.all = View(jobs, jobs)
        """Those of somebody who is in no job."""

    def of(self, peer: socket.socket) -> View | None:
        """The verbs of whoever connected; None for another user, and for a process that is gone already."""
        pid, uid, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
        if uid != os.geteuid():
            return None
        try:
            job = self._peers.job(pid)
        except PeerVanished:
            return None
        if job is None:
            return self.all
        confined = Confined(self._jobs, job)
        return View(confined, confined, confined.rights)
