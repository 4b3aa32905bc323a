"""What the core tools cost a model: calls as it writes them and answers as it sees them, four characters a token."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.support.gates import Gate

from bide.api import Jobs
from bide.mcpserver import patience
from bide.model.schema import Json

SEES = ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "other"]
"""Clients whose model is shown the text of an answer."""


class Meter:
    """A client whose calls and answers are counted."""

    def __init__(self, ai: Agent) -> None:
        self._ai = ai
        self.calls = 0
        self.chars = 0

    async def ask(self, tool: str, **given: Any) -> str:
        answer = text_of(await self._ai.ask(tool, **given))
        self.calls += 1
        self.chars += len(tool) + len(json.dumps(given)) + len(answer)
        return answer

    @property
    def tokens(self) -> float:
        return self.chars / 4


@pytest.mark.parametrize("name", SEES)
async def test_a_job_of_ten_minutes_costs_three_calls_and_300_tokens(
    jobs_here: Jobs, tmp_path: Path, gate: Gate, name: str
) -> None:
    """A wait that gives up costs the same however long it was: it is short here."""
    async with agent(jobs_here, tmp_path, name=name, output=None) as ai:
        meter = Meter(ai)
        job = (await meter.ask("run", command=f"{gate.wait}; make test", wait=0.1)).split()[0]
        await meter.ask("await", jobs=[job], timeout=0.1)
        gate.open()
        assert "exited with 2" in await meter.ask("await", jobs=[job])
        output = len("make: *** No rule to make target 'test'.  Stop.\n") / 4
        assert (meter.calls, meter.tokens - output <= 300) == (3, True)


@pytest.mark.parametrize("name", SEES[:3])
def test_the_calls_of_three_known_clients_are_long_enough_for_ten_minutes(name: str) -> None:
    assert patience.deadline(name) + 2 * patience.longest(name) >= 600


@pytest.mark.parametrize("name", SEES)
@pytest.mark.parametrize("background", [True, False])
async def test_five_checks_of_which_one_fails_cost_1200_tokens(
    jobs_here: Jobs, tmp_path: Path, name: str, *, background: bool
) -> None:
    report = tmp_path / "report"
    frames = "".join(f'  File "app/{word}.py", line 7, in {word}\n    return inner()\n' for word in ("web", "db", "io"))
    report.write_text(f"{'.' * 70}F\nTraceback (most recent call last):\n{frames}ValueError: no such user: ann\n")
    checks = {
        "lint": "echo All checks passed!",
        "types": "echo 0 errors, 0 warnings",
        "test": f"cat {report}; exit 1",
        "build": "seq 5000; echo built in 3.1s",
        "docs": "for page in $(seq 100); do echo wrote page-$page.html; done",
    }
    async with agent(jobs_here, tmp_path, name=name, output=None) as ai:
        meter = Meter(ai)
        said = [await meter.ask("run", command=checks[one], name=one, background=background) for one in checks]
        if background:
            said.append(await meter.ask("await", jobs=[*checks]))
        assert "ValueError: no such user: ann" in "".join(said)
        assert meter.tokens <= 1200


@pytest.mark.parametrize(
    "command", ["true", "echo done", "seq 5000", "seq 5000; seq 5000 >&2", "seq 100000 | tr -d '\\n'"]
)
@pytest.mark.parametrize("name", SEES)
async def test_the_answer_to_a_success_has_one_to_five_lines(
    jobs_here: Jobs, tmp_path: Path, name: str, command: str
) -> None:
    async with agent(jobs_here, tmp_path, name=name, output=None) as ai:
        answer = await Meter(ai).ask("run", command=command)
        assert 1 <= len(answer.splitlines()) <= 5
        assert "exited with 0" in answer


async def test_a_short_success_is_shown_whole(ai: Agent, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("".join(f"line {number}\n" for number in range(150)))
    data = await ai.data("run", command="cat notes")
    assert data["out"]["text"] == (tmp_path / "notes").read_text()
    (tmp_path / "notes").write_text("".join(f"line {number}\n" for number in range(1500)))
    data = await ai.data("run", command="cat notes", budget=5000)
    assert data["out"]["text"] == (tmp_path / "notes").read_text()


ASKS = 'printf "Continue? [y/N] "; read -r said; echo "got=$said"'


@pytest.mark.parametrize("given", [{"pty": True}, {"stdin": True}])
@pytest.mark.parametrize("name", SEES)
async def test_a_prompt_is_answered_in_two_calls(
    jobs_here: Jobs, tmp_path: Path, name: str, given: dict[str, bool]
) -> None:
    async with agent(jobs_here, tmp_path, name=name, output=None) as ai:
        meter = Meter(ai)
        asked = await meter.ask("run", command=ASKS, **given)
        assert 'its prompt: "Continue? [y/N] "' in asked
        call = asked.partition("To answer: send ")[2].splitlines()[0].replace("<y|n>", "y")
        answered = await meter.ask("send", **json.loads(call))
        assert "exited with 0" in answered
        assert "got=y" in answered
        assert meter.calls == 2


async def test_each_prompt_ends_one_wait_and_no_other(ai: Agent, tmp_path: Path) -> None:
    script = 'read -p "Name? " name; read -p "Age? " age; echo "$name is $age"'
    first = await ai.data("run", command=script, pty=True, name="form")
    assert (first["met"], first["waiting"]["prompt"]) == ("input", "Name? ")
    assert (await ai.data("await", jobs=["form"], timeout=0.2))["met"] == "timeout"
    second = await ai.data("send", job="form", text="Ann\n")
    assert (second["met"], second["waiting"]["prompt"]) == ("input", "Age? ")
    last = await ai.data("send", job="form", text="7\n")
    assert (last["exit_code"], "Ann is 7" in last["out"]["text"]) == (0, True)
    assert tmp_path.exists()


_THREAD = (
    "import asyncio, sys\n"
    "async def main():\n"
    "    print('Ok to proceed? (y) ', end='', flush=True)\n"
    "    said = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)\n"
    "    print('got=' + said.strip())\n"
    "asyncio.run(main())\n"
)
_NODE = (
    "const rl = require('readline').createInterface({input: process.stdin, output: process.stdout});"
    "rl.question('Ok to proceed? (y) ', said => { console.log('got=' + said); rl.close(); });"
)
_READERS = [(["python3", "-c", _THREAD], "stdin"), (["python3", "-c", _THREAD], "pty")] + [
    (["node", "-e", _NODE], given) for given in ("stdin", "pty") if shutil.which("node")
]


@pytest.mark.parametrize(("command", "given"), _READERS)
async def test_146_a_prompt_that_the_kernel_does_not_tell_of_may_be_one(
    ai: Agent, command: list[str], given: str
) -> None:
    asked = await ai.ask("run", command=command, **{given: True}, wait=30)
    data: Json = asked.structured_content or {}
    assert data["met"] == "input"
    call = {"job": data["job"], "text": "<text>\n"}
    assert 'may be asking: "Ok to proceed? (y) "' in text_of(asked)
    assert f"To answer: send {json.dumps(call)}" in text_of(asked)
    assert f"If it asks nothing: await {json.dumps({'jobs': [data['job']]})}" in text_of(asked)
    assert data["next"] == {"tool": "send", "arguments": call}
    answered = await ai.ask("send", **{**call, "text": "y\n"})
    assert "got=y" in text_of(answered) + json.dumps(answered.structured_content)
    await ai.ask("kill", jobs=[data["job"]])


async def test_146_what_looks_like_no_prompt_or_is_busy_is_none(ai: Agent) -> None:
    for command in ("printf 'checking for gcc... '; sleep 4", "printf 'Really? '; while :; do :; done"):
        data = await ai.data("run", command=command, pty=True, wait=3)
        assert data["met"] == "timeout"
        assert "waiting" not in data
        await ai.ask("kill", jobs=[data["job"]])


async def test_146_each_later_answer_about_a_job_that_asks_has_the_call_that_answers_it(ai: Agent) -> None:
    asked = await ai.ask("run", command='read -p "Go? [y/n] " said; echo "got=$said"', pty=True, name="form")
    first: Json = asked.structured_content or {}
    call: Json = {"tool": "send", "arguments": {"job": first["job"], "text": "<y|n>\n"}}
    await ai.ask("run", command="sleep 60", background=True, name="other")
    for tool, given in (
        ("await", {"jobs": ["form"], "timeout": 0.1}),
        ("await", {"jobs": ["form", "other"], "timeout": 0.1}),
        ("logs", {"job": "form"}),
        ("jobs", {"jobs": ["form"]}),
        ("jobs", {}),
    ):
        answer = await ai.ask(tool, **given)
        data: Json = answer.structured_content or {}
        said = text_of(answer)
        assert f"To answer: send {json.dumps(call['arguments'])}" in said, tool
        assert "goes on by itself" not in said
        assert call == (data["jobs"][-1] if tool == "jobs" else data)["next"]
    await ai.ask("kill", jobs=["form", "other"])


@pytest.mark.parametrize(
    "command",
    [
        ASKS,
        'read -p "Continue? " said; echo "got=$said"',
        "python3 -c 'input()'",
        "printf 'package name: (bide) '",
        "echo installing; printf 'Go on? ' >&2; exit 1",
        "printf 'Really delete it? '; echo Aborted.; exit 1",
        """bash -c 'read -p "Sure? " said; [ "$said" ] || { echo Aborted.; exit 1; }'""",
    ],
)
async def test_an_answer_does_not_hide_that_a_program_asked_in_vain(ai: Agent, command: str) -> None:
    answer = await ai.text("run", command=command)
    assert 'Its stdin was empty. To answer what it asks, run it again with "pty": true.' in answer
    assert "stdin was empty" not in await ai.text("run", command="echo read the manual")


async def test_a_run_takes_its_turn_and_its_output_cap(ai: Agent, gate: Gate) -> None:
    first = await ai.data("run", command=gate.wait, background=True, group="disk")
    answer = await ai.ask("run", command="echo then", background=True, after=[first["job"]], priority=5)
    assert f"it starts after the success of {first['job']}" in text_of(answer)
    gate.open()
    after: Json = answer.structured_content or {}
    assert (await ai.data("await", jobs=[after["job"]]))["out"]["text"] == "then\n"
    capped = await ai.data("run", command="seq 100000; exit 1", output_cap=65536)
    assert capped["out"]["dropped"] > 0


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("logs", {"id": "it"}),
        ("logs", {"jobs": ["it"]}),
        ("await", {"job": "it"}),
        ("await", {"id": "it"}),
        ("jobs", {"job": "it"}),
        ("kill", {"job": "it"}),
    ],
)
async def test_a_job_may_be_named_by_the_field_of_another_tool(ai: Agent, tool: str, given: dict[str, Any]) -> None:
    job = (await ai.data("run", command="echo hi", name="it"))["job"]
    data = await ai.data(tool, **given)
    assert job in json.dumps(data)
