"""The outbox and questions as a process within a job may use them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from bide.model.job import DEFAULT_OWNER
from bide.model.notice import Message, Outlook, Told
from bide.model.question import Policy, Posed, Question, Value, Via
from bide.runtime.confined.rights import Part

if TYPE_CHECKING:
    pass

_NOBODY = ""


class ConfinedOutbox(Part):
    """Implements beside.Outbox: the owner is the consumer, and those that are told of its jobs alone."""

    async def pull(
        self,
        consumer: str,
        *,
        carrier: str = "",
        timeout: timedelta | None = timedelta(0),  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
        **options: Any,
    ) -> Message:
        """See beside.Outbox.pull."""
        await self._check(consumer)
        return await self._jobs.outbox.pull(consumer, carrier=self._carrier(carrier), timeout=timeout, **options)

    async def acknowledge(self, consumer: str, notices: Sequence[str]) -> int:
        """See beside.Outbox.acknowledge."""
        await self._check(consumer)
        return await self._jobs.outbox.acknowledge(consumer, notices)

    async def report(self, job: str, act: str, *, by: str, key: str) -> None:
        """See beside.Outbox.report."""
        del by
        await self._jobs.outbox.report(self._rights.own(job).id, act, by=self._rights.owner, key=key)

    async def carry(self, consumer: str, notices: Sequence[str], carrier: str) -> int:
        """See beside.Outbox.carry."""
        await self._check(consumer)
        return await self._jobs.outbox.carry(consumer, notices, self._carrier(carrier))

    async def settle(self, carrier: str) -> int:
        """See beside.Outbox.settle."""
        return await self._jobs.outbox.settle(self._carrier(carrier))

    async def release(self, carrier: str) -> int:
        """See beside.Outbox.release."""
        return await self._jobs.outbox.release(self._carrier(carrier))

    async def list(self) -> tuple[Outlook, ...]:
        """See beside.Outbox.list."""
        own = self._rights.owner
        return tuple(one for one in await self._jobs.outbox.list() if own in (one.consumer, one.owner))

    async def subscribe(self, consumer: str, *, owner: str | None = None) -> None:
        """See beside.Outbox.subscribe."""
        owner = self._rights.of(owner)
        if any(one.consumer == consumer for one in await self._jobs.outbox.list()):
            await self._check(consumer)
        await self._jobs.outbox.subscribe(consumer, owner=owner)

    async def unsubscribe(self, consumer: str) -> bool:
        """See beside.Outbox.unsubscribe."""
        await self._check(consumer)
        return await self._jobs.outbox.unsubscribe(consumer)

    def answering(self, asker: str) -> AbstractContextManager[Told]:
        """See beside.Outbox.answering. Who gives no name, or the usual one, is the owner."""
        if asker != _NOBODY:
            asker = self._rights.owner if asker == DEFAULT_OWNER else self._rights.of(asker)
        return self._jobs.outbox.answering(asker)

    def told(self, told: Told, *, carrier: str = "") -> None:
        """See beside.Outbox.told."""
        self._jobs.outbox.told(told, carrier=self._carrier(carrier))

    def _carrier(self, carrier: str) -> str:
        """The carrier's name among those of the owner's jobs, so that it is nobody else's."""
        return carrier and f"{carrier} within jobs of {self._rights.owner}"

    async def _check(self, consumer: str) -> None:
        if consumer != self._rights.owner and all(one.consumer != consumer for one in await self.list()):
            raise self._rights.refused(f"{consumer!r} is told of jobs of others")


class ConfinedQuestions(Part):
    """Implements questions.Questions."""

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
        own = self._rights.own(job).id
        return await self._jobs.questions.pose(own, question, key=key, policy=policy, timeout=timeout, asker=asker)

    async def wait(self, question: str, *, timeout: timedelta | None = None) -> Posed:  # noqa: ASYNC109
        """See questions.Questions.wait."""
        return await self._jobs.questions.wait((await self.get(question)).id, timeout=timeout)

    async def get(self, question: str) -> Posed:
        """See questions.Questions.get."""
        found = await self._jobs.questions.get(question)
        self._rights.own(found.job)
        return found

    async def list(
        self,
        *,
        owner: str | None = None,
        job: str | None = None,
        known: Collection[str] | None = None,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> tuple[Posed, ...]:
        """See questions.Questions.list."""
        own = None if job is None else self._rights.own(job).id
        return await self._jobs.questions.list(owner=self._rights.of(owner), job=own, known=known, timeout=timeout)

    async def answer(
        self, question: str, value: Value | None, *, via: Via = Via.ASSISTANT, by: str = "", key: str | None = None
    ) -> Posed:
        """See questions.Questions.answer."""
        del by
        await self.get(question)
        return await self._jobs.questions.answer(question, value, via=via, by=self._rights.by, key=key)

    async def withdraw(self, question: str) -> Posed:
        """See questions.Questions.withdraw."""
        await self.get(question)
        return await self._jobs.questions.withdraw(question)
