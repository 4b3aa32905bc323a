"""What goes wrong: one sentence, one code, one status."""

import json
from pathlib import Path

import pytest
from tests.cli.shell import Shell

from bide.cli.exits import STATUS_OF_CODE
from bide.cli.main import COMMANDS, main
from bide.model.errors import ERRORS


def test_every_error_has_a_status() -> None:
    assert set(STATUS_OF_CODE) == {*ERRORS, "usage"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "no command; 'bide --help' lists them"),
        (("rnu",), "no command 'rnu'; did you mean 'run'"),
        (("--nonsense", "ls"), "no option '--nonsense' before a command"),
        (("--home",), "--home needs a folder"),
        (("run",), "there is no command to run; give one, as in: bide run -- make test"),
        (("run", "-c", "x", "--", "y"), "give either -c 'SHELL COMMAND' or -- CMD, not both"),
        (("run", "--timeout", "soon", "--", "x"), "argument --timeout: 'soon' is not a duration"),
        (("run", "--memory", "much", "--", "x"), "argument --memory: 'much' is not a size"),
        (("run", "--pids", "1.5", "--", "x"), "argument --pids: '1.5' is not a whole number"),
        (("run", "--cpus", "nan", "--", "x"), "argument --cpus: 'nan' is not a number"),
        (("run", "--cpus", "many", "--", "x"), "argument --cpus: 'many' is not a number"),
        (("run", "--env", "x", "--", "x"), "argument --env: 'x' is not K=V"),
        (("run", "--idle-cpu", "--", "x"), "--idle-cpu says what counts as idle; give --idle as well"),
        (("run", "--tmeout", "3s", "--", "x"), "see 'bide run --help'"),
        (("run", "--a\x1b]0;evil\x07\xe9", "--", "x"), r"unrecognized arguments: --a\x1b]0;evil\x07é; see"),
        (("wait",), "the following arguments are required: ID"),
        (("wait", "--any", "--all", "x"), "not allowed with argument"),
        (("logs", "--since", "3", "x"), "say which with --stream out or --stream err"),
        (("logs", "--since", "3", "--tail", "3", "--stream", "out", "x"), "give one of them"),
        (("logs", "--tail", "-3", "x"), "--tail"),
        (("logs", "-f", "--grep", "a", "x"), "bide logs -f ID | grep RE"),
        (("kill", "--signal", "NOPE", "x"), "there is no signal 'NOPE'"),
        (("ls", "--since", "soon"), "'soon' is not a time"),
        (("daemon", "restart", "--kill"), "--kill goes with stop"),
        (("daemon", "stop", "--tail", "3"), "--follow and --tail go with logs"),
        (("daemon", "logs", "--tail", "-1"), "--tail cannot be negative"),
        (("daemon", "dance"), "invalid choice: 'dance'"),
        (("completion", "tcsh"), "invalid choice: 'tcsh'"),
    ],
)
def test_a_wrong_command_line_is_told_with_what_to_do(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(words)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("bide: ")
    assert sentence in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [("--json", "rnu"), ("run", "--json"), ("--json", "wait"), ("logs", "--json", "--tail", "x", "y")]
)
def test_a_wrong_command_line_is_json_if_json_was_asked_for(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(words)) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["code"] == "usage"
    assert said.err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    page = capsys.readouterr().out
    assert f"usage: bide {command}" in page
    assert "examples:" in page
    assert "--json" in page
    assert max(map(len, page.splitlines())) <= 100
    assert main(["help", command]) == 0
    assert capsys.readouterr().out == page


def test_the_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    assert all(f"  {command} " in page for command in COMMANDS)
    assert max(map(len, page.splitlines())) <= 90


@pytest.mark.parametrize("words", [("show",), ("logs",), ("wait",), ("kill",), ("forget",), ("send", "--eof")])
def test_a_job_that_is_not_there_is_said_everywhere_alike(bide: Shell, words: tuple[str, ...]) -> None:
    done = bide(*words, "nobody")
    assert done.returncode == 97
    assert (
        done.stderr == b"bide: no job 'nobody' here, and none is on record as forgotten; list jobs to see which exist\n"
    )
    assert bide.json(*words, "nobody")["error"]["code"] == "job_not_found"


def test_a_forgotten_job_says_so(bide: Shell) -> None:
    job = bide.background("true")
    bide("wait", job)
    assert bide.out("forget", job) == f"{job} is forgotten\n"
    assert bide("show", job).returncode == 97
    assert bide.json("show", job)["error"]["code"] == "job_forgotten"


def test_several_jobs_are_forgotten_even_if_one_cannot_be(bide: Shell) -> None:
    jobs = [bide.background("true"), bide.background("true")]
    bide("wait", *jobs)
    done = bide("forget", jobs[0], "nobody", jobs[1], "--json")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 97
    assert answers[0] == {"forgotten": jobs[0]}
    assert answers[1]["error"]["code"] == "job_not_found"
    assert answers[2] == {"forgotten": jobs[1]}


def test_a_name_in_use_is_said_with_the_job_that_has_it(bide: Shell) -> None:
    job = bide.background("sleep 30", "--name", "taken")
    done = bide("run", "--bg", "--name", "taken", "--", "true")
    assert done.returncode == 98
    assert job in done.stderr.decode()
    assert bide.json("run", "--name", "taken", "-c", "true")["error"]["code"] == "name_in_use"
    bide("kill", "taken")


def test_an_active_job_cannot_be_forgotten(bide: Shell) -> None:
    job = bide.background("sleep 30")
    assert bide("forget", job).returncode == 98
    assert bide.json("forget", job)["error"]["code"] == "job_active"
    bide("kill", job)


def test_a_missing_folder_is_said(bide: Shell) -> None:
    done = bide("run", "--cwd", "/no/such/folder", "--", "true")
    assert done.returncode == 2
    assert b"no folder '/no/such/folder' to run in" in done.stderr
    assert bide.json("run", "--cwd", "/no/such/folder", "-c", "true")["error"]["code"] == "folder_not_found"


def test_a_home_that_is_not_a_folder_is_said(bide: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = bide("--home", tmp_path / "file", "ls")
    assert done.returncode == 99
    assert b"make it writable or set BIDE_HOME" in done.stderr
    assert bide.json("--home", tmp_path / "file", "ls")["error"]["code"] == "home_unusable"


def test_a_home_below_a_file_is_said(bide: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert bide.json("ls", "--home", tmp_path / "file" / "home")["error"]["code"] == "home_unusable"
