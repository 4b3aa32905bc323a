"""Code in a language: which there are, and what a job of each says of itself."""

import pytest
from tests.support.code import out, python
from tests.support.patience import ended

from bide import Filter
from bide.api import Jobs
from bide.kinds.python import CODE_MAX, RUNNER
from bide.model.errors import BadRequest


async def test_python_code_is_a_job_of_that_kind_and_its_command_is_the_code(jobs: Jobs) -> None:
    code = "x = 6\nprint(x * 7)"
    ran = await python(jobs, code)
    assert out(ran) == "42\n"
    assert (ran.job.spec.kind, ran.job.spec.command) == ("python", code)
    assert ran.job.spec.argv[1:] == (RUNNER, code)
    assert [job.id for job in (await jobs.list(Filter(kind="python"))).jobs] == [ran.job.id]


async def test_shell_code_is_run_by_bash_where_there_is_one(jobs: Jobs) -> None:
    ran = await jobs.run("a=(1 2 3); echo ${#a[@]}; exit 4", language="shell")
    assert (out(ran), ended(ran.job).end.exit_code) == ("3\n", 4)
    assert ran.job.spec.kind == "shell"
    assert ran.job.spec.argv == ("/bin/bash", "-c", ran.job.spec.command)


async def test_a_language_that_is_not_there_is_refused_and_the_known_ones_are_named(jobs: Jobs) -> None:
    with pytest.raises(BadRequest, match="there is no language 'cobol'; known are shell, python"):
        await jobs.run("DISPLAY 1.", language="cobol")
    assert (await jobs.list()).jobs == ()


async def test_code_is_one_text(jobs: Jobs) -> None:
    with pytest.raises(BadRequest, match="code is one text"):
        await jobs.run(["print(1)", "print(2)"], language="python")


async def test_code_longer_than_a_word_of_a_command_line_can_be_runs(jobs: Jobs) -> None:
    filling = "\n".join(f"x{number} = 'äöü {number}'" for number in range(12_000))
    assert len(filling.encode()) > 200_000
    assert out(await python(jobs, f"{filling}\nprint(x11999)")) == "äöü 11999\n"


async def test_code_that_no_interpreter_could_be_given_is_refused_with_what_to_do(jobs: Jobs) -> None:
    with pytest.raises(BadRequest, match=f"{CODE_MAX} can be handed to an interpreter; put it in a file"):
        await python(jobs, "#" * (CODE_MAX + 1))
    assert (await jobs.list()).jobs == ()
