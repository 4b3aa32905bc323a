"""The life of a question: on disk before anybody is told of it, routed to who may answer, closed once."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import anyio
from msgspec.structs import replace

from bide.keeper import launch
from bide.model.errors import BideError, QuestionClosed, QuestionNotFound
from bide.model.notice import notice
from bide.model.notify import What
from bide.model.question import Answered, Posed, State, Value, Via, by_policy, fault, has_answerer, refused
from bide.runtime import answering
from bide.runtime.consumers import Consumers
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.renewal import redone
from bide.store.questions import QuestionRow

_ENDED = Answered(State.WITHDRAWN, why="its job ended")
_GONE = Answered(State.WITHDRAWN, why="whoever asked is gone")


class QuestionLife:
    """The questions of one runtime, from their opening to their end."""

    def __init__(self, core: Core, consumers: Consumers) -> None:
        """Nothing is open yet."""
        self._core = core
        self._consumers = consumers
        self._settings = core.settings.questions
        self._secrets: dict[str, Value | None] = {}
        """Answers that are never written down. Lost with us, they are asked for again."""
        self._askers: dict[str, int] = {}
        """The pidfds of those who wait for an answer."""
        self._timers: dict[str, Callable[[], None]] = {}

    def serve(self) -> None:
        """Take up what was open before, and be told of jobs from now on."""
        keeping = self._core.keeping
        keeping.on_end.append(self._ended)
        keeping.kept_anew.append(self._put_back)
        keeping.on_waiting.append(lambda _: self._core.asking.changed.ring())
        if self._settings.command and self._settings.prompts:
            keeping.on_waiting.append(self._prompted)
        for row in self._core.store.questions.open():
            self.open(row)

    def stop(self) -> None:
        """Watch nobody any more."""
        for id_ in [*self._askers, *self._timers]:
            self._let_go(id_)

    def row(self, id_: str) -> QuestionRow:
        """One question, open or closed. Raises QuestionNotFound."""
        row = self._core.store.questions.get(id_)
        if row is None:
            raise QuestionNotFound(question=id_)
        return row

    def open(self, row: QuestionRow) -> None:
        """It is on disk, so everybody may know of it."""
        posed = row.posed
        live = self._core.keeping.table.live.get(posed.job)
        self._core.asking.add(row)
        if live is None or live.ended:
            self._later(posed, _ENDED)
            return
        live.changed.ring()
        self._core.seen.noticed.add(posed.job)
        self._consumers.record(live.job, notice(live.job, What.WAITING, now(), place=posed.id, detail=posed.id))
        self._watch(row)
        if posed.until is not None:
            left = max((posed.until - now()).total_seconds(), 0)
            why = "nobody answered in time"
            self._timers[posed.id] = self._core.hub.call_later(left, lambda: self._by_policy(posed, why))
        self._core.spawn(lambda: self._route(posed))

    async def close(self, posed: Posed, answered: Answered) -> Posed:
        """Of several who close it one is the first. Raises QuestionClosed."""
        secret = posed.question.secret
        with anyio.CancelScope(shield=True):
            kept = replace(answered, value=None) if secret else answered
            if not await self._core.hub.settled(self._core.store.questions.close(posed.id, kept, now())):
                return self.said_before(posed.id, answered.key)
            if secret:
                self._secrets[posed.id] = answered.value
            self._let_go(posed.id)
            self._core.asking.drop(posed.job, posed.id)
        live = self._core.keeping.table.live.get(posed.job)
        if live is not None:
            live.changed.ring()
        return self.row(posed.id).posed

    def said_before(self, id_: str, key: str | None) -> Posed:
        """The closed question, if this very answer closed it. Raises QuestionClosed."""
        row = self.row(id_)
        if key is not None and row.answer_key == key:
            return row.posed
        raise QuestionClosed(question=id_, how=_how_closed(row.posed))

    async def reopened(self, id_: str) -> bool:
        """Whether the answer is gone, so that the question is open again: a secret's, with the daemon that had it."""
        posed = self.row(id_).posed
        if not posed.question.secret or posed.state is not State.ANSWERED or id_ in self._secrets:
            return False
        if await self._core.hub.settled(self._core.store.questions.reopen(id_)):
            self.open(self.row(id_))
        return True

    def with_secret(self, posed: Posed) -> Posed:
        """The question as whoever asked it is answered."""
        return replace(posed, value=self._secrets[posed.id]) if posed.id in self._secrets else posed

    # Who answers.

    async def _route(self, posed: Posed) -> None:
        """Ask the command, if there is one; where nobody else may answer, the policy holds."""
        if self._settings.command and refused(posed.question, Via.COMMAND, ()) is None:
            value = await answering.by_command(self._core, self._settings.command, posed)
            if value is not None and fault(posed.question, value) is None:
                with suppress(BideError):
                    await self._commanded(posed, value)
                return
        if posed.typed_at is None and not has_answerer(posed.question, self._settings.ask):
            self._by_policy(posed, "nobody may answer it here")

    async def _commanded(self, posed: Posed, value: Value) -> None:
        if posed.typed_at is not None:
            await answering.type_in(self._core, posed, value, Via.COMMAND, None)
        else:
            await self.close(posed, Answered(State.ANSWERED, value, Via.COMMAND, "questions.command"))

    def _prompted(self, live: Live) -> None:
        """A program shows a prompt: the command is asked, and otherwise it waits for whoever comes."""
        facts = None if live.ended else self._core.with_facts(live.job).facts
        if (
            facts is not None
            and not facts.unsure
            and (asked := facts.question) is not None
            and asked.typed_at is not None
        ):
            self._core.spawn(lambda: self._route(asked))

    def _by_policy(self, posed: Posed, why: str) -> None:
        value = by_policy(posed.question, posed.policy)
        state = State.DENIED if value is None else State.ANSWERED
        self._later(posed, Answered(state, value, Via.POLICY, str(posed.policy), why))

    # Who asked.

    def _ended(self, live: Live) -> None:
        for row in self._core.asking.of(live.job.id):
            self._later(row.posed, _ENDED)
        if live.job.spec.stdin or live.job.spec.pty:
            self._core.asking.changed.ring()

    def _watch(self, row: QuestionRow) -> None:
        if row.asker is None:
            return
        pid, ticks = row.asker
        with suppress(OSError):
            fd = os.pidfd_open(pid)
            self._askers[row.posed.id] = fd
            if launch.start_ticks(pid) == ticks:
                self._core.hub.watch(fd, lambda: self._left(row.posed))
                return
        self._left(row.posed)

    def _left(self, posed: Posed) -> None:
        self._let_go(posed.id)
        self._later(posed, _GONE)

    def _let_go(self, id_: str) -> None:
        fd = self._askers.pop(id_, None)
        if fd is not None:
            self._core.hub.unwatch(fd)
            os.close(fd)
        timer = self._timers.pop(id_, None)
        if timer is not None:
            timer()

    def _later(self, posed: Posed, answered: Answered) -> None:
        async def close() -> None:
            with suppress(QuestionClosed):
                await redone(self._core.renewal, lambda: self.close(posed, answered))

        self._core.spawn(close)

    def _put_back(self) -> None:
        """Keep in a new database what is open."""
        for row in self._core.asking.all():
            self._core.store.questions.insert(row)


def _how_closed(posed: Posed) -> str:
    by = f" by {posed.by}" if posed.by else ""
    return f"it was {posed.state}{by}" + (f" ({posed.why})" if posed.why else "")
