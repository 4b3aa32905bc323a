"""Calls of the toolset `sessions`, for its tests."""

import json
from typing import Any

from tests.mcpserver.clients import Agent, texts_of


async def shell(ai: Agent, session: str, code: str, **options: object) -> dict[str, Any]:
    """The answer of an `exec` of shell code, whether it failed or not; its text has the same facts."""
    answer = await ai.ask("exec", sessionId=session, code=code, language="shell", **options)
    assert answer.structured_content is not None
    found = {key: value for key, value in answer.structured_content.items() if key != "notices"}
    facts = {key: value for key, value in found.items() if key not in ("stdout", "stderr")}
    assert json.loads(texts_of(answer)[0]) == facts
    return found


async def rows(ai: Agent, session: str, **wanted: object) -> list[dict[str, Any]]:
    """The jobs of a session."""
    return (await ai.data("listJobs", sessionId=session, filter=wanted))["jobs"]


async def begin(ai: Agent, code: str, **options: object) -> dict[str, str]:
    """A job in the background, in a session of its own: what the other tools take."""
    given = {"language": "shell", "background": True, "create": True, **options}
    data = await ai.data("exec", code=code, **given)
    return {"sessionId": data["sessionId"], "jobId": data["jobId"]}


async def over(ai: Agent, job: dict[str, str]) -> dict[str, Any]:
    """Its result, whether it failed or not."""
    data = (await ai.ask("waitJob", **job)).structured_content
    assert data is not None
    return data
