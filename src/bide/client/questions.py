"""RemoteQuestions: the verbs of questions over the daemon's socket."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import timedelta

from bide.client.http1 import quote
from bide.client.transport import Transport
from bide.model.errors import BadRequest
from bide.model.messages import Json
from bide.model.question import Policy, Posed, Question, Value, Via
from bide.model.questionforms import posed_from_json, question_to_json
from bide.model.times import left_ms


class RemoteQuestions:
    """Implements api.Questions by asking the daemon, and the next one if it dies meanwhile: keys keep that from counting twice."""

    def __init__(self, transport: Transport) -> None:
        """Over the connections of a RemoteJobs."""
        self._transport = transport

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
        body: Json = {"job": job, "question": question_to_json(question), "key": key or secrets.token_hex(16)}
        body |= {"policy": policy, "timeout_ms": left_ms(timeout), "asker": asker}
        return posed_from_json(await self._transport.call("POST", "/v1/questions", body))

    async def wait(self, question: str, *, timeout: timedelta | None = None) -> Posed:  # noqa: ASYNC109
        """See questions.Questions.wait."""
        body = await self._transport.call("POST", f"{_path(question)}/wait", {"timeout_ms": left_ms(timeout)})
        return posed_from_json(body)

    async def get(self, question: str) -> Posed:
        """See questions.Questions.get."""
        return posed_from_json(await self._transport.call("GET", _path(question)))

    async def list(
        self,
        *,
        owner: str | None = None,
        job: str | None = None,
        known: Collection[str] | None = None,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> tuple[Posed, ...]:
        """See questions.Questions.list."""
        query = {"owner": owner, "job": job, "timeout_ms": left_ms(timeout)}
        query["known"] = None if known is None else ",".join(known)
        body = await self._transport.call("GET", "/v1/questions", query=query)
        return tuple(posed_from_json(one) for one in body["questions"])

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
        # Said again, a job's name could mean its next question.
        id_ = (await self.get(question)).id
        body: Json = {"value": value, "deny": value is None, "via": str(via), "by": by}
        body["key"] = key or secrets.token_hex(16)
        return posed_from_json(await self._transport.call("POST", f"{_path(id_)}/answer", body))

    async def withdraw(self, question: str) -> Posed:
        """See questions.Questions.withdraw."""
        return posed_from_json(await self._transport.call("DELETE", _path(question)))


def _path(question: str) -> str:
    if not question:
        raise BadRequest(detail="a question is named by its id, or by the id or name of its job")
    return f"/v1/questions/{quote(question)}"
