"""`bide web`: an address for a person, and for nobody else."""

import json
import shlex
import sys

from tests.cli.shell import Shell
from tests.support.visitor import Visitor


def test_145_at_a_terminal_the_address_of_the_page_is_given(bide: Shell) -> None:
    with bide.terminal("web", columns=200) as terminal:
        assert terminal.end() == 0
    one = Visitor(terminal.seen.decode().strip())
    assert one.sign_in().status == 303
    assert "What jobs ask" in one.look().text
    with bide.terminal("web", "--json", columns=200) as terminal:
        assert terminal.end() == 0
    assert Visitor(json.loads(terminal.seen)["url"]).sign_in().status == 303


def test_145_a_script_and_a_job_get_no_address_not_even_on_a_terminal(bide: Shell) -> None:
    piped = bide("web")
    assert (piped.returncode, piped.stdout) == (2, b"")
    assert b"its address is given at a terminal, outside of any job" in piped.stderr
    script = f"{shlex.quote(sys.executable)} -P -m bide web > said 2>&1; echo $? >> said"
    job = bide.background(script, "--pty")
    assert bide("wait", "--timeout", "20s", job).returncode == 0
    said = (bide.folder / "said").read_text()
    assert "its address is given at a terminal" in said
    assert said.endswith("\n2\n")
