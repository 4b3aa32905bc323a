"""What jobs ask, in process and over the socket: durable, answered once, by who may, and closed truthfully."""

import os
import subprocess
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.support import homes
from tests.support.gates import Gate

from bide.api import Filter, Jobs
from bide.model.errors import BadRequest, JobEnded, JobNotFound, QuestionClosed, QuestionNotFound
from bide.model.handles import state_of
from bide.model.question import Form, Policy, Posed, Question, State, Value, Via
from bide.model.until import Until
from bide.model.waiting import Mode

COLOUR = Question("Which colour?", Form.SELECT, ("red", "blue"))
DEPLOY = Question("Deploy?", Form.BOOLEAN, exclusive=True)
PASSWORD = Question("Password:", secret=True)
NOW = timedelta(0)


async def running(jobs: Jobs, gate: Gate, **options: object) -> str:
    return (await jobs.run(gate.wait, background=True, **options)).job.id  # pyright: ignore[reportArgumentType]


async def closed(jobs: Jobs, posed: Posed) -> Posed:
    with anyio.fail_after(20):
        return await jobs.questions.wait(posed.id)


async def test_110_a_job_that_asks_is_waiting_and_goes_on_with_the_answer(jobs: Jobs, gate: Gate) -> None:
    job = await running(jobs, gate, name="paint")
    posed = await jobs.questions.pose(job, COLOUR)
    asks = await jobs.get(job)
    assert asks.facts is not None
    assert (state_of(asks), asks.facts.waiting, asks.facts.question) == ("waiting", "Which colour?", posed)
    assert await jobs.questions.list() == (posed,)
    assert await jobs.questions.get("paint") == posed
    answered = await jobs.questions.answer(posed.id, "blue", by="me")
    assert (answered.state, answered.value, answered.via, answered.by) == ("answered", "blue", "assistant", "me")
    assert await closed(jobs, posed) == answered
    goes_on = await jobs.get(job)
    assert goes_on.facts is not None
    assert (goes_on.facts.waiting, goes_on.facts.question, await jobs.questions.list()) == (None, None, ())


async def test_122_a_job_that_asks_is_pending_to_whoever_waits(jobs: Jobs, gate: Gate) -> None:
    job = await running(jobs, gate)
    posed = await jobs.questions.pose(job, COLOUR)
    assert (await jobs.wait([job], timeout=NOW)).timed_out
    assert (await jobs.wait([job], until=Until(question=()))).met == "question"
    assert (await jobs.wait([job], mode=Mode.ANY, until=Until(question=(posed.id,)), timeout=NOW)).timed_out
    gate.open()
    with anyio.fail_after(20):
        assert (await jobs.wait([job])).met == "ended"


@pytest.mark.parametrize("value", ["green", True, ""])
async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(
    local: Jobs, gate: Gate, value: Value
) -> None:
    posed = await local.questions.pose(await running(local, gate), COLOUR)
    with pytest.raises(BadRequest, match=r"this is no answer to 'Which colour\?': it must be one of red, blue, not "):
        await local.questions.answer(posed.id, value)
    assert await local.questions.list() == (posed,)


async def test_of_many_answers_one_is_taken_and_said_again_it_is_the_same(jobs: Jobs, gate: Gate) -> None:
    posed = await jobs.questions.pose(await running(jobs, gate), COLOUR)
    won: list[str] = []
    refused: list[str] = []

    async def answer(by: str) -> None:
        try:
            await jobs.questions.answer(posed.id, "red", by=by, key=by)
            won.append(by)
        except QuestionClosed as error:
            refused.append(str(error))

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(answer, f"n{number}")
    (winner,) = won
    assert set(refused) == {
        f"question {posed.id} is closed: it was answered by {winner}; nothing more can be said to it"
    }
    assert (await jobs.questions.get(posed.id)).by == winner
    assert (await jobs.questions.answer(posed.id, "red", key=winner)).by == winner


async def test_asked_again_with_the_same_key_it_is_the_same_question(jobs: Jobs, gate: Gate) -> None:
    job = await running(jobs, gate)
    posed = await jobs.questions.pose(job, COLOUR, key="k")
    assert await jobs.questions.pose(job, COLOUR, key="k") == posed
    assert (await jobs.questions.pose(job, COLOUR, key="other")).id != posed.id
    assert len(await jobs.questions.list(job=job)) == 2


@pytest.mark.parametrize("via", [Via.ASSISTANT, Via.CLIENT, Via.PERSON])
async def test_145_what_is_for_people_is_answered_by_people_alone(local: Jobs, gate: Gate, via: Via) -> None:
    job = await running(local, gate)
    deploy = await local.questions.pose(job, DEPLOY)
    password = await local.questions.pose(job, PASSWORD)
    for posed, value in ((deploy, True), (password, "s3cret")):
        if via is Via.PERSON or (via is Via.CLIENT and posed is deploy):
            assert (await local.questions.answer(posed.id, value, via=via)).state is State.ANSWERED
        else:
            with pytest.raises(BadRequest, match="a person"):
                await local.questions.answer(posed.id, value, via=via)
            assert (await local.questions.get(posed.id)).state is State.OPEN


async def test_a_secret_reaches_whoever_asked_and_no_file(local: Jobs, gate: Gate, home: Path) -> None:
    posed = await local.questions.pose(await running(local, gate), PASSWORD)
    shown = await local.questions.answer(posed.id, "s3cret-word", via=Via.PERSON)
    assert (shown.value, (await local.questions.get(posed.id)).value) == (None, None)
    assert (await closed(local, posed)).value == "s3cret-word"
    files = [path for path in home.iterdir() if path.is_file()]
    assert [path.name for path in files if b"s3cret-word" in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("question", "policy", "state", "value"),
    [
        (COLOUR, Policy.DENY, State.DENIED, None),
        (COLOUR, Policy.DEFAULTS, State.DENIED, None),
        (COLOUR, Policy.AUTO, State.ANSWERED, "red"),
        (DEPLOY, Policy.AUTO, State.DENIED, None),
    ],
)
async def test_145_when_nobody_answered_in_time_the_policy_holds(
    local: Jobs, gate: Gate, question: Question, policy: Policy, state: State, value: str | None
) -> None:
    job = await running(local, gate)
    posed = await local.questions.pose(job, question, policy=policy, timeout=timedelta(milliseconds=1))
    found = await closed(local, posed)
    assert (found.state, found.value, found.via, found.why) == (state, value, "policy", "nobody answered in time")


async def test_145_where_nobody_is_asked_it_is_denied_at_once(home: Path, gate: Gate) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[questions]\nask = ['assistant']\n")
    async with homes.local(home) as jobs:
        posed = await jobs.questions.pose(await running(jobs, gate), DEPLOY)
        found = await closed(jobs, posed)
        assert (found.state, found.why) == ("denied", "nobody may answer it here")
        other = await jobs.questions.pose(posed.job, COLOUR)
        with pytest.raises(BadRequest, match=r"ask assistant \(questions.ask\), not the person"):
            await jobs.questions.answer(other.id, "red", via=Via.PERSON)


async def test_141_a_configured_command_answers_and_what_it_cannot_goes_to_the_others(home: Path, gate: Gate) -> None:
    home.mkdir()
    script = """grep -q 'Which colour' && echo '"blue"' || echo no"""
    (home / "config.toml").write_text(f"[questions]\ncommand = '''{script}'''\n")
    async with homes.local(home) as jobs:
        job = await running(jobs, gate)
        found = await closed(jobs, await jobs.questions.pose(job, COLOUR))
        assert (found.value, found.via) == ("blue", "command")
        name = await jobs.questions.pose(job, Question("Name?"))
        for_people = await jobs.questions.pose(job, Question("Which colour, person?", exclusive=True))
        with anyio.fail_after(20):
            # One for each question but the one that is for people.
            while len((await jobs.list(Filter(label="question", phase="ended"))).jobs) < 2:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert await jobs.questions.list() == (name, for_people)


async def test_122_a_question_is_withdrawn_when_its_job_ends_or_whoever_asked_dies(jobs: Jobs, gate: Gate) -> None:
    job = await running(jobs, gate)
    asker = subprocess.Popen(["sleep", "60"])  # noqa: ASYNC220 - it only has to be there
    left = await jobs.questions.pose(job, COLOUR, asker=asker.pid)
    stays = await jobs.questions.pose(job, COLOUR, asker=os.getpid())
    asker.kill()
    found = await closed(jobs, left)
    asker.wait()
    assert (found.state, found.why) == ("withdrawn", "whoever asked is gone")
    assert await jobs.questions.list() == (stays,)
    await jobs.kill(job)
    found = await closed(jobs, stays)
    assert (found.state, found.why, await jobs.questions.list()) == ("withdrawn", "its job ended", ())
    with pytest.raises(QuestionClosed, match="it was withdrawn"):
        await jobs.questions.answer(stays.id, "red")
    with pytest.raises(JobEnded):
        await jobs.questions.pose(job, COLOUR)


async def test_a_question_can_be_denied_and_withdrawn(jobs: Jobs, gate: Gate) -> None:
    job = await running(jobs, gate)
    denied = await jobs.questions.pose(job, COLOUR)
    assert (await jobs.questions.answer(denied.id, None, via=Via.PERSON, by="me")).state is State.DENIED
    gone = await jobs.questions.pose(job, COLOUR)
    assert (await jobs.questions.withdraw(gone.id)).state is State.WITHDRAWN
    assert (await jobs.questions.withdraw(denied.id)).state is State.DENIED


async def test_134_its_owner_is_told_of_a_question_until_it_is_answered(local: Jobs, gate: Gate) -> None:
    job = await running(local, gate)
    first = await local.questions.pose(job, COLOUR)
    secret = await local.questions.pose(job, PASSWORD)
    with anyio.fail_after(20):
        while len((message := await local.outbox.pull("user")).items) < 2:  # noqa: ASYNC110 - the rows follow
            await anyio.sleep(0.01)
    assert {item.id for item in message.items} == {f"{job}:waiting:{first.id}", f"{job}:waiting:{secret.id}"}
    assert f"bide answer {first.id} VALUE" in message.text
    assert "Which colour? [red/blue]" in message.text
    assert "Password" not in message.text
    await local.questions.answer(first.id, "red")
    assert [item.id for item in (await local.outbox.pull("user")).items] == [f"{job}:waiting:{secret.id}"]


async def test_what_cannot_be_meant_is_refused(jobs: Jobs, gate: Gate) -> None:
    job = await running(jobs, gate)
    with pytest.raises(QuestionNotFound):
        await jobs.questions.get(job)
    with pytest.raises(QuestionNotFound):
        await jobs.questions.answer("q0000000000", "x")
    with pytest.raises(JobNotFound):
        await jobs.questions.answer("nothing", "x")
    with pytest.raises(BadRequest, match="stays open for some time"):
        await jobs.questions.pose(job, COLOUR, timeout=timedelta(seconds=-1))
    with pytest.raises(BadRequest, match="there is no process"):
        await jobs.questions.pose(job, COLOUR, asker=2**30)


async def test_a_forgotten_job_takes_its_questions_with_it(local: Jobs, gate: Gate) -> None:
    job = await running(local, gate)
    posed = await local.questions.pose(job, COLOUR)
    await local.kill(job)
    await local.forget(job)
    with pytest.raises(QuestionNotFound):
        await local.questions.get(posed.id)


async def test_open_questions_are_kept_in_a_database_that_was_made_anew(local: Jobs, gate: Gate, home: Path) -> None:
    posed = await local.questions.pose(await running(local, gate), COLOUR, key="k")
    for path in home.glob("bide.db*"):
        path.unlink()
    await local.list()
    assert await local.questions.pose(posed.job, COLOUR, key="k") == posed
    assert (await local.questions.answer(posed.id, "red")).value == "red"
