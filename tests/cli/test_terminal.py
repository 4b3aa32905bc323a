"""On a terminal: safe output, the question at Ctrl-C, the status line, the fitted list."""

from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.support.patience import eventually

from bide.cli.table import cells


@pytest.fixture
def held(tmp_path: Path) -> str:
    """A script that is ready at once and goes on until the test says so."""
    return f"echo ready; until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo over; exit 4"


def test_output_cannot_inject_escape_sequences(bide: Shell) -> None:
    with bide.terminal("run", "-c", r"printf '\033[31mred\033[0m\033]0;evil\007\033[2Jdone\n'") as terminal:
        assert terminal.end() == 0
    assert b"\x1b[31mred\x1b[0mdone" in terminal.seen
    assert b"evil" not in terminal.seen
    assert b"\x1b[2J" not in terminal.seen


def test_raw_output_is_passed_through_if_asked_for(bide: Shell) -> None:
    with bide.terminal("run", "--raw", "-c", r"printf '\033[2Jdone\n'") as terminal:
        assert terminal.end() == 0
    assert b"\x1b[2Jdone" in terminal.seen


def test_logs_are_safe_on_a_terminal_as_well(bide: Shell) -> None:
    job = bide.background(r"printf '\033]52;c;ZXZpbA==\007safe\n'; printf '\033[2Jalso\n' >&2")
    bide("wait", job)
    for words in (("logs", job), ("logs", "-f", job), ("logs", "--grep", "a", job)):
        with bide.terminal(*words) as terminal:
            assert terminal.end() == 0
        assert b"safe" in terminal.seen
        assert b"also" in terminal.seen
        assert b"\x1b" not in terminal.seen


def test_ctrl_c_asks_and_enter_goes_on(bide: Shell, held: str, tmp_path: Path) -> None:
    with bide.terminal("run", "-c", held) as terminal:
        terminal.until(b"ready")
        terminal.interrupt()
        terminal.until(b"is running: [d]etach, [k]ill, or Enter to go on? ")
        terminal.type(b"\n")
        (tmp_path / "go").touch()
        terminal.until(b"over")
        assert terminal.end() == 4
    assert terminal.seen.count(b"[d]etach") == 1


def test_ctrl_c_and_d_detaches(bide: Shell, held: str, tmp_path: Path) -> None:
    with bide.terminal("run", "--name", "detached", "-c", held) as terminal:
        terminal.until(b"ready")
        terminal.interrupt()
        terminal.until(b"go on? ")
        terminal.type(b"d\n")
        assert terminal.end() == 130
    assert b"goes on; come back with: bide wait j" in terminal.seen
    (tmp_path / "go").touch()
    assert bide("wait", "detached").returncode == 4


def test_ctrl_c_twice_detaches(bide: Shell, held: str, tmp_path: Path) -> None:
    with bide.terminal("run", "--name", "twice", "-c", held) as terminal:
        terminal.until(b"ready")
        terminal.interrupt()
        terminal.until(b"go on? ")
        terminal.interrupt()
        assert terminal.end() == 130
    (tmp_path / "go").touch()
    assert bide("wait", "twice").returncode == 4


def test_ctrl_c_and_k_kills(bide: Shell, held: str) -> None:
    with bide.terminal("run", "-c", held) as terminal:
        terminal.until(b"ready")
        terminal.interrupt()
        terminal.until(b"go on? ")
        terminal.type(b"k\n")
        assert terminal.end() == 143
    assert b"was killed by user" in terminal.seen


def test_the_end_of_input_at_the_question_detaches(bide: Shell, held: str, tmp_path: Path) -> None:
    with bide.terminal("run", "--name", "input-ended", "-c", held) as terminal:
        terminal.until(b"ready")
        terminal.interrupt()
        terminal.until(b"go on? ")
        terminal.type(b"\x04")
        assert terminal.end() == 130
    (tmp_path / "go").touch()
    assert bide("wait", "input-ended").returncode == 4


def test_what_is_typed_goes_to_the_job(bide: Shell) -> None:
    with bide.terminal("run", "--stdin", "-c", "echo ready; read x; echo got $x") as terminal:
        terminal.until(b"ready")
        terminal.type(b"something\n")
        terminal.until(b"got something")
        assert terminal.end() == 0


async def test_a_password_typed_to_the_terminal_of_a_job_is_not_shown(bide: Shell) -> None:
    script = "stty -echo; echo ready; read x; stty echo; echo; echo ${#x} letters; read y"
    with bide.terminal("run", "--stdin", "--pty", "-c", script) as terminal:
        terminal.until(b"ready")
        terminal.type(b"open sesame\n")
        terminal.until(b"11 letters")
        terminal.interrupt()
        terminal.until(b"go on? ")
        assert terminal.echoes, "an answer to bide itself is shown"
        terminal.type(b"\n")
        await eventually(lambda: not terminal.echoes)
        terminal.type(b"visible\n")
        assert terminal.end() == 0
        assert terminal.echoes
    assert b"sesame" not in terminal.seen
    assert terminal.seen.count(b"visible") == 1


def test_a_job_that_asks_is_told_how_to_answer(bide: Shell) -> None:
    with bide.terminal("run", "--pty", "--name", "asks", "-c", "printf 'Sure? '; read x; echo got $x") as terminal:
        terminal.until(b"waits for input; answer it with: bide send j")
        assert b"Sure? \r\nbide: job " in terminal.seen, "what bide says begins a line of its own"
        bide("send", "asks", "yes")
        terminal.until(b"got yes")
        assert terminal.end() == 0


def test_a_wait_shows_time_and_the_last_line_and_clears_them(bide: Shell, held: str, tmp_path: Path) -> None:
    job = bide.background(held, "--name", "watched")
    with bide.terminal("wait", job) as terminal:
        terminal.until(f"{job} (watched) running ".encode())
        terminal.until(b"ready")
        (tmp_path / "go").touch()
        assert terminal.end() == 4
    status, _, rest = terminal.seen.rpartition(b"\r\x1b[K")
    assert b"ready" in status
    assert f"{job} (watched) exited with 4".encode() in rest
    assert b"ready" not in rest


def test_a_wait_for_several_says_how_many_are_left(bide: Shell, held: str, tmp_path: Path) -> None:
    jobs = [bide.background(held), bide.background(held)]
    with bide.terminal("wait", *jobs) as terminal:
        terminal.until(b" and 1 more running ")
        (tmp_path / "go").touch()
        assert terminal.end() == 4


def test_wide_characters_do_not_make_the_status_line_longer_than_the_terminal(
    bide: Shell, held: str, tmp_path: Path
) -> None:
    job = bide.background(f"echo {'語' * 60}; {held.partition(';')[2]}")
    with bide.terminal("wait", job) as terminal:
        terminal.until("語…".encode())
        (tmp_path / "go").touch()
        assert terminal.end() == 4
    shown = terminal.seen.decode().rpartition("…")[0].rpartition("\x1b[K")[2]
    assert cells(shown) in (75, 76), "80 columns, less room for an echoed ^C and the ellipsis"


def test_colours_do_not_outlast_a_run_that_was_left(bide: Shell, held: str, tmp_path: Path) -> None:
    with bide.terminal("run", "--name", "red", "-c", rf"printf '\033[31m'; {held}") as terminal:
        terminal.until(b"ready")
        terminal.interrupt()
        terminal.until(b"go on? ")
        terminal.type(b"d\n")
        assert terminal.end() == 130
    assert b"\x1b[0m" in terminal.seen.partition(b"go on? ")[2]
    with bide.terminal("logs", "-f", "red") as terminal:
        terminal.until(b"ready")
        terminal.interrupt()
        assert terminal.end() == 130
    assert terminal.seen.endswith(b"\x1b[0m\r\n"), "and the shell's prompt has a line of its own"
    (tmp_path / "go").touch()
    bide("wait", "red")


def test_the_list_fits_and_has_colours(bide: Shell) -> None:
    job = bide.background(f"true {'x' * 300}")
    bide("wait", job)
    with bide.terminal("ls", columns=70) as terminal:
        assert terminal.end() == 0
    line = next(line for line in terminal.seen.decode().splitlines() if line.startswith(job))
    assert "\x1b[32mexit 0" in line
    assert line.endswith("x…")
    visible = line
    for code in ("\x1b[32m", "\x1b[2m", "\x1b[0m"):
        visible = visible.replace(code, "")
    assert len(visible) == 70


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_refused(bide: Shell, name: str, value: str) -> None:
    bide("run", "--", "true")
    bide.env[name] = value
    with bide.terminal("ls") as terminal:
        assert terminal.end() == 0
    assert b"\x1b" not in terminal.seen


def test_json_is_indented_on_a_terminal(bide: Shell) -> None:
    with bide.terminal("version", "--json") as terminal:
        assert terminal.end() == 0
    assert b'{\r\n  "version"' in terminal.seen
