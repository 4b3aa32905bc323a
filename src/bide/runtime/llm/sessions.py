"""Which conversation of a CLI a request goes on with, where it names a session of bide's or the job of an earlier request."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from msgspec.structs import replace

from bide.model.errors import BadRequest, ConversationNotFound, JobNotFound
from bide.model.job import DEFAULT_OWNER, Job
from bide.model.llm.ask import NAMED, Ask
from bide.runtime.core import Core
from bide.runtime.llm import answers
from bide.runtime.llm.records import Records

VARIABLE = "BIDE_LLM_SESSION"
"""Set for the request that begins a session, so that it is not equal to one that belongs to no session."""
_EVER = datetime.fromtimestamp(0, UTC)
_JOB = re.compile(r"j[0-9a-z]{10}\Z")


async def resumed(core: Core, records: Records, asked: Ask) -> tuple[Ask, str | None]:
    """Return the request with its CLI's own id, and the session of bide's that it belongs to. Raises BadRequest."""
    given = asked.conversation
    if given is not None and given.startswith(NAMED):
        return _of_session(records, asked, given)
    job = None if given is None or not _JOB.match(given) else _job(core, given, asked.owner)
    if job is None:
        return asked, None
    facts = answers.facts_of(job)
    if facts.cli != asked.cli:
        raise BadRequest(
            detail=f"job {job.id} asked {facts.cli}, whose sessions {asked.cli} does not know", field="sessionId"
        )
    word = (await answers.answer(core, job)).reading.conversation
    if word is None:
        detail = f"{facts.cli} has not named the session of job {job.id}; wait with llm_job_watch, then send this again"
        raise BadRequest(detail=detail, field="sessionId")
    return replace(asked, conversation=word), facts.session


def _of_session(records: Records, asked: Ask, session: str) -> tuple[Ask, str]:
    found = records.conversations(asked.owner or DEFAULT_OWNER, _EVER, which=session)
    if not found:
        raise ConversationNotFound(conversation=session)
    if found[0].cli != asked.cli:
        detail = f"session {session!r} is one of {found[0].cli}, not of {asked.cli}; name the right one"
        raise BadRequest(detail=detail, field="sessionId")
    if found[0].thread:
        return replace(asked, conversation=found[0].thread), session
    return replace(asked, conversation=None, env={**asked.env, VARIABLE: session}), session


def _job(core: Core, ref: str, owner: str | None) -> Job | None:
    """Return a request of this owner by its job's id."""
    try:
        job = core.find(ref)
    except JobNotFound:
        return None
    return job if job.spec.ask is not None and job.owner == (owner or DEFAULT_OWNER) else None
