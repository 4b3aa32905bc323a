"""What programs ask with a prompt of their own: seen as a question, answered by a line, once."""

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from tests.support import homes
from tests.support.gates import Gate

import bide
from bide.api import Jobs
from bide.model.errors import BadRequest, QuestionClosed
from bide.model.phase import Running
from bide.model.question import Posed, Question, State, Via
from bide.model.until import Until

READ = 'printf "Go on? "; read -r line; echo "got $line"'
HIDDEN = f"{shlex.quote(sys.executable)} -c 'import getpass; print(len(getpass.getpass(\"Say it: \")))'"


async def prompted(jobs: Jobs, command: str = READ, *, pty: bool = False) -> Posed:
    job = (await jobs.run(command, background=True, stdin=not pty, pty=pty)).job.id
    with anyio.fail_after(20):
        await jobs.wait([job], until=Until(input=True))
    (posed,) = await jobs.questions.list()
    return posed


async def over(jobs: Jobs, posed: Posed) -> bytes:
    with anyio.fail_after(20):
        await jobs.wait([posed.job])
    return (await jobs.read(posed.job)).data


@pytest.mark.parametrize("pty", [False, True])
async def test_a_prompt_is_a_question_and_a_line_answers_it_once(jobs: Jobs, pty: bool) -> None:
    posed = await prompted(jobs, pty=pty)
    assert (posed.question, posed.typed_at) == (Question("Go on?"), 0)
    assert await jobs.questions.get(posed.job) == await jobs.questions.get(posed.id) == posed
    assert (await jobs.questions.answer(posed.id, "yes", key="k")).state is State.ANSWERED
    assert b"got yes" in await over(jobs, posed)


async def test_what_was_typed_meanwhile_closes_it_and_the_same_answer_is_not_typed_again(local: Jobs) -> None:
    posed = await prompted(local, f"{READ}; read -r line; echo then $line")
    await local.questions.answer(posed.id, "yes", key="k")
    assert (await local.questions.answer(posed.id, "yes", key="k")).state is State.ANSWERED
    with pytest.raises(QuestionClosed):
        await local.questions.answer(posed.id, "no", key="other")
    await local.send(posed.job, data=b"end\n")
    assert await over(local, posed) == b"Go on? got yes\nthen end\n"


async def test_to_deny_a_prompt_ends_the_input(local: Jobs) -> None:
    posed = await prompted(local, f"{READ} || echo none")
    assert (await local.questions.answer(posed.id, None)).state is State.DENIED
    assert await over(local, posed) == b"Go on? got \n"


@pytest.mark.parametrize(("command", "pty"), [('printf "Password: "; read -r line', False), (HIDDEN, True)])
async def test_145_a_password_is_typed_by_a_person_alone(local: Jobs, command: str, pty: bool) -> None:
    posed = await prompted(local, command, pty=pty)
    assert posed.question.secret
    for via in (Via.ASSISTANT, Via.CLIENT):
        with pytest.raises(BadRequest, match="a person"):
            await local.questions.answer(posed.id, "guess", via=via)
    await local.questions.answer(posed.id, "s3cret", via=Via.PERSON)
    assert b"s3cret" not in await over(local, posed)


async def test_141_a_command_that_is_configured_for_prompts_answers_them(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("""[questions]\nprompts = true\ncommand = 'echo "\\"of course\\""'\n""")
    async with homes.local(home) as jobs:
        job = (await jobs.run(READ, background=True, stdin=True)).job.id
        with anyio.fail_after(20):
            await jobs.wait([job])
        assert (await jobs.read(job)).data == b"Go on? got of course\n"


async def test_the_answer_to_a_secret_that_was_lost_with_a_runtime_is_asked_for_again(home: Path, gate: Gate) -> None:
    async with bide.local(home) as jobs:
        job = (await jobs.run(gate.wait, background=True)).job.id
        posed = await jobs.questions.pose(job, Question("Password:", secret=True))
        await jobs.questions.answer(posed.id, "lost", via=Via.PERSON)
    found: list[Posed] = []
    async with homes.local(home) as jobs:

        async def wait() -> None:
            found.append(await jobs.questions.wait(posed.id))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                assert (await jobs.wait([job], until=Until(question=()))).met == "question"
                await jobs.questions.answer(posed.id, "s3cret", via=Via.PERSON)
    assert [one.value for one in found] == ["s3cret"]


async def test_a_job_that_wrote_nothing_asks_since_its_start(jobs: Jobs) -> None:
    posed = await prompted(jobs, "read -r line; read -r line")
    job = await jobs.get(posed.job)
    assert isinstance(job.phase, Running)
    assert posed.posed_at >= job.phase.started_at
    assert posed.posed_at <= datetime.now(UTC)
    await jobs.kill(posed.job)
