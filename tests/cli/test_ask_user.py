"""Questions from within a shell job."""

import shlex
import sys

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
