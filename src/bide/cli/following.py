"""Follows a job's output across as many daemons as it takes, each byte once."""

import json

from bide.client.http1 import ERR, EVENT, OUT, quote
from bide.client.patience import Gone, Patience
from bide.model.errors import DaemonUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bide.cli.sinks import Sinks
    from bide.client.blocking import Link, Stream
    from bide.client.http1 import Json

_STREAMS = {"out": OUT, "err": ERR}


class Follower:
    """One job's output, read as it comes and written to the sinks."""

    def __init__(self, link: "Link", sinks: "Sinks", first: "Callable[[], Stream] | None" = None) -> None:
        """With `first`, the job is not known yet, and this opens the stream that says which it is."""
        self.job: Json = {}
        """The job as last heard of; empty before that."""
        self.ended = False
        self.joined = False
        """The job was there before the request that was to start it."""
        self.offsets = {OUT: 0, ERR: 0}
        """Where each stream goes on."""
        self._link = link
        self._sinks = sinks
        self._first = first
        self._stream: Stream | None = None
        self._patience = Patience(link.home)

    def fileno(self) -> int:
        """The connection's descriptor; connects, and starts a daemon if there is none."""
        return self._open().fileno()

    def pump(self) -> None:
        """Read once, waiting if nothing is there, and write what came; reconnects if the daemon went away."""
        try:
            frames = self._open().frames()
        except Gone as gone:
            self._stream = None
            self._patience.failed(gone)
            return
        for kind, payload in frames:
            if kind == EVENT:
                self._event(json.loads(payload))
            else:
                self._sinks.write(kind, payload, self.offsets[kind])
                self.offsets[kind] += len(payload)
                self._patience.progressed()

    def _open(self) -> "Stream":
        while self._stream is None:
            try:
                self._stream = self._connect()
            except (Gone, DaemonUnavailable) as error:
                self._patience.failed(error)
        return self._stream

    def _connect(self) -> "Stream":
        if not self.job and self._first is not None:
            return self._first()
        query = {"out": self.offsets[OUT], "err": self.offsets[ERR]}
        return self._link.stream("GET", f"/v1/jobs/{quote(self.job['id'])}/follow", query=query)

    def _event(self, event: "Json") -> None:
        kind = event["event"]
        if kind == "dropped":
            stream = _STREAMS[event["stream"]]
            self._sinks.dropped(stream, event["from"], event["to"])
            self.offsets[stream] = event["to"]
        elif kind in ("job", "ended"):
            self.joined = self.joined or (not self.job and event.get("joined", False))
            self.job = event["job"]
            self.ended = kind == "ended"
        elif kind == "stalled":
            self.job["stalled"] = event["stalled"]
        elif kind == "waiting":
            self.job["waiting"] = {key: event.get(key) for key in ("prompt", "question", "unsure")}
