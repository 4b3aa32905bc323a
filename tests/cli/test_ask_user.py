"""Questions from within a shell job."""

import shlex
import sys
from typing import Any

import anyio
import pytest
from tests.cli.shell import Shell

from bide.api import Jobs
from bide.model.until import Until

ASK = f"{shlex.quote(sys.executable)} -P -m bide ask-user"


async def test_110_a_script_asks_its_job_waits_and_a_line_that_is_sent_answers_it(local: Jobs) -> None:
    script = f'echo "got $({ASK} "Which colour?" --select red --select blue)"'
    job = (await local.run(script, stdin=True, background=True)).job.id
    with anyio.fail_after(30):
        assert (await local.wait([job], until=Until(input=True))).met == "input"
        facts = (await local.get(job)).facts
        assert facts is not None
        assert facts.waiting == "Which colour? [red/blue] "
        await local.send(job, data=b"green\n")
        await local.wait([job], until=Until(log="'green' is not one of red, blue"))
        await local.send(job, data=b"blue\n")
        await local.wait([job])
    assert (await local.read(job)).data == b"got blue\n"


@pytest.mark.parametrize(
    ("options", "stdin", "out", "status"),
    [
        (("--boolean",), b"y\n", b"yes\n", 0),
        (("--boolean",), b"No\n", b"no\n", 1),
        (("--boolean", "--default", "yes"), b"\n", b"yes\n", 0),
        (("--boolean",), b"maybe\nyes\n", b"yes\n", 0),
        (("--boolean",), b"", b"", 1),
        (("--boolean", "--nobody", "auto"), b"", b"yes\n", 0),
        (("--boolean", "--default", "n", "--nobody", "auto"), b"", b"no\n", 1),
        (("--select", "a", "--select", "b", "--nobody", "auto"), b"", b"a\n", 0),
        (("--select", "a", "--select", "b", "--nobody", "defaults"), b"", b"", 1),
        (("--default", "me", "--nobody", "defaults"), b"", b"me\n", 0),
        (("--nobody", "auto"), b"", b"", 1),
        ((), b"any text\n", b"any text\n", 0),
    ],
)
def test_145_an_answer_has_to_fit_and_without_one_the_policy_holds(
    bide: Shell, options: tuple[str, ...], stdin: bytes, out: bytes, status: int
) -> None:
    done = bide("ask-user", "Which?", *options, stdin=stdin)
    assert (done.stdout, done.returncode) == (out, status)


def test_a_default_that_is_no_answer_is_refused(bide: Shell) -> None:
    done = bide("ask-user", "Which?", "--select", "a", "--default", "b")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--default must be one of a, not 'b'" in done.stderr


def asks(bide: Shell, *words: str, job_options: tuple[str, ...] = ()) -> tuple[str, dict[str, Any]]:
    """A job that asks this, and its question."""
    job = bide.background(f"{ASK} {' '.join(map(shlex.quote, words))} > answer; echo $? >> answer", *job_options)
    assert bide("wait", "--timeout", "20s", "--until-input", job).returncode == 0
    (question,) = bide.json("questions", "--job", job)["questions"]
    return job, question


def answered(bide: Shell, job: str) -> str:
    assert bide("wait", "--timeout", "20s", job).returncode == 0
    return (bide.folder / "answer").read_text()


def test_110_a_job_without_stdin_asks_is_shown_as_waiting_and_is_answered(bide: Shell) -> None:
    job, question = asks(bide, "Which colour?", "--select", "red", "--select", "blue")
    assert "waiting" in bide.out("ls")
    assert f"Which colour? [red/blue]  (answer: bide answer {question['id']} VALUE)" in bide.out("show", job)
    assert bide.json("show", job)["waiting"] == {"prompt": "Which colour?", "question": question}
    assert "Which colour? [red/blue]" in bide.out("questions")
    wrong = bide("answer", job, "green")
    assert wrong.returncode == 2
    assert b"must be one of red, blue, not 'green'" in wrong.stderr
    assert bide.out("answer", job, "blue") == f"answered: {job}\n"
    assert answered(bide, job) == "blue\n0\n"
    again = bide("answer", question["id"], "red")
    assert (again.returncode, b"is closed: it was answered by user" in again.stderr) == (98, True)


def test_145_what_is_for_people_needs_a_terminal_and_a_secret_is_typed_unseen(bide: Shell) -> None:
    job, question = asks(bide, "Password:", "--secret")
    for words in (("answer", job, "guess"), ("answer", job)):
        refused = bide(*words, stdin=b"guess\n")
        assert refused.returncode == 2, refused
    with bide.terminal("answer", question["id"]) as terminal:
        terminal.until(b"Password: ")
        terminal.type(b"s3cret\n")
        assert terminal.end() == 0
        assert b"s3cret" not in terminal.seen
    assert answered(bide, job) == "s3cret\n0\n"
    assert "s3cret" not in bide.out("show", "--json", job) + bide.out("questions", "--json")


def test_122_a_denied_question_fails_the_script_and_one_without_an_answer_in_time_as_well(bide: Shell) -> None:
    job, _ = asks(bide, "Deploy?", "--boolean")
    assert bide.out("answer", "--deny", job) == f"denied: {job}\n"
    assert answered(bide, job) == "1\n"
    late = bide.background(f"{ASK} Deploy? --boolean --timeout 10ms")
    assert bide("wait", "--timeout", "20s", late).returncode == 1
    assert b"the question is denied: nobody answered in time" in bide("logs", "--stream", "err", late).stderr


def test_a_run_in_the_foreground_puts_the_question_to_whoever_is_at_the_terminal(bide: Shell) -> None:
    with bide.terminal("run", "-c", f"echo got $({ASK} Deploy? --boolean --exclusive)") as terminal:
        terminal.until(b"Deploy? [yes/no] ")
        terminal.type(b"perhaps\n")
        terminal.until(b"say yes or no, not 'perhaps'")
        terminal.type(b"y\n")
        terminal.until(b"got yes")
        assert terminal.end() == 0
