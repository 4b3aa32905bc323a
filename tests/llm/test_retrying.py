"""Requests whose line failed are made again, and a CLI that fails too often is given a rest (217, 221)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.llm.conftest import Fakes
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

from bide.api import Filter
from bide.keeper import services
from bide.model.errors import CliResting
from bide.model.llm import retry
from bide.model.llm.answer import Fault, Status
from bide.model.llm.prompt import Parts
from bide.model.llm.retry import Breaker, Outcome, State
from bide.model.phase import Queued

SECOND = timedelta(seconds=1)
T = datetime(2026, 1, 1, tzinfo=UTC)
QUICK = "retry_pause = '0.01s'"


def settings(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"[llm]\n{text}\n", encoding="utf-8")


def test_221_pauses_double_up_to_half_a_minute() -> None:
    assert [retry.pause(attempt, SECOND).total_seconds() for attempt in (1, 2, 3, 4, 5, 6, 60)] == [
        1,
        2,
        4,
        8,
        16,
        30,
        30,
    ]


def test_221_a_breaker_opens_at_five_failures_and_lets_one_try_after_a_minute() -> None:
    rest, found = SECOND * 60, Breaker()
    for _ in range(4):
        found = found.failed(T, "ECONNRESET", 5)
        assert found.state(T, rest) is State.CLOSED
    found = found.failed(T, "ECONNRESET", 5)
    assert (found.state(T, rest), found.lets(T + SECOND * 59, rest)) == (State.OPEN, False)
    assert found.left(T + SECOND * 59, rest) == SECOND
    later = T + rest
    assert (found.state(later, rest), found.lets(later, rest)) == (State.HALF_OPEN, True)
    tried = found.tried("one", later)
    assert not tried.lets(later, rest)
    assert tried.lets(later + rest, rest)
    assert tried.failed(later, "again", 5).state(later, rest) is State.OPEN
    assert tried.ended("one", reached=True) == Breaker()
    assert tried.ended("one", reached=False).lets(later, rest)
    assert not tried.ended("another", reached=False).lets(later, rest)


@pytest.mark.parametrize(
    ("told", "failures", "opened"),
    [
        ("", 0, None),
        ("t5", 5, 0),
        ("t2 t3", 5, 0),
        ("t2 c1 t3", 5, 0),
        ("t4 ok t9", 4, None),
        ("x1 t4 t1", 5, 1),
        ("t2 login t9", 2, None),
        ("own3 t2", 5, 0),
        ("ours9", 0, None),
    ],
)
def test_221_what_is_on_record_tells_a_new_runtime_how_a_cli_does(told: str, failures: int, opened: int | None) -> None:
    kinds = {
        "t": (Status.FAILED, Fault.TRANSIENT, 1),
        "own": (Status.FAILED, Fault.CLI, 124),
        "ours": (Status.FAILED, Fault.TIMEOUT, 124),
        "x": (Status.FAILED, Fault.CLI, 2),
        "c": (Status.CANCELED, Fault.NONE, None),
        "ok": (Status.COMPLETED, Fault.NONE, 0),
        "login": (Status.FAILED, Fault.LOGIN, 1),
    }
    outcomes = [
        Outcome(T - SECOND * at, *kinds[word.rstrip("0123456789")], int(word.lstrip("abcdefghijklmnopqrstuvwxyz") or 1))
        for at, word in enumerate(told.split())
    ]
    found = retry.remembered(outcomes, 5)
    assert (found.failures, found.opened_at) == (failures, None if opened is None else T - SECOND * opened)


async def test_221_a_rest_outlives_the_runtime_that_gave_it(home: Path, fakes: Fakes) -> None:
    settings(home, f"{QUICK}\nbreaker_failures = 2\nattempts = 2")
    fakes.set(mode="flaky", failures="9")
    async with homes.local(home) as jobs:
        assert (await jobs.llm.ask("claude", "hello")).answer.status is Status.FAILED
    async with homes.local(home) as jobs:

        async def rests() -> bool:
            return (await jobs.llm.health())[0].breaker is State.OPEN

        await eventually(rests)  # what ended last may only now be put on record
        assert len(fakes.started) == 2
        with pytest.raises(CliResting, match="its last requests failed"):
            await jobs.llm.ask("claude", "hello")


def test_a_breaker_that_is_switched_off_never_opens() -> None:
    found = Breaker()
    for _ in range(9):
        found = found.failed(T, "x", 0)
    assert found.state(T, SECOND) is State.CLOSED


async def test_221_what_the_line_failed_is_asked_again_and_the_record_says_so(home: Path, fakes: Fakes) -> None:
    settings(home, QUICK)
    fakes.set(mode="flaky", failures="2")
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", correlation_id="mine", name="greeting")
        answer = asked.answer
        assert (answer.status, answer.text, asked.deferred) == (Status.COMPLETED, "you said: hello", False)
        assert [(note.code, note.figures) for note in answer.notes] == [("retried", {"attempt": 3})]
        page = await jobs.list(Filter(kind="claude"))
        third, second, first = page.jobs
        assert second.id in answer.notes[0].message
        facts = [job.spec.ask for job in (first, second, third)]
        assert [(one.attempt, one.retry_of) for one in facts if one] == [(1, None), (2, first.id), (3, second.id)]
        assert {one.correlation_id for one in facts if one} == {"mine"}
        assert [answer.job.id for answer in [await jobs.llm.answer(ref) for ref in (first.id, "mine", "greeting")]] == [
            third.id
        ] * 3
        assert len(fakes.started) == 3
        assert (await jobs.llm.ask("claude", "hello")).job.id == third.id

        async def forgiven() -> bool:
            return (await jobs.llm.health())[0].failures == 0

        await eventually(forgiven)


async def test_what_came_by_stdin_and_by_file_is_there_for_every_attempt(home: Path, fakes: Fakes) -> None:
    settings(home, QUICK)
    fakes.set(mode="flaky")
    parts = Parts("do it", context="x" * 200_000)
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("codex", parts=parts, options={"output_schema": {"type": "object"}})
        assert asked.answer.status is Status.COMPLETED
        assert [one["stdin"] == parts.text for one in fakes.started] == [True, True]
        assert fakes.started[0]["argv"] == fakes.started[1]["argv"]
        await eventually(lambda: not list((home / "llm").glob("schema-*")))


async def test_a_clis_own_124_is_tried_again(home: Path, fakes: Fakes) -> None:
    settings(home, QUICK)
    fakes.set(mode="flaky", status="124")
    async with homes.local(home) as jobs:
        assert (await jobs.llm.ask("grok", "hello")).answer.status is Status.COMPLETED
    assert len(fakes.started) == 2


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("crash", {}),
        ("limited", {}),
        ("loggedout", {}),
        ("halfway", {}),
        ("wrong", {}),
        ("slow", {"timeout": SECOND / 5}),
    ],
)
async def test_what_is_not_transient_or_already_acted_is_never_tried_again(
    home: Path, fakes: Fakes, mode: str, options: dict[str, timedelta]
) -> None:
    settings(home, QUICK)
    fakes.set(mode=mode)
    async with homes.local(home) as jobs:
        answer = (await jobs.llm.ask("claude", "hello", timeout=options.get("timeout"))).answer
        assert (answer.status, "retried" in [note.code for note in answer.notes]) == (Status.FAILED, False)
        assert services.read_next(str(home / "jobs" / answer.job.id)) is None
    assert len(fakes.started) <= 1  # on a busy machine a short timeout may come before its first word


@pytest.mark.parametrize(
    ("mode", "limit", "code"), [("silent", "idle = '0.2s'", 125), ("flood", "output_bytes = '1M'", 126)]
)
async def test_217_silence_and_floods_are_never_tried_again(
    home: Path, fakes: Fakes, mode: str, limit: str, code: int
) -> None:
    settings(home, f"{QUICK}\n{limit}")
    fakes.set(mode=mode)
    async with homes.local(home) as jobs:
        answer = (await jobs.llm.ask("claude", mode)).answer
        assert (answer.exit_code, services.read_next(str(home / "jobs" / answer.job.id))) == (code, None)


async def test_221_after_the_last_attempt_the_failure_is_the_answer(home: Path, fakes: Fakes) -> None:
    settings(home, f"{QUICK}\nattempts = 2")
    fakes.set(mode="flaky", failures="9")
    async with homes.local(home) as jobs:
        answer = (await jobs.llm.ask("claude", "hello")).answer
        assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 1, Fault.TRANSIENT)
        after = services.read_next(str(home / "jobs" / answer.job.id))
        assert after is not None
        assert after.gave_up == "it was attempt 2 of 2"
    assert len(fakes.started) == 2


async def test_221_a_cli_that_fails_too_often_is_refused_until_one_request_gets_through(
    home: Path, fakes: Fakes
) -> None:
    settings(home, f"{QUICK}\nattempts = 2\nbreaker_failures = 2\nbreaker_rest = '0.3s'")
    async with homes.local(home) as jobs:
        good = await jobs.llm.ask("claude", "good")
        fakes.set(mode="flaky", failures="3")
        await jobs.llm.ask("claude", "bad")
        with pytest.raises(CliResting, match=r"claude failed 2 times in a row .*ECONNRESET.*ask again then"):
            await jobs.llm.ask("claude", "another")
        assert (await jobs.llm.ask("claude", "good")).job.id == good.job.id
        health = {one.cli: one for one in await jobs.llm.health()}
        assert (health["claude"].breaker, health["codex"].breaker) == (State.OPEN, State.CLOSED)

        async def half_open() -> bool:
            return (await jobs.llm.health())[0].breaker is State.HALF_OPEN

        await eventually(half_open)
        assert (await jobs.llm.ask("claude", "another")).answer.status is Status.COMPLETED

        async def closed() -> bool:
            return (await jobs.llm.health())[0].breaker is State.CLOSED

        await eventually(closed)


async def test_a_request_that_waits_to_be_asked_again_can_be_joined_and_canceled(home: Path, fakes: Fakes) -> None:
    settings(home, "retry_pause = '60s'")
    fakes.set(mode="flaky", failures="9")
    async with homes.local(home) as jobs:
        first = await jobs.llm.ask("claude", "hello", deadline=SECOND * 2)
        assert (first.deferred, first.answer.status, type(first.job.phase)) == (True, Status.RUNNING, Queued)
        joined = await jobs.llm.ask("claude", "hello", background=True)
        assert (joined.joined, joined.job.id) == (True, first.job.id)
        await jobs.kill(first.job.id)
        answer = await jobs.llm.answer(first.answer.correlation_id)
        assert (answer.status, answer.job.id) == (Status.CANCELED, first.job.id)
    assert len(fakes.started) == 1


async def test_what_was_canceled_is_not_asked_again_even_if_its_line_fails_just_then(
    home: Path, fakes: Fakes, gate: Gate
) -> None:
    settings(home, QUICK)
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", background=True)
        await jobs.kill(asked.job.id)
        assert (await jobs.llm.answer(asked.job.id)).status is Status.CANCELED
        assert len((await jobs.list()).jobs) == 1


async def test_a_retry_survives_the_death_of_the_daemon_and_happens_once(home: Path, fakes: Fakes) -> None:
    settings(home, "retry_pause = '0.5s'")
    fakes.set(mode="flaky")
    async with homes.remote(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", background=True, correlation_id="mine")

        async def waits() -> bool:
            return (await jobs.llm.answer("mine")).job.id != asked.job.id

        await eventually(waits)
        await homes.kill_daemon(home)
        answer = await jobs.llm.answer("mine")
        await end_of(jobs, answer.job.id)
        answer = await jobs.llm.answer(asked.job.id)
        assert (answer.status, answer.text) == (Status.COMPLETED, "you said: hello")
        assert len((await jobs.list(Filter(kind="claude"))).jobs) == 2
    assert len(fakes.started) == 2
