"""Somebody has Python code start several things at once, and sees what became of each."""

import json
from pathlib import Path

from tests.support.code import out, python
from tests.support.patience import ended

from bide import Ended, Filter
from bide.api import Jobs

CHECKS = """
import asyncio, json, os

os.mkfifo("gate")
runs = [cmd("sh", "-c", f"echo checking {n}; read line < gate; test {n} -ne 3").exec() for n in range(5)]
with open("gate", "r+b", 0) as gate:
    gate.write(b"\\n" * 5)
    results = await asyncio.gather(*runs)
for result in results:
    print(result.stdout, end="")
failed = [result for result in results if not result.success]
print(json.dumps({"failed": [result.command for result in failed], "jobs": [result.id for result in results]}))
raise SystemExit(len(failed))
"""


async def test_five_commands_run_at_once_and_each_is_a_job(remote: Jobs, tmp_path: Path) -> None:
    ran = await python(remote, CHECKS, cwd=str(tmp_path), name="checks")

    end = ended(ran.job).end
    assert end.exit_code == 1
    *lines, last = out(ran).splitlines()
    assert lines == [f"checking {number}" for number in range(5)]
    said = json.loads(last)
    assert said["failed"] == ["sh -c 'echo checking 3; read line < gate; test 3 -ne 3'"]

    children = (await remote.list(Filter(parent="checks"))).jobs
    assert {child.id for child in children} == set(said["jobs"])
    assert all(child.parent == ran.job.id and child.spec.cwd == str(tmp_path) for child in children)
    times = [phase for child in children if isinstance(phase := child.phase, Ended)]
    assert len({phase.pid for phase in times}) == 5
    assert sorted(phase.end.exit_code or 0 for phase in times) == [0, 0, 0, 0, 1]
    # At the same time: the last began before the first was over.
    assert max(phase.started_at for phase in times if phase.started_at) <= min(phase.ended_at for phase in times)

    third = said["jobs"][3]
    assert (await remote.read(third)).data == b"checking 3\n"
