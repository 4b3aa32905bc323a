"""Somebody answers a program that asks."""

import sys

from tests.support.patience import LONG, end_of

from bide import Until
from bide.api import Jobs

ASKS = "name = input('What is your name? '); print(f'Hello, {name}.')"


async def test_a_program_that_asks_is_reported_with_its_question_and_goes_on_when_answered(jobs: Jobs) -> None:
    job = (await jobs.run([sys.executable, "-c", ASKS], stdin=True, background=True)).job.id

    waited = await jobs.wait([job], until=Until(input=True), timeout=LONG)
    assert waited.met == "input"
    assert waited.jobs[0].facts is not None
    assert waited.jobs[0].facts.waiting == "What is your name? "

    await jobs.send(job, data=b"Ada\n")
    assert (await end_of(jobs, job)).end.exit_code == 0
    assert (await jobs.read(job)).data == b"What is your name? Hello, Ada.\n"


async def test_a_program_on_a_terminal_sees_one_and_is_answered_there(jobs: Jobs) -> None:
    program = f"import os; print(os.isatty(0), os.isatty(1), os.isatty(2)); {ASKS}"
    job = (await jobs.run([sys.executable, "-c", program], pty=True, background=True)).job.id

    waited = await jobs.wait([job], until=Until(input=True), timeout=LONG)
    assert waited.jobs[0].facts is not None
    assert waited.jobs[0].facts.waiting == "What is your name? "

    await jobs.send(job, data=b"Ada\n")
    assert (await end_of(jobs, job)).end.exit_code == 0
    output = (await jobs.read(job)).data
    assert output == b"True True True\r\nWhat is your name? Ada\r\nHello, Ada.\r\n"


async def test_a_filter_is_fed_and_closed(jobs: Jobs) -> None:
    job = (await jobs.run("sort", stdin=True, background=True)).job.id

    await jobs.send(job, data=b"b\n")
    await jobs.send(job, data=b"a\n", eof=True)

    assert (await end_of(jobs, job)).end.success
    assert (await jobs.read(job)).data == b"a\nb\n"
