"""Completion in shells."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.shell import Shell

from bide.cli.completion import SCRIPTS


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_one_the_shell_can_read(bide: Shell, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(bide.out("completion", shell))
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n", script], check=True)
    assert bide.json("completion", shell)["script"] == script.read_text()


def completed(bide: Shell, *words: str) -> list[str]:
    return bide.out("__complete", "--", *words).split()


def test_commands_are_completed(bide: Shell) -> None:
    assert {"run", "wait", "logs", "--json"} <= set(completed(bide, ""))
    assert not any(word.startswith("__") for word in completed(bide, ""))
    assert completed(bide, "wa") == ["wait"]
    assert completed(bide, "--ho") == ["--home"]


def test_options_and_their_choices_are_completed(bide: Shell) -> None:
    assert completed(bide, "run", "--ti") == ["--timeout"]
    assert completed(bide, "run", "--on-output-cap", "k") == ["keep", "kill"]
    assert completed(bide, "logs", "--stream", "") == ["out", "err", "both"]
    assert completed(bide, "daemon", "st") == ["status", "start", "stop"]
    assert completed(bide, "run", "--name", "") == []


def test_jobs_are_completed_by_name_and_id(bide: Shell) -> None:
    job = bide.background("true", "--name", "completed-job")
    bide("wait", job)
    assert completed(bide, "show", "complet") == ["completed-job"]
    assert completed(bide, "wait", "--any", job[:-1]) == [job]


def test_what_is_not_ours_is_left_to_the_shell(bide: Shell) -> None:
    assert completed(bide, "run", "--", "") == []
    assert completed(bide, "nonsense", "") == []
    assert completed(bide, "version", "") == []


def test_completing_starts_no_daemon(alone: Shell) -> None:
    assert completed(alone, "show", "") == []
    assert not alone.home.exists()


def test_bash_completes_with_it(bide: Shell, tmp_path: Path) -> None:
    program = tmp_path / "bide"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m bide "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(bide completion bash)"; COMP_WORDS=(bide logs --stre); COMP_CWORD=2; _bide; echo "${COMPREPLY[@]}"'
    )
    env = bide.env | {"PATH": f"{tmp_path}:{bide.env['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, check=True)
    assert done.stdout == b"--stream\n"
