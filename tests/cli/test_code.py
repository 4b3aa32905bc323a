"""`bide run --lang`: code from the command line, from a file, from stdin; and what was started from what."""

import sys
from pathlib import Path

import pytest
from tests.cli.shell import BIDE, Shell


@pytest.fixture
def here(bide: Shell) -> Shell:
    """A shell whose Python code is run by the interpreter of the tests."""
    bide.env["VIRTUAL_ENV"] = sys.prefix
    return bide


def test_code_can_be_given_on_the_command_line(here: Shell) -> None:
    done = here("run", "--lang", "python", "-c", "import sys\nprint(6 * 7)\nsys.exit(3)")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"42\n", b"")
    assert here("run", "--lang", "shell", "-c", "echo $((6 * 7))").stdout == b"42\n"


def test_code_can_be_in_a_file_or_come_from_stdin(here: Shell, tmp_path: Path) -> None:
    code = b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'), __name__)"
    (tmp_path / "code.py").write_bytes(code)
    assert here("run", "--lang", "python", "code.py").stdout == b"'\\xe9' __main__\n"
    assert here("run", "--lang", "python", "-", stdin=code).stdout == b"'\\xe9' __main__\n"


def test_code_from_a_file_can_read_stdin(here: Shell, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("print(input()[::-1])")
    assert here("run", "--stdin", "--lang", "python", "code.py", stdin=b"abc\n").stdout == b"cba\n"


def test_a_syntax_error_is_shown_as_pythons_own(here: Shell) -> None:
    done = here("run", "--lang", "python", "-c", "print('begun')\nx = (")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"  File \"<string>\", line 2\n    x = (\n        ^\nSyntaxError: '(' was never closed\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--lang", "cobol", "-c", "x"], "invalid choice: 'cobol'"),
        (["--lang", "python"], "there is no code to run; give it with -c, as a FILE, or with - on stdin"),
        (["--lang", "python", "-c", "x", "file.py"], "give the code with -c or in a file, not both"),
        (["--lang", "python", "gone.py"], "cannot read code from 'gone.py': No such file or directory"),
        (["--lang", "python", "."], "cannot read code from '.': Is a directory"),
        (["--lang", "python", "a.py", "b"], "run the file as a command: bide run -- python3 a.py b"),
        (["--lang", "python", "-"], "there is no code in stdin"),
        (["--lang", "python", "--stdin", "-"], "stdin has the code, so it cannot be the job's stdin as well"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(here: Shell, words: list[str], why: str) -> None:
    done = here("run", *words)
    assert done.returncode == 2
    assert why in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_a_program_is_no_code(here: Shell, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\0\0")
    assert b"has NUL bytes in it, so it is not code" in here("run", "--lang", "python", "program").stderr


def test_the_help_shows_how(here: Shell) -> None:
    page = here.out("run", "--help")
    assert "bide run [options] --lang LANG (-c CODE | FILE | -)" in page
    assert "--lang {python,shell}" in page


def test_a_job_shows_its_parent_and_its_children(here: Shell) -> None:
    script = f"{' '.join(BIDE)} run -c 'exit 4'; {' '.join(BIDE)} run -- echo 'a b'; true"
    parent = here.json("run", "-c", script)["job"]["id"]
    second, first = here.json("ls", "--parent", parent)["jobs"]
    assert {first["parent"], second["parent"]} == {parent}
    shown = here.out("show", parent).splitlines()
    assert shown[-2:] == [f"child     {second['id']} exit 0: echo 'a b'", f"child     {first['id']} exit 4: exit 4"]
    assert f"parent    {parent}" in here.out("show", first["id"]).splitlines()
    assert here.json("show", first["id"])["parent"] == parent


def test_children_of_nobody_are_an_error(here: Shell) -> None:
    done = here("ls", "--parent", "nobody")
    assert done.returncode == 97
    assert b"no job 'nobody' here" in done.stderr


def test_many_children_are_shown_in_part(here: Shell) -> None:
    parent = here.json("run", "-c", f"for i in $(seq 22); do {' '.join(BIDE)} run --bg -- true; done")["job"]["id"]
    shown = here.out("show", parent).splitlines()
    assert shown[-1] == f"child     and older ones; see them with: bide ls --all --parent {parent}"
    assert len([line for line in shown if line.startswith("child")]) == 21


def test_the_kind_is_shown_and_can_be_filtered_by(here: Shell) -> None:
    job = here.out("run", "--bg", "--lang", "python", "-c", "pass").strip()
    assert job in here.out("ls", "--kind", "python")
    assert "kind      python" in here.out("show", job).splitlines()
