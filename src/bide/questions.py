"""The verbs of questions, a small Protocol. The docstrings here are the ones the doors show."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Protocol

from bide.model.question import Policy, Posed, Question, Value, Via


class Questions(Protocol):
    """What jobs ask, and who answers: each is durable before anybody is told of it, and answered at most once.

    A question is named by its id, or by its job's id or name, which means the oldest that is open.
    """

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
        """Ask on behalf of a job, which is *waiting* until the question is closed; `wait` has the answer.

        The same key gives the same question. `policy` says what holds when nobody can answer, or has within `timeout`.
        With the pid of the `asker`, the question is withdrawn if that process dies.
        """
        ...

    async def wait(self, question: str, *, timeout: timedelta | None = None) -> Posed:  # noqa: ASYNC109
        """The question once it is closed, with its answer, or as it is when the time is up. For whoever asked."""
        ...

    async def get(self, question: str) -> Posed:
        """One question, open or closed."""
        ...

    async def list(
        self,
        *,
        owner: str | None = None,
        job: str | None = None,
        known: Collection[str] | None = None,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> tuple[Posed, ...]:
        """The open questions, oldest first: those that jobs put, and the prompts of programs that wait for input.

        With what is `known` (ids), it is answered when there are others than these, or when the time is up.
        """
        ...

    async def answer(
        self,
        question: str,
        value: Value | None,
        *,
        via: Via = ...,
        by: str = ...,
        key: str | None = None,
    ) -> Posed:
        """Answer a question; `None` denies it. A value that does not fit is refused, and the question stays open.

        Of several who answer one is the first; the others are told that it is closed. The same key says it again.
        """
        ...

    async def withdraw(self, question: str) -> Posed:
        """Ask no longer. What is closed stays as it is."""
        ...
