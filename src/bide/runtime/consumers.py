"""Who is to be told of a job: its owner, who asked to be, and the sinks of the settings."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime

from bide.model.job import DEFAULT_OWNER, Job
from bide.model.notice import Notice, notice_of_end
from bide.model.notify import Notify, What, is_wanted
from bide.model.outboxsettings import OutboxSettings, SinkSettings
from bide.runtime.keeping import Keeping
from bide.store.outbox import Announcement

log = logging.getLogger(__name__)

SINK = "sink:"
"""Before the name of a sink, as a consumer."""
OWN = "bide"
"""The owner of jobs that bide starts to tell somebody; nobody is told of those."""
_SILENT = Notify()
PROBE = "ready of "
"""Before the key of a job that looks whether a service is ready."""


def _can_be_told(name: str, sink: SinkSettings) -> bool:
    if sink.desktop and shutil.which("notify-send") is None:
        log.warning("the sink %r is off: there is no notify-send on this machine", name)
        return False
    return True


class Consumers:
    """Whom there is to tell; made before anything is recovered, since ends are announced from then on."""

    def __init__(self, keeping: Keeping, settings: OutboxSettings) -> None:
        """With those that asked before."""
        self._keeping = keeping
        self.settings = settings
        self._said = settings.notify
        self._of_sinks = {f"{SINK}{name}": sink.notify for name, sink in settings.sinks.items()}
        everybody = (_SILENT, *self._of_sinks.values())
        self._by_settings = {what: any(is_wanted(what, (one, self._said)) for one in everybody) for what in What}
        """Whether somebody may want it of a job that itself says nothing."""
        self.asked: dict[str, str | None] = keeping.store.outbox.consumers()
        """Who asked, and of whose jobs (`None`: everybody's)."""
        self.sinks: dict[str, str | None] = {
            f"{SINK}{name}": sink.owner or None for name, sink in settings.sinks.items() if _can_be_told(name, sink)
        }
        keeping.announce = self.of_end
        keeping.kept_anew.append(self.put_back)

    def of(self, job: Job) -> list[str]:
        """Whom to tell of this job."""
        if job.owner == OWN or (job.key or "").startswith(PROBE) or self._is_part(job):
            return []
        others = {**self.asked, **self.sinks}
        return list(dict.fromkeys([job.owner, *(name for name, whose in others.items() if whose in (None, job.owner))]))

    def of_act(self, job: Job) -> list[str]:
        """Whom to tell what was done to this job: the person and others, but not its owner, who knows."""
        told = self.of(job)
        return [name for name in dict.fromkeys((DEFAULT_OWNER, *told)) if name != job.owner] if told else []

    def _is_part(self, job: Job) -> bool:
        """Whether it is a command that a piece of code runs and waits for."""
        parent = None if job.parent is None or job.spec.background else self._keeping.table.live.get(job.parent)
        return parent is not None and parent.job.spec.kind == "python"

    def of_end(self, job: Job) -> Sequence[Announcement]:
        """What to tell of a job that is over."""
        told = self.of(job)
        return [(notice_of_end(job), told)] if told else ()

    async def record_act(self, job: Job, notice: Notice) -> None:
        """Have it told what was done to a job; it is on record on return."""
        told = self.of_act(job)
        if told:
            await self._keeping.hub.settled(self._keeping.store.outbox.record([(notice, told)]))
            self._keeping.events.ring()

    def record(self, job: Job, notice: Notice) -> None:
        """Have something told."""
        told = self.of(job)
        if told:
            future = self._keeping.store.outbox.record([(notice, told)])
            future.add_done_callback(lambda _: self._keeping.hub.call_soon(self._keeping.events.ring))

    def wants(self, consumer: str, what: What, job: Job) -> bool:
        """Whether a consumer wants to be told this of a job: the job decides, then the sink, then the settings.

        No job decides on what was done to it: whoever did that may have made the job.
        """
        own = _SILENT if what is What.ACTED else job.spec.notify
        if what is What.OUTPUT and own.ambient and consumer.startswith(SINK):
            return False  # a sink calls somebody
        return is_wanted(what, (own, self._of_sinks.get(consumer, _SILENT), self._said))

    def anybody_wants(self, job: Job, *whats: What) -> bool:
        """Whether any of it is worth looking for."""
        if job.spec.notify == _SILENT and not any(self._by_settings[what] for what in whats):
            return False
        return any(self.wants(consumer, what, job) for consumer in self.of(job) for what in whats)

    def put_back(self) -> None:
        """Keep in a new database who asked."""
        for name, owner in self.asked.items():
            self._keeping.store.outbox.subscribe(name, owner, datetime.now(UTC))
