"""How requests end (208, 210, 211, 215, 216, 218, 219, 253), and what is said of it."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.llm.conftest import Fakes
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

from bide.api import Jobs
from bide.model.limits import OnOutputCap
from bide.model.llm.answer import LINGERED, Answer, Fault, Status
from bide.model.output import Stream
from bide.model.phase import Reason

SECOND = timedelta(seconds=1)


def settings(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"[llm]\n{text}\n", encoding="utf-8")


def codes(answer: Answer) -> list[str]:
    return [note.code for note in answer.notes]


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini", "grok"])
@pytest.mark.parametrize(
    ("mode", "fault", "said"),
    [("limited", Fault.USAGE_LIMIT, "wait until the limit resets"), ("loggedout", Fault.LOGIN, "log in with it")],
)
async def test_limits_and_logins_are_recognised(
    local: Jobs, fakes: Fakes, cli: str, mode: str, fault: Fault, said: str
) -> None:
    fakes.set(mode=mode)
    answer = (await local.llm.ask(cli, "hello")).answer
    assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 1, fault)
    assert said in answer.error


async def test_215_a_crash_is_told_in_the_clis_own_words(local: Jobs, fakes: Fakes) -> None:
    fakes.set(mode="crash")
    answer = (await local.llm.ask("codex", "hello")).answer
    assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 70, Fault.CLI)
    assert answer.error == "Error: something broke"


async def test_216_a_program_that_cannot_be_executed_is_126(local: Jobs, fakes: Fakes) -> None:
    interpreter = fakes.folder / "text"
    interpreter.write_text("not a program", encoding="utf-8")
    (fakes.folder / "grok").write_text(f"#!{interpreter}\n", encoding="utf-8")
    answer = (await local.llm.ask("grok", "hello")).answer
    assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 126, Fault.SPAWN)
    assert "could not be started" in answer.error


async def test_an_option_that_the_cli_refuses_is_its_failure(local: Jobs, fakes: Fakes) -> None:
    answer = (await local.llm.ask("codex", "hello", options={"ignore_rules": True})).answer
    assert (answer.status, answer.exit_code) == (Status.FAILED, 2)
    assert "--ignore-rules" in answer.error
    assert fakes.started == []


async def test_218_silence_ends_a_cli_that_tells_of_its_work(home: Path, fakes: Fakes) -> None:
    settings(home, "idle = '0.2s'")
    fakes.set(mode="silent")
    async with homes.local(home) as jobs:
        answer = (await jobs.llm.ask("claude", "hello")).answer
        assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 125, Fault.IDLE)
        assert answer.error.startswith("Process killed after 200ms of inactivity")


async def test_219_a_cli_that_is_silent_until_its_end_is_bound_by_time_alone(home: Path, fakes: Fakes) -> None:
    settings(home, "idle = '0.1s'\nruntime = '0.4s'")
    fakes.set(mode="silent")
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", format="text")
        assert asked.job.spec.limits.idle is None
        assert (asked.answer.exit_code, asked.answer.fault) == (124, Fault.TIMEOUT)


async def test_220_limits_are_what_suits_the_cli_or_was_asked_for(local: Jobs, fakes: Fakes) -> None:
    streamed = (await local.llm.ask("claude", "a")).job.spec.limits
    assert (streamed.timeout, streamed.idle) == (None, timedelta(minutes=10))
    assert (streamed.output_bytes, streamed.on_output_cap) == (52_428_800, OnOutputCap.KILL)
    assert streamed.grace == SECOND * 5
    final = (await local.llm.ask("claude", "a", format="json")).job.spec.limits
    assert (final.timeout, final.idle) == (timedelta(hours=1), None)
    chosen = (await local.llm.ask("claude", "b", idle=timedelta(seconds=30), timeout=SECOND * 90)).job.spec.limits
    assert (chosen.timeout, chosen.idle) == (SECOND * 90, SECOND * 30)
    assert len(fakes.started) == 3


@pytest.mark.parametrize("form", ["text", "json"])
async def test_218_an_idle_time_is_not_meant_where_claude_is_silent_until_its_end(
    local: Jobs, fakes: Fakes, form: str
) -> None:
    asked = await local.llm.ask("claude", "a", format=form, idle=timedelta(seconds=30))
    assert (asked.job.spec.limits.timeout, asked.job.spec.limits.idle) == (timedelta(hours=1), None)
    assert "idle_timeout_ignored" in [note.code for note in asked.answer.notes]
    codex = (await local.llm.ask("codex", "a", format="text", idle=timedelta(seconds=30))).job.spec.limits
    assert (codex.timeout, codex.idle) == (None, timedelta(seconds=30))
    assert len(fakes.started) == 2


async def test_216_a_timeout_is_124(local: Jobs, fakes: Fakes) -> None:
    fakes.set(mode="slow")
    answer = (await local.llm.ask("claude", "hello", timeout=SECOND / 2)).answer
    assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 124, Fault.TIMEOUT)


async def test_216_too_much_output_ends_it_with_126(home: Path, fakes: Fakes) -> None:
    settings(home, "output_bytes = '1M'")
    fakes.set(mode="flood")
    async with homes.local(home) as jobs:
        answer = (await jobs.llm.ask("codex", "hello")).answer
        assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 126, Fault.OVERFLOW)
        assert answer.error.startswith("Output exceeded maximum size (1MB)")


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini", "grok"])
async def test_a_cli_that_lingers_after_its_result_is_ended_and_the_result_stands(
    home: Path, fakes: Fakes, cli: str
) -> None:
    settings(home, "linger = '0.1s'")
    fakes.set(mode="linger")
    async with homes.local(home) as jobs:
        answer = (await jobs.llm.ask(cli, "hello")).answer
        assert (answer.status, answer.exit_code, answer.text) == (Status.COMPLETED, 0, "you said: hello")
        assert codes(answer) == ["lingered"]
        end = (await end_of(jobs, answer.job.id)).end
        assert (end.reason, end.by) == (Reason.KILLED, LINGERED)


async def test_a_cli_that_goes_on_working_is_not_ended(home: Path, fakes: Fakes, gate: Gate) -> None:
    settings(home, "linger = '0s'")
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", background=True)
        await eventually(lambda: len(fakes.started) == 1)
        gate.open()
        phase = await end_of(jobs, asked.job.id)
        assert (await jobs.llm.answer(asked.job.id)).status is Status.COMPLETED
        assert phase.end.reason in (Reason.EXITED, Reason.KILLED)


async def test_208_211_a_canceled_request_keeps_what_it_wrote_until_its_very_end(local: Jobs, fakes: Fakes) -> None:
    fakes.set(mode="late")
    asked = await local.llm.ask("codex", "hello", background=True)
    await eventually(lambda: _said(local, asked.job.id, b"ready"))
    await local.kill(asked.job.id, by="llm_job_cancel")
    answer = await local.llm.answer(asked.job.id)
    assert (answer.status, answer.exit_code, answer.fault) == (Status.CANCELED, None, Fault.NONE)
    assert answer.error == "Canceled by llm_job_cancel."
    assert await _said(local, asked.job.id, b"last words")


async def _said(jobs: Jobs, job: str, words: bytes) -> bool:
    return words in (await jobs.read(job, stream=Stream.OUT)).data


@pytest.mark.parametrize(
    ("mode", "status", "code", "notes"),
    [
        ("empty", Status.COMPLETED, 0, ["empty_output"]),
        ("error", Status.COMPLETED, 0, ["result_is_error"]),
        ("wrong", Status.FAILED, 3, ["exit_disagrees"]),
        ("garbage", Status.COMPLETED, 0, ["unreadable_output"]),
    ],
)
async def test_253_where_exit_code_and_output_disagree_that_is_told(
    local: Jobs, fakes: Fakes, mode: str, status: Status, code: int, notes: list[str]
) -> None:
    fakes.set(mode=mode)
    answer = (await local.llm.ask("claude", "hello")).answer
    assert (answer.status, answer.exit_code, codes(answer)) == (status, code, notes)
