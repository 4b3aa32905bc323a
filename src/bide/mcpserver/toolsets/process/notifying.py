"""The permission `notify`: the person is told of a call through the outbox."""

from __future__ import annotations

from bide.mcpserver.tool import Call
from bide.model.errors import BideError
from bide.model.request import KEY_MAX


async def report(call: Call, job: str, act: str) -> list[str]:
    """Tell the person what this call does to a job; a note if that is not possible, which does not stop the call."""
    try:
        await call.jobs.outbox.report(job, act, by=call.caller.owner, key=call.key[-KEY_MAX:])
    except BideError:
        return ["The notice that tells the person of this call could not be recorded."]
    return []
