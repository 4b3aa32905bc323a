"""Whoever installs the toolset llm decides, once, whether LLM command lines may act without asking (189, 196)."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.cli.shell import Shell

from bide.cli.main import main

INSTALL = ("mcp", "install", "cursor", "--tools", "llm")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("BIDE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "config.toml"


@pytest.fixture
def shell(project: Path, tmp_path: Path) -> Shell:
    return Shell(project.parent, tmp_path)


def settings(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def test_189_the_flag_allows_it_and_keeps_what_the_settings_say(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project.parent.mkdir()
    project.write_text(
        "# mine\n[llm]\n# still no\nenabled = false\npolicy = 'strict'\n[queue]\nrunning = 3", encoding="utf-8"
    )
    assert main([*INSTALL, "--let-act"]) == 0
    assert settings(project) == {"llm": {"enabled": True, "policy": "strict"}, "queue": {"running": 3}}
    assert "# mine" in project.read_text(encoding="utf-8")
    assert "may act without asking" in capsys.readouterr().out


@pytest.mark.parametrize("before", ["", "[queue]\nrunning = 3\n", "[llm.models]\nclaude = 'opus'\n", "[llm]"])
def test_189_wherever_the_settings_have_room_the_word_is_written(project: Path, before: str) -> None:
    project.parent.mkdir()
    project.write_text(before, encoding="utf-8")
    assert main([*INSTALL, "--let-act"]) == 0
    assert settings(project)["llm"]["enabled"] is True


@pytest.mark.parametrize("before", ["llm = { enabled = false }\n", "llm.enabled = false\n", "[llm\n"])
def test_settings_that_cannot_be_changed_are_left_as_they_are(
    project: Path, before: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project.parent.mkdir()
    project.write_text(before, encoding="utf-8")
    assert main([*INSTALL, "--let-act"]) != 0
    assert project.read_text(encoding="utf-8") == before
    assert "config.toml" in capsys.readouterr().err


def test_without_a_terminal_nothing_is_allowed_and_the_flag_is_named(shell: Shell, project: Path) -> None:
    found = shell.json(*INSTALL)
    assert found["lets_act"] is False
    assert "--let-act allows it" in shell.out(*INSTALL)
    assert settings(project) == {}


@pytest.mark.parametrize(("said", "acts"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_189_at_a_terminal_the_question_is_asked_once(
    shell: Shell,
    project: Path,
    said: bytes,
    acts: bool,
) -> None:
    with shell.terminal(*INSTALL) as terminal:
        terminal.until(b"[y/N] ")
        terminal.type(said)
        assert terminal.end() == 0
    assert settings(project) == {"llm": {"enabled": acts}}
    with shell.terminal(*INSTALL) as terminal:
        assert terminal.end() == 0
    assert b"[y/N]" not in terminal.seen


def test_nobody_is_asked_without_the_toolset(shell: Shell) -> None:
    with shell.terminal("mcp", "install", "cursor") as terminal:
        assert terminal.end() == 0
    assert b"[y/N]" not in terminal.seen
    assert "lets_act" not in json.loads(shell("mcp", "install", "cursor", "--json").stdout)


@pytest.mark.parametrize("words", [("mcp", "--let-act"), ("mcp", "install", "cursor", "--let-act")])
def test_the_flag_alone_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(words)) == 2
    assert "--tools llm --let-act" in capsys.readouterr().err
