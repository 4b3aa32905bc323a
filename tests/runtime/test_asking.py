"""A job that waits for input is reported as waiting, with its prompt, from what the kernel says."""

import sys
from datetime import timedelta

import anyio
import pytest
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, eventually

from bide import Job, Until
from bide.api import Jobs

MOMENT = timedelta(seconds=1)

PYTHON = [sys.executable, "-c", "input('Name? ')"]
SELECTS = [sys.executable, "-c", "import select, sys; print('Name? ', end='', flush=True); select.select([0], [], [])"]
POLLS = [
    sys.executable,
    "-c",
    "import select; p = select.poll(); p.register(0, select.POLLIN); print('Name? ', end='', flush=True); p.poll()",
]
BASH = ["bash", "-c", "read -r -p 'Name? ' name"]
PRINTF = ["bash", "-c", "printf 'Name? '; head -n 1 > /dev/null"]
CHILD = ["bash", "-c", "printf 'Name? '; (cat > /dev/null)"]


def prompt(job: Job) -> str | None:
    assert job.facts is not None
    return job.facts.waiting


@pytest.mark.parametrize(
    "command", [PYTHON, SELECTS, POLLS, PRINTF, CHILD], ids=["input", "select", "poll", "head", "child"]
)
async def test_a_program_blocked_on_its_stdin_is_waiting(local: Jobs, command: list[str]) -> None:
    job = (await local.run(command, stdin=True, background=True)).job.id
    waited = await local.wait([job], until=Until(input=True), timeout=LONG)
    assert waited.met == "input"
    assert prompt(waited.jobs[0]) == "Name? "
    assert prompt(await local.get(job)) == "Name? "


@pytest.mark.parametrize("command", [PYTHON, SELECTS, BASH, CHILD], ids=["input", "select", "bash", "child"])
async def test_a_program_blocked_on_its_terminal_is_waiting(local: Jobs, command: list[str]) -> None:
    job = (await local.run(command, pty=True, background=True)).job.id
    waited = await local.wait([job], until=Until(input=True), timeout=LONG)
    assert waited.met == "input"
    assert prompt(waited.jobs[0]) == "Name? "


async def test_a_prompt_on_stderr_is_found(local: Jobs) -> None:
    job = (await local.run("echo working; printf 'Password: ' >&2; cat", stdin=True, background=True)).job.id
    waited = await local.wait([job], until=Until(input=True), timeout=LONG)
    assert prompt(waited.jobs[0]) == "Password: "


async def test_146_prompts_that_stand_on_one_line_since_no_input_is_shown_are_one(local: Jobs) -> None:
    job = (await local.run([sys.executable, "-i", "-q"], stdin=True, background=True)).job.id
    for at in range(3):
        waited = await local.wait(
            [job], until=Until(prompt=tuple(f"{job}:input:{4 * n}" for n in range(at))), timeout=LONG
        )
        assert prompt(waited.jobs[0]) == ">>> "
        await local.send(job, data=b"1+1\n")
    await local.kill(job)


async def test_a_program_that_asks_for_nothing_in_words_is_waiting_all_the_same(local: Jobs) -> None:
    job = (await local.run("cat", stdin=True, background=True)).job.id
    waited = await local.wait([job], until=Until(input=True), timeout=LONG)
    assert waited.met == "input"
    assert prompt(waited.jobs[0]) == ""


@pytest.mark.parametrize("pty", [False, True], ids=["stdin", "terminal"])
async def test_an_answer_ends_the_waiting_and_the_next_question_is_a_new_one(jobs: Jobs, gate: Gate, pty: bool) -> None:
    script = f"printf 'One? '; head -n 1 >/dev/null; echo; {gate.wait}; printf 'Two? '; head -n 1 >/dev/null"
    job = (await jobs.run(script, stdin=not pty, pty=pty, background=True)).job.id
    waited = await jobs.wait([job], until=Until(input=True), timeout=LONG)
    assert prompt(waited.jobs[0]) == "One? "

    await jobs.send(job, data=b"1\n")

    async def answered() -> bool:
        return prompt(await jobs.get(job)) is None

    await eventually(answered)
    gate.open()
    waited = await jobs.wait([job], until=Until(input=True), timeout=LONG)
    assert prompt(waited.jobs[0]) == "Two? "
    await jobs.send(job, data=b"2\n")
    await end_of(jobs, job)


async def test_an_answer_wakes_who_waits_for_the_end_of_the_waiting(local: Jobs, gate: Gate) -> None:
    job = (await local.run(f"head -n 1 >/dev/null; {gate.wait}", stdin=True, background=True)).job.id
    await local.wait([job], until=Until(input=True), timeout=LONG)
    met: list[str] = []

    async def wait() -> None:
        met.append((await local.wait([job], until=Until(input=False), timeout=MOMENT)).met)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await local.send(job, data=b"1\n")
    assert met == ["input"]


@pytest.mark.parametrize("command", ["sleep 1000", "echo 'Name? '; sleep 1000", "while :; do :; done"])
@pytest.mark.parametrize("pty", [False, True], ids=["stdin", "terminal"])
async def test_a_job_that_does_something_else_is_not_waiting(local: Jobs, command: str, pty: bool) -> None:
    job = (await local.run(command, stdin=not pty, pty=pty, background=True)).job.id
    waited = await local.wait([job], until=Until(input=True), timeout=MOMENT)
    assert waited.timed_out
    assert prompt(waited.jobs[0]) is None


async def test_a_job_without_an_input_is_never_waiting(local: Jobs, gate: Gate) -> None:
    job = (await local.run(f"printf 'Name? '; {gate.wait}", background=True)).job.id
    waited = await local.wait([job], until=Until(input=True), timeout=MOMENT)
    assert waited.timed_out


async def test_a_server_that_also_reads_its_stdin_is_not_waiting(local: Jobs) -> None:
    """It polls something else as well, so nobody knows that it wants input."""
    program = "import select, socket; s = socket.create_server(('127.0.0.1', 0)); select.select([0, s], [], [])"
    job = (await local.run([sys.executable, "-c", program], stdin=True, background=True)).job.id
    waited = await local.wait([job], until=Until(input=True), timeout=MOMENT)
    assert waited.timed_out


async def test_the_end_ends_a_wait_for_input(jobs: Jobs) -> None:
    job = (await jobs.run("exit 3", stdin=True, background=True)).job.id
    waited = await jobs.wait([job], until=Until(input=True), timeout=LONG)
    assert waited.met == "ended"
