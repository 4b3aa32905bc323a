"""LocalQuestions: the verbs of questions on this machine."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta

import anyio

from bide.keeper import launch
from bide.model.errors import BadRequest, JobEnded, JobNotFound, QuestionClosed, QuestionNotFound
from bide.model.phase import Ended
from bide.model.question import ID_PATTERN, Answered, Policy, Posed, Question, State, Value, Via, checked, refused
from bide.runtime import answering, prompts
from bide.runtime.core import Core, now
from bide.runtime.ending import who
from bide.runtime.hub import heard
from bide.runtime.live import Live
from bide.runtime.questionlife import QuestionLife
from bide.runtime.sound import with_sound_store
from bide.runtime.starting import new_id
from bide.store.questions import QuestionRow


class LocalQuestions:
    """Implements api.Questions in this process."""

    def __init__(self, core: Core, life: QuestionLife) -> None:
        """Beside the LocalJobs of the same core."""
        self.core: Core = core
        self._life = life

    @with_sound_store
    async def pose(
        self,
        job: str,
        question: Question,
        *,
        key: str | None = None,
        policy: Policy | None = None,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - how long it stays open
        asker: int | None = None,
    ) -> Posed:
        """See questions.Questions.pose."""
        found = self.core.find(job)
        if isinstance(found.phase, Ended):
            raise JobEnded(job=found.id, reason=str(found.phase.end.reason))
        settings = self.core.settings.questions
        patience = timeout if timeout is not None else settings.patience or None
        if patience is not None and patience <= timedelta(0):
            raise BadRequest(detail="a question stays open for some time; leave the timeout out for no limit")
        at = now()
        at = at.replace(microsecond=at.microsecond // 1000 * 1000)  # as it is kept
        until = None if patience is None else at + patience
        id_ = f"q{new_id(self.core)[1:]}"
        posed = Posed(id_, found.id, question, at, policy or settings.policy, until)
        row = QuestionRow(posed, key, None if asker is None else _process(asker))
        with anyio.CancelScope(shield=True):
            row = await self.core.hub.settled(self.core.store.questions.insert(row))
            if row.posed.state is State.OPEN and not self.core.asking.is_open(row.posed.id):
                self._life.open(row)
        return row.posed

    @with_sound_store
    async def wait(self, question: str, *, timeout: timedelta | None = None) -> Posed:  # noqa: ASYNC109
        """See questions.Questions.wait."""
        id_ = _put(self._find(question)).id
        with anyio.move_on_after(None if timeout is None else timeout.total_seconds()):
            while True:
                with heard([self.core.asking.closed]) as alarm:
                    if not self.core.asking.is_open(id_) and not await self._life.reopened(id_):
                        break
                    await alarm.wait()
        return self._life.with_secret(self._life.row(id_).posed)

    @with_sound_store
    async def get(self, question: str) -> Posed:
        """See questions.Questions.get."""
        return self._find(question)

    @with_sound_store
    async def list(
        self,
        *,
        owner: str | None = None,
        job: str | None = None,
        known: Collection[str] | None = None,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> tuple[Posed, ...]:
        """See questions.Questions.list."""
        wanted = None if job is None else self.core.find(job).id
        with anyio.move_on_after(None if timeout is None else timeout.total_seconds()):
            while known is not None:
                with heard([self.core.asking.changed]) as alarm:
                    if {one.id for one in self._open(owner, wanted)} != set(known):
                        break
                    await alarm.wait()
        return self._open(owner, wanted)

    def _open(self, owner: str | None, wanted: str | None) -> tuple[Posed, ...]:
        lives = [
            live
            for live in self.core.keeping.table.live.values()
            if owner in (None, live.job.owner) and wanted in (None, live.job.id) and not live.ended
        ]
        return tuple(sorted((one for live in lives for one in self._of(live)), key=lambda one: (one.posed_at, one.id)))

    def _of(self, live: Live) -> tuple[Posed, ...]:
        """What a job asks, or else the prompt it shows."""
        put = tuple(row.posed for row in self.core.asking.of(live.job.id))
        if put or not (live.job.spec.stdin or live.job.spec.pty):
            return put
        facts = self.core.with_facts(live.job).facts
        return () if facts is None or facts.question is None else (facts.question,)

    @with_sound_store
    async def answer(
        self,
        question: str,
        value: Value | None,
        *,
        via: Via = Via.ASSISTANT,
        by: str = "",
        key: str | None = None,
    ) -> Posed:
        """See questions.Questions.answer."""
        posed = self._find(question, key)
        if posed.state is not State.OPEN:
            return posed if posed.typed_at is not None else self._life.said_before(posed.id, key)
        why = refused(posed.question, via, self.core.settings.questions.ask)
        if why is not None:
            raise BadRequest(detail=f"question {posed.id} cannot be answered so: {why}")
        if value is not None:
            value = checked(posed.question, value)
        if posed.typed_at is not None:
            return await answering.type_in(self.core, posed, value, via, key)
        if value is None:
            denied = Answered(State.DENIED, None, via, who(by), "that was the answer", key)
            return await self._life.close(posed, denied)
        return await self._life.close(posed, Answered(State.ANSWERED, value, via, who(by), key=key))

    @with_sound_store
    async def withdraw(self, question: str) -> Posed:
        """See questions.Questions.withdraw."""
        posed = _put(self._find(question))
        if posed.state is State.OPEN:
            with suppress(QuestionClosed):
                return await self._life.close(posed, Answered(State.WITHDRAWN, why="it is asked no longer"))
        return self._life.row(posed.id).posed

    def _find(self, ref: str, key: str | None = None) -> Posed:
        """The question of this id, or the one that this job asks. Raises QuestionNotFound, QuestionClosed or JobNotFound."""
        if ID_PATTERN.match(ref) and (row := self.core.store.questions.get(ref)) is not None:
            return row.posed
        job, typed, _ = ref.partition(prompts.MARK)
        try:
            facts = self.core.with_facts(self.core.find(job)).facts
        except JobNotFound:
            if ID_PATTERN.match(ref):
                raise QuestionNotFound(question=ref) from None
            raise
        asked = None if facts is None else facts.question
        if typed and (asked is None or asked.id != ref):
            return answering.typed_before(self.core, ref, key)
        if asked is None:
            raise QuestionNotFound(question=ref)
        return asked


def _process(pid: int) -> tuple[int, int]:
    ticks = launch.start_ticks(pid)
    if ticks is None:
        raise BadRequest(detail=f"there is no process {pid} that could wait for the answer")
    return pid, ticks


def _put(posed: Posed) -> Posed:
    if posed.typed_at is not None:
        raise BadRequest(detail=f"{posed.job} shows a prompt of its own, which is answered by typing; wait for the job")
    return posed
