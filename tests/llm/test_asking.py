"""A request to an LLM's command line is a job (184, 190, 192, 196, 197), locally and over the socket."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from tests.llm.conftest import PROGRAMS, Fakes
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

from bide.api import Filter, Jobs
from bide.model.errors import BadRequest
from bide.model.llm.answer import Fault, Status
from bide.model.llm.prompt import Parts
from bide.model.phase import Ended
from bide.settings import Settings

CLIS = list(PROGRAMS)
PLAN = {"mistral": {"agent": "plan"}}
"""What keeps a CLI from acting without asking, where that is not its default."""


@pytest.mark.parametrize("cli", CLIS)
async def test_an_answer_is_what_the_cli_said(local: Jobs, fakes: Fakes, cli: str) -> None:
    asked = await local.llm.ask(cli, "hello", options=PLAN.get(cli, {}), correlation_id="mine")
    answer = asked.answer
    assert (answer.status, answer.exit_code, answer.text) == (Status.COMPLETED, 0, "you said: hello")
    assert (answer.cli, answer.correlation_id, answer.error, answer.notes) == (cli, "mine", "", ())
    assert answer.job.spec.kind == cli
    assert (asked.joined, asked.deferred, asked.approval) == (False, False, None)
    assert [one["cli"] for one in fakes.started] == [PROGRAMS[cli]]
    again = await local.llm.answer(answer.job.id)
    assert again.reading == answer.reading


async def test_both_doors_answer_alike(jobs: Jobs, fakes: Fakes) -> None:
    asked = await jobs.llm.ask("claude", "hello")
    reading = asked.answer.reading
    assert (reading.text, reading.conversation, reading.model) == ("you said: hello", "c-1", "claude-sonnet-fake")
    assert (reading.cost_usd, reading.turns, reading.tokens.cache_read) == (0.01, 1, 100)
    assert len(asked.answer.correlation_id) == 36
    assert (await jobs.llm.answer(asked.answer.correlation_id)).job.id == asked.job.id
    page = await jobs.list(Filter(kind="claude"))
    assert [job.id for job in page.jobs] == [asked.job.id]
    assert page.jobs[0].spec.command == "claude hello"
    assert len(fakes.started) == 1


async def test_a_cli_runs_where_and_with_what_the_caller_has(local: Jobs, fakes: Fakes, tmp_path: Path) -> None:
    fakes.env("CLAUDECODE", "1")
    await local.llm.ask("claude", "hello", cwd=str(tmp_path))
    (seen,) = fakes.started
    assert seen["cwd"] == str(tmp_path)
    assert seen["env"] == {"NO_COLOR": "1"} | ({"CI": os.environ["CI"]} if "CI" in os.environ else {})


async def test_199_nothing_of_a_prompt_is_seen_by_a_shell(local: Jobs, fakes: Fakes) -> None:
    prompt = "$(touch x) `y` \"'; exit 3 #\n*\\"
    asked = await local.llm.ask("codex", prompt)
    assert asked.answer.text == f"you said: {prompt}"
    assert fakes.started[0]["argv"][-1] == prompt


@pytest.mark.parametrize("cli", CLIS)
@pytest.mark.parametrize("prompt", ["--version", "-"])
async def test_199_a_prompt_never_becomes_a_flag(local: Jobs, fakes: Fakes, cli: str, prompt: str) -> None:
    asked = await local.llm.ask(cli, prompt, options=PLAN.get(cli, {}))
    assert asked.answer.text == f"you said: {prompt}"
    assert len(fakes.started) == 1


@pytest.mark.parametrize("cli", CLIS)
async def test_two_megabytes_of_prompt_arrive_whole(local: Jobs, fakes: Fakes, cli: str) -> None:
    parts = Parts("do it", context="ä" * 1024 * 1024)
    asked = await local.llm.ask(cli, parts=parts, options=PLAN.get(cli, {}))
    assert asked.answer.status is Status.COMPLETED
    assert fakes.started[0]["stdin"] == parts.text
    assert asked.answer.text == f"you said: {parts.text[:200]}"


async def test_246_a_conversation_goes_on(local: Jobs, fakes: Fakes) -> None:
    first = await local.llm.ask("claude", "hello")
    second = await local.llm.ask("claude", "and?", conversation=first.answer.reading.conversation)
    assert second.answer.reading.conversation == "c-1"
    assert fakes.started[1]["argv"][-2:] == ["--resume", "c-1"]


async def test_187_the_model_is_what_was_asked_for_or_configured(local: Jobs, fakes: Fakes) -> None:
    await local.llm.ask("claude", "one")
    fakes.env("CLAUDE_DEFAULT_MODEL", "opus")
    await local.llm.ask("claude", "two")
    await local.llm.ask("claude", "three", model="haiku")
    await local.llm.ask("claude", "four", model="latest")
    fakes.env("LLM_GATEWAY_MODEL_ALIASES", '{"fast": "haiku"}')
    await local.llm.ask("claude", "five", model="fast")
    named = [
        one["argv"][one["argv"].index("--model") + 1] if "--model" in one["argv"] else None for one in fakes.started
    ]
    assert named == [None, "opus", "haiku", "opus", "haiku"]


async def test_past_the_deadline_the_answer_is_deferred_and_comes_later(jobs: Jobs, fakes: Fakes, gate: Gate) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    fakes.env("SYNC_DEADLINE_MS", "50")
    asked = await jobs.llm.ask("claude", "hello")
    assert (asked.deferred, asked.answer.status, asked.answer.exit_code) == (True, Status.RUNNING, None)
    gate.open()
    await end_of(jobs, asked.job.id)
    answer = await jobs.llm.answer(asked.job.id)
    assert (answer.status, answer.text) == (Status.COMPLETED, "you said: hello")


async def test_202_with_a_deadline_of_0_nothing_is_deferred_and_equal_requests_still_join(
    local: Jobs, fakes: Fakes
) -> None:
    fakes.env("SYNC_DEADLINE_MS", "0")
    first = await local.llm.ask("claude", "hello")
    second = await local.llm.ask("claude", "hello")
    assert (first.deferred, second.joined, second.job.id) == (False, True, first.job.id)
    fakes.env("SYNC_DEADLINE_MS", "20000")
    assert (await local.llm.ask("claude", "other")).deadline == timedelta(seconds=20)
    assert Settings().llm.deadline == timedelta(seconds=45)


async def test_in_the_background_the_answer_is_the_job(local: Jobs, fakes: Fakes, gate: Gate) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    asked = await local.llm.ask("codex", "hello", background=True, name="review")
    assert (asked.deferred, asked.answer.status) == (False, Status.RUNNING)
    gate.open()
    await end_of(local, "review")
    assert (await local.llm.answer("review")).text == "you said: hello"


async def test_216_a_missing_program_is_a_failed_job_with_127_and_a_hint(jobs: Jobs, fakes: Fakes) -> None:
    fakes.remove("claude")
    answer = (await jobs.llm.ask("claude", "hello")).answer
    assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 127, Fault.SPAWN)
    assert "npm install -g @anthropic-ai/claude-code" in answer.error


async def test_a_job_that_is_no_request_has_no_answer(local: Jobs) -> None:
    ran = await local.run("true")
    with pytest.raises(BadRequest, match="no request to an LLM"):
        await local.llm.answer(ran.job.id)


async def test_198_a_schema_is_a_file_that_goes_with_its_job(local: Jobs, fakes: Fakes, gate: Gate, home: Path) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    options = {"output_schema": {"type": "object"}}
    asked = await local.llm.ask("codex", "hello", options=options, background=True)
    await eventually(lambda: len(fakes.started) == 1)
    argv = fakes.started[0]["argv"]
    schema = Path(argv[argv.index("--output-schema") + 1])
    assert schema.read_text(encoding="utf-8") == '{"type": "object"}'
    assert schema.stat().st_mode & 0o777 == 0o600
    other = await local.llm.ask("codex", "other", options=options, background=True)
    gate.open()
    gate.open()
    for job in (asked.job.id, other.job.id):
        assert (await end_of(local, job)).end.success
    assert list((home / "llm").glob("schema-*")) == []
    joined = await local.llm.ask("codex", "hello", options=options)
    assert joined.joined
    assert list((home / "llm").glob("schema-*")) == []


async def test_probes_leave_no_jobs_behind_and_are_not_repeated(local: Jobs, fakes: Fakes) -> None:
    for prompt in ("one", "two"):
        await local.llm.ask("claude", prompt)
    assert len((await local.list()).jobs) == 2
    assert len(fakes.started) == 2


async def test_programs_tell_version_and_login(jobs: Jobs, fakes: Fakes) -> None:
    fakes.remove("vibe")
    fakes.set(version="9.9.9")
    fakes.env("GEMINI_API_KEY", "x")
    found = {one.cli: one for one in await jobs.llm.programs(login=True)}
    assert (found["claude"].version, found["claude"].login) == ("claude 9.9.9", "authenticated")
    assert (found["grok"].login, found["gemini"].login) == ("unknown", "authenticated")
    assert (found["mistral"].installed, "mistral-vibe" in found["mistral"].hint) == (False, True)
    fakes.set(mode="loggedout")
    assert (await jobs.llm.programs("codex", login=True))[0].login == "not_authenticated"
    assert (await jobs.llm.programs("codex"))[0].login == "not_checked"


async def test_an_upgrade_is_only_shown_unless_it_is_wanted(jobs: Jobs, fakes: Fakes) -> None:
    shown = await jobs.llm.upgrade("grok")
    assert (shown.command, shown.dry_run, shown.job) == (("grok", "update"), True, None)
    assert (await jobs.list()).jobs == ()
    done = await jobs.llm.upgrade("grok", dry_run=False)
    assert done.job is not None
    assert isinstance((await jobs.wait([done.job])).jobs[0].phase, Ended)
    assert fakes.folder.exists()


async def test_models_are_known_by_name(jobs: Jobs) -> None:
    (found,) = await jobs.llm.models("gemini")
    assert found.aliases["flash"] in found.models
    assert len(await jobs.llm.models()) == 5
