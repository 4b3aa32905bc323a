"""bide is written into the configuration of MCP clients, and nothing of theirs is lost."""

import json
import tomllib
from pathlib import Path

import pytest

from bide.cli import clients
from bide.cli.main import main

JSON = {"claude": "mcpServers", "gemini": "mcpServers", "cursor": "mcpServers", "vscode": "servers"}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    return tmp_path


def path_of(client: str) -> Path:
    return Path(clients.CLIENTS[client][0]).expanduser()


@pytest.mark.parametrize("client", JSON)
def test_a_client_gets_bide_beside_what_it_has(client: str) -> None:
    path = path_of(client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"other": {"é": 1}, JSON[client]: {"theirs": {"command": "x"}}}), encoding="utf-8")
    for _ in range(2):
        assert main(["mcp", "install", client]) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["other"] == {"é": 1}
    assert found[JSON[client]]["theirs"] == {"command": "x"}
    assert found[JSON[client]]["bide"]["args"] == ["mcp"]
    assert Path(found[JSON[client]]["bide"]["command"]).exists()


@pytest.mark.parametrize("client", JSON)
def test_a_client_without_configuration_gets_one(client: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "install", client]) == 0
    assert str(path_of(client)) in capsys.readouterr().out
    assert main(["mcp", "install", "--print", client]) == 0
    assert path_of(client).read_text() == capsys.readouterr().out


@pytest.mark.parametrize("client", clients.CLIENTS)
def test_the_options_that_are_given_are_what_the_client_will_start_it_with(
    client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--tools", "core,job", "--owner", "a b", "--patience", "290", "--scope", "project", "--shared", "ann"]
    assert main(["mcp", "install", "--print", client, *words]) == 0
    text = capsys.readouterr().out
    found = tomllib.loads(text)["mcp_servers"] if client == "codex" else json.loads(text)[JSON[client]]
    assert found["bide"]["args"] == ["mcp", *words]
    if client in JSON:
        assert main(["mcp", "install", client, *words]) == 0
        assert path_of(client).read_text() == text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tools", "core,nope"], "no toolset 'nope'"),
        (["--patience", "0"], "'--patience' is a number of seconds"),
        (["--patience", "nan"], "'--patience' is a number of seconds"),
        (["--scope", "mine"], "--scope"),
    ],
)
def test_options_that_would_not_work_are_not_written(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "install", "claude", *words]) == 2
    assert said in capsys.readouterr().err
    assert not path_of("claude").exists()


def test_codex_keeps_its_other_sections(tmp_path: Path) -> None:
    path = path_of("codex")
    path.parent.mkdir(parents=True)
    path.write_text('model = "m"\n\n[mcp_servers.bide]\ncommand = "old"\n\n[mcp_servers.theirs]\ncommand = "x"\n')
    for _ in range(2):
        assert clients.install("codex", ["mcp"], home=str(tmp_path / "h")) == str(path)
    found = tomllib.loads(path.read_text())
    assert found["model"] == "m"
    assert found["mcp_servers"]["theirs"] == {"command": "x"}
    assert found["mcp_servers"]["bide"]["args"] == ["mcp"]
    assert found["mcp_servers"]["bide"]["env"] == {"BIDE_HOME": str(tmp_path / "h")}


@pytest.mark.parametrize("text", ["{ // comment\n}", "[]", '{"mcpServers": []}'])
def test_a_file_that_cannot_be_understood_is_left_alone(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path_of("claude").write_text(text)
    assert main(["mcp", "install", "claude"]) == 2
    assert "add this by hand" in capsys.readouterr().err
    assert path_of("claude").read_text() == text


def test_an_unknown_client_is_refused_with_those_that_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "install", "emacs"]) == 2
    assert "known are claude, codex, gemini, cursor, vscode" in capsys.readouterr().err
    assert main(["mcp", "install"]) == 2
