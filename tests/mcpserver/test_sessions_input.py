"""Bad input at the toolset `sessions`: refused in one sentence that names the field, and nothing is run."""

from typing import Any

import pytest
from tests.mcpserver.clients import Agent
from tests.mcpserver.sessioncalls import begin, over

TOOLSET = "sessions"


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "no code": ("exec", {}, "the call needs 'code'"),
    "empty code": ("exec", {"code": ""}, "'code' must be at least 1"),
    "blank code": ("exec", {"code": " \n"}, "'code' is empty"),
    "code with NUL": ("exec", {"code": "a\0b"}, "NUL"),
    "huge code": ("exec", {"code": "#" * 1_100_000}, "put it in a file"),
    "code as number": ("exec", {"code": 3}, "'code' must be a string, not 3"),
    "another language": ("exec", {"code": "1", "language": "ruby"}, "'language' must be one of python, shell"),
    "no time": ("exec", {"code": "1", "timeout": 0}, "'timeout' must be at least 1"),
    "negative time": ("waitJob", {"jobId": "x", "timeout": -1}, "'timeout' must be at least 0"),
    "environment": ("exec", {"code": "1", "env": {"A": 1}}, "'env.A' must be a string"),
    "bad variable": ("exec", {"code": "1", "env": {"A=B": "1"}}, "cannot be an environment variable"),
    "unknown field": ("exec", {"code": "1", "sesionId": "x"}, "did you mean 'sessionId'"),
    "session with slash": ("exec", {"code": "1", "sessionId": "../x"}, "cannot be a session's id"),
    "id with newline": ("startSession", {"id": "a\nb"}, "cannot be a session's id"),
    "no such folder": ("startSession", {"cwd": "no/such"}, "no folder"),
    "vars": ("startSession", {"vars": []}, "'vars' must be an object"),
    "job with slash": ("getJobOutput", {"jobId": "../x"}, "Job not found: ../x outside sessions"),
    "job with escape": ("getJobOutput", {"jobId": "\x1b[31m"}, "Job not found"),
    "no pid": ("getJobOutput", {"jobId": 0}, "'jobId' must be at least 1, not 0"),
    "negative offset": ("getJobOutput", {"jobId": "x", "since": -1}, "'since' must be at least 0"),
    "half an offset": ("getJobOutput", {"jobId": "x", "since": 0.5}, "'since' must be a whole number"),
    "other stream": ("getJobOutput", {"jobId": "x", "offsets": {"out": 1}}, "'offsets' has no field 'out'"),
    "status": (
        "listJobs",
        {"filter": {"status": "ended"}},
        "'filter.status' must be one of running, completed, failed",
    ),
    "limit": ("listJobs", {"filter": {"limit": 0}}, "'filter.limit' must be at least 1"),
    "set and unset": ("updateSession", {"sessionId": "s", "env": {"A": "1"}, "unset": ["A"]}, "both set and unset"),
    "no session": ("endSession", {}, "the call needs 'sessionId'"),
}


@pytest.mark.parametrize("what", BAD)
async def test_bad_input_is_refused_by_its_name(ai: Agent, what: str) -> None:
    tool, given, said = BAD[what]
    await ai.data("startSession", id="s")
    _, sentence = await ai.refusal(tool, **given)
    assert said in sentence
    assert (await ai.data("listJobs"))["jobs"] == []


async def test_both_ways_to_say_a_place_at_once_are_refused(ai: Agent) -> None:
    job = await begin(ai, "true")
    _, sentence = await ai.refusal("getJobOutput", **job, since=1, offsets={"stdout": 1})
    assert sentence == "'since' and 'offsets' say the same thing; give one of them"


async def test_whole_numbers_may_be_written_with_a_point(ai: Agent) -> None:
    job = await begin(ai, "printf 0123456789")
    await over(ai, job)
    assert (await ai.data("getJobOutput", **job, since=4.0))["stdout"] == "456789"
    assert (await ai.data("getJobOutput", **job, offsets={"stdout": 4.0}))["stdout"] == "456789"
    assert len((await ai.data("listJobs", sessionId=job["sessionId"], filter={"limit": 1.0}))["jobs"]) == 1


async def test_what_is_no_text_does_not_break_the_connection(ai: Agent) -> None:
    session = (await ai.data("startSession"))["sessionId"]
    code = r"session.vars['half'] = '\ud800'; import os; os.environb[b'BYTES'] = b'\xff'"
    assert (await ai.data("exec", sessionId=session, code=code))["success"]
    (found,) = (await ai.data("listSessions"))["sessions"]
    half = "\N{REPLACEMENT CHARACTER}"
    assert (found["vars"]["half"], found["env"]["BYTES"]) == (half, half)
