"""Arguments of the wrong kind, from callers without a type checker: the same sentence at both doors, or the same meaning."""

import re
from typing import Any

import pytest
from tests.support.gates import Gate
from tests.support.patience import LONG

from bide.api import Jobs
from bide.model.errors import BadRequest


@pytest.mark.parametrize(
    ("verb", "options", "sentence"),
    [
        ("wait", {"timeout": 0.2}, "'timeout' is a timedelta, not 0.2; write timedelta(seconds=...)"),
        ("read", {"follow": 5}, "'follow' is a timedelta, not 5; write timedelta(seconds=...)"),
        ("read", {"stream": "both"}, "there is no stream 'both'; use 'out' or 'err'"),
        ("kill", {"grace": 1}, "'grace' is a timedelta, not 1; write timedelta(seconds=...)"),
    ],
)
async def test_an_argument_of_the_wrong_kind_is_refused(
    jobs: Jobs, verb: str, options: dict[str, Any], sentence: str
) -> None:
    job = (await jobs.run("echo x")).job.id
    with pytest.raises(BadRequest, match=re.escape(sentence)):
        await getattr(jobs, verb)([job] if verb == "wait" else job, **options)


async def test_a_mode_may_be_given_by_its_value(jobs: Jobs, gate: Gate) -> None:
    both: list[str] = [(await jobs.run("true")).job.id, (await jobs.run(gate.wait, background=True)).job.id]
    modes: Any = ("any", "all", "some")
    assert (await jobs.wait(both, mode=modes[0], timeout=LONG)).met == "ended"
    gate.open()
    waited = await jobs.wait(both, mode=modes[1], timeout=LONG)
    assert [job.phase_name for job in waited.jobs] == ["ended", "ended"]
    with pytest.raises(BadRequest, match="'some'"):
        await jobs.wait(both, mode=modes[2])
