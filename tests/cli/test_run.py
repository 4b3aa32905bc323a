"""A run in the foreground and in the background, in a pipe."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.shell import BIDE, PATIENCE, Shell
from tests.support.gates import Gate


def test_output_passes_through_and_the_status_is_the_jobs(bide: Shell) -> None:
    done = bide("run", "-c", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


def test_every_byte_arrives_as_it_was_written(bide: Shell, tmp_path: Path) -> None:
    data = os.urandom(300_000) + bytes(range(256)) + b"\x1b]0;title\x07no newline"
    (tmp_path / "data").write_bytes(data)
    done = bide("run", "-c", "cat data; cat data >&2")
    assert done.returncode == 0
    assert done.stdout == data
    assert done.stderr == data


def test_words_are_given_to_the_program_as_they_are(bide: Shell) -> None:
    done = bide("run", "--", "printf", "%s|", "a b", "$HOME", "--json", "--", "")
    assert done.stdout == b"a b|$HOME|--json|--||"


def test_words_and_variables_need_not_be_text(bide: Shell) -> None:
    word = os.fsdecode(b"\xff\xfe \x1b")
    assert bide("run", "--", "printf", "%s", word).stdout == os.fsencode(word)
    assert bide("run", "-c", 'printf %s "$ODD"', ODD=word).stdout == os.fsencode(word)


def test_a_command_line_can_be_as_long_as_the_system_allows(bide: Shell) -> None:
    assert bide("run", "--", "printf", "%s", "x" * 131_000).stdout == b"x" * 131_000


def test_the_sign_before_the_command_can_be_left_out(bide: Shell) -> None:
    assert bide("run", "echo", "-n", "--bg", "--", "x").stdout == b"--bg -- x"


def test_folder_environment_and_umask_are_the_callers(bide: Shell, tmp_path: Path) -> None:
    done = bide("run", "-c", "pwd; echo $COLOUR; umask", COLOUR="blue")
    assert done.stdout.split() == [str(tmp_path).encode(), b"blue", b"0022"]


def test_folder_and_environment_can_be_given(bide: Shell, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    done = bide("run", "--cwd", "sub", "--env", "A=1", "--env", "B=x=y", "-c", "pwd; echo $A $B")
    assert done.stdout == f"{tmp_path}/sub\n1 x=y\n".encode()


def test_defaults_for_unattended_runs_can_be_left_out(bide: Shell) -> None:
    assert bide("run", "-c", "echo $PAGER", PAGER="less").stdout == b"cat\n"
    assert bide("run", "--no-env-defaults", "-c", "echo $PAGER", PAGER="less").stdout == b"less\n"


def test_stdin_is_empty_unless_it_is_asked_for(bide: Shell) -> None:
    assert bide("run", "--", "cat", stdin=b"hello").stdout == b""


def test_stdin_is_copied_to_the_job_to_its_last_byte(bide: Shell) -> None:
    data = os.urandom(400_000)
    assert bide("run", "--stdin", "--", "cat", stdin=data).stdout == data


def test_a_job_that_ends_before_its_stdin_does_is_no_trouble(bide: Shell) -> None:
    done = bide("run", "--stdin", "-c", "head -c 3", stdin=b"abc" + b"x" * 500_000)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"abc", b"")


def test_output_comes_while_input_is_still_open(bide: Shell) -> None:
    with bide.started("run", "--stdin", "-c", "echo ready; cat") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"one\n"
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--timeout", "200ms", "-c", "sleep 60"), 124, b"timed out after 200ms"),
        (("--idle", "200ms", "-c", "sleep 60"), 125, b"was ended after 200ms without output"),
        (("--output-cap", "64K", "--on-output-cap", "kill", "-c", "yes"), 126, b"wrote more than 64 KiB"),
        (("-c", "kill -SEGV $$"), 139, b"was ended by SIGSEGV"),
        (("--", "no-such-program"), 127, b"could not start: "),
        (("--", "/etc/passwd"), 126, b"could not start: "),
    ],
)
def test_an_end_that_is_not_an_exit_is_said_in_one_line(
    bide: Shell, words: tuple[str, ...], status: int, sentence: bytes
) -> None:
    done = bide("run", *words)
    assert done.returncode == status
    assert done.stderr.startswith(b"bide: job j")
    assert sentence in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_past_the_deadline_the_job_goes_on_and_the_way_back_is_said(bide: Shell, gate: Gate) -> None:
    done = bide("run", "--deadline", "1s", "-c", f"echo begun; {gate.wait}; exit 4")
    assert done.returncode == 75
    assert done.stdout == b"begun\n"
    way_back = done.stderr.decode().partition("come back with: bide ")[2].partition(",")[0]
    gate.open()
    assert bide(*way_back.split()).returncode == 4


def test_in_json_the_answer_comes_at_the_end(bide: Shell) -> None:
    done = bide("run", "--json", "-c", "echo out; echo err >&2; exit 5")
    answer = json.loads(done.stdout)
    assert done.returncode == 5
    assert done.stderr == b""
    assert answer["out"]["text"] == "out\n"
    assert answer["err"]["text"] == "err\n"
    assert answer["job"]["exit_code"] == 5
    assert not answer["deferred"]


def test_in_json_a_deadline_defers(bide: Shell) -> None:
    done = bide("run", "--json", "--deadline", "100ms", "-c", "sleep 0.5")
    answer = json.loads(done.stdout)
    assert done.returncode == 75
    assert answer["deferred"]
    assert bide("wait", answer["job"]["id"]).returncode == 0


def test_in_the_background_only_the_id_is_printed(bide: Shell) -> None:
    done = bide("run", "--bg", "-c", "exit 3")
    assert done.returncode == 0
    assert done.stderr == b""
    assert bide("wait", done.stdout.decode().strip()).returncode == 3


def test_in_the_background_json_has_the_job(bide: Shell) -> None:
    answer = bide.json("run", "--bg", "--label", "some words", "--owner", "me", "-c", "true")
    assert answer["job"]["label"] == "some words"
    assert answer["job"]["owner"] == "me"


def test_a_program_that_is_not_there_is_told_in_the_background_too(bide: Shell) -> None:
    done = bide("run", "--bg", "--", "no-such-program")
    assert (done.returncode, done.stdout) == (127, b"")
    assert b"could not start" in done.stderr


def test_the_owner_can_come_from_the_environment(bide: Shell) -> None:
    done = bide("run", "--json", "--", "true", BIDE_OWNER="agent-7")
    assert json.loads(done.stdout)["job"]["owner"] == "agent-7"


def test_the_same_key_gives_the_same_job(bide: Shell) -> None:
    words = ("run", "--key", f"key of {bide.folder.name}", "-c", "echo $$")
    first, second = bide(*words), bide(*words)
    assert first.stdout
    assert first.stdout == second.stdout


def test_stderr_can_be_merged_into_stdout(bide: Shell) -> None:
    done = bide("run", "--merge", "-c", "echo a; echo b >&2; echo c")
    assert (done.stdout, done.stderr) == (b"a\nb\nc\n", b"")


def test_a_job_can_have_a_terminal(bide: Shell) -> None:
    done = bide("run", "--pty", "-c", "test -t 0 && test -t 1 && echo terminal")
    assert done.stdout == b"terminal\r\n"


def test_an_interrupt_without_a_terminal_detaches(bide: Shell) -> None:
    with bide.started("run", "-c", "echo ready; sleep 0.5; exit 6") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
        assert process.wait() == 130
    assert "detached; job j" in said
    job = said.partition("bide wait ")[2].partition(",")[0]
    assert bide("wait", job).returncode == 6


def test_an_interrupt_in_json_gives_the_job_all_the_same(bide: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "running")
    with bide.started("run", "--json", "-c", "echo yes > running; sleep 0.5; exit 7") as process:
        assert process.stdout is not None
        assert (tmp_path / "running").read_text() == "yes\n"
        process.send_signal(signal.SIGINT)
        answer = json.loads(process.stdout.read())
        assert process.wait() == 130
    assert answer["deferred"]
    assert bide("wait", answer["job"]["id"]).returncode == 7


def test_when_nobody_reads_the_output_the_job_goes_on(bide: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    with bide.started("run", "-c", f"echo first; sleep 0.2; echo second; cat '{tmp_path}/gate'; exit 8") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"first\n"
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait() == 141
    assert "nobody reads the output any more" in said
    job = said.partition("bide kill ")[2].strip()
    (tmp_path / "gate").write_text("go on\n")
    assert bide("wait", job).returncode == 8


def test_what_was_dropped_before_it_could_be_shown_is_said(bide: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "running")
    words = ("run", "--name", "dropping", "--output-cap", "256K", "-c", "echo yes > running; seq 1 3000000")
    with bide.started(*words) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert (tmp_path / "running").read_text() == "yes\n"
        assert bide("wait", "dropping").returncode == 0
        out = process.stdout.read()
        notes = process.stderr.read().decode()
        assert process.wait() == 0
    whole = "".join(f"{number}\n" for number in range(1, 3_000_001)).encode()
    cuts = [tuple(map(int, cut)) for cut in re.findall(r"\(from (\d+) to (\d+)\) were dropped", notes)]
    assert cuts
    for start, end in reversed(cuts):
        whole = whole[:start] + whole[end:]
    assert out == whole


def test_closed_standard_streams_are_no_trouble(alone: Shell) -> None:
    words = " ".join([*BIDE, "run", "-c", "'exit 9'", "<&-", ">&-", "2>&-"])
    done = subprocess.run(["sh", "-c", words], env=alone.env, cwd=alone.folder, timeout=PATIENCE, check=False)
    assert done.returncode == 9
