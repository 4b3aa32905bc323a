"""Shell code in a session, where there is no bash: the folder and exported variables."""

import os
import subprocess
from pathlib import Path

import pytest

from bide.kinds import wrapping
from bide.model.state import Left, read_left


def run(folder: Path, code: str, **env: str) -> tuple[subprocess.CompletedProcess[bytes], Left | None]:
    helper, state = folder / "helper", folder / "state"
    helper.write_text(wrapping.SH)
    state.unlink(missing_ok=True)
    words = wrapping.argv(code, wrapping.Inside(str(helper), "", str(state)), "/bin/sh")
    done = subprocess.run(words, capture_output=True, env=os.environ | env, cwd=folder, check=False)
    return done, read_left(state.read_bytes()) if state.exists() else None


@pytest.mark.parametrize(
    ("code", "status"),
    [("exit 3", 3), ("set -e; false", 1), ("true", 0), ("PATH=/nowhere; set -C; (exit 5)", 5), ("\n\n:", 0)],
)
def test_folder_and_exported_variables_are_left(tmp_path: Path, code: str, status: int) -> None:
    done, left = run(tmp_path, f"cd /usr; export A='1\n2' ; unset GONE; hidden=1; {code}", GONE="1", end="1")
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")
    assert left is not None
    assert (left.cwd, left.env["A"], left.env["end"], left.shell) == ("/usr", "1\n2", "1", None)
    assert not {"GONE", "hidden"} & left.env.keys()


def test_a_syntax_error_runs_nothing(tmp_path: Path) -> None:
    done, left = run(tmp_path, "echo ran\nif")
    assert (done.returncode, done.stdout, left) == (2, b"", None)
    assert b"yntax error" in done.stderr


def test_an_exit_trap_of_the_codes_own_runs(tmp_path: Path) -> None:
    done, left = run(tmp_path, "trap 'echo own' EXIT; exit 4")
    assert (done.returncode, done.stdout, left) == (4, b"own\n", None)


def test_without_a_place_for_it_nothing_is_left(tmp_path: Path) -> None:
    for program, text in (("/bin/sh", wrapping.SH), ("/bin/bash", wrapping.BASH)):
        (tmp_path / "helper").write_text(text)
        words = wrapping.argv("echo $#; exit 2", wrapping.Inside(str(tmp_path / "helper")), program)
        done = subprocess.run(words, capture_output=True, check=False, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (2, b"0\n", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["helper"]
