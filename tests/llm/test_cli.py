"""`bide ask` and `bide llm`, as a person has them (247, 248, 249)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.llm.conftest import Fakes


@pytest.fixture
def shell(home: Path, tmp_path: Path, fakes: Fakes) -> Iterator[Shell]:
    assert fakes.folder.exists()
    found = Shell(home, tmp_path)
    yield found
    found.close()


def test_a_request_from_asking_to_asking_again(shell: Shell, fakes: Fakes, tmp_path: Path) -> None:
    assert shell.out("ask", "claude", "-m", "opus", "what", "is this?") == "you said: what is this?\n"
    assert fakes.started[0]["argv"][:4] == ["-p", "what is this?", "--model", "opus"]
    assert shell("ask", "codex", stdin=b"from stdin").stdout == b"you said: from stdin\n"
    (tmp_path / "spec.md").write_text("the spec", encoding="utf-8")
    assert shell.out("ask", "grok", "--context", "spec.md", "do it") == "you said: the spec\n\ndo it\n"
    assert shell.out("ask", "claude", "--", "--version") == "you said: --version\n"
    assert shell.out("ask", "mistral", "-o", "agent=plan", "-o", "max_turns=3", "hi") == "you said: hi\n"
    assert fakes.started[-1]["argv"][-4:] == ["--agent", "plan", "--max-turns", "3"]
    count = len(fakes.started)
    shell.out("ask", "claude", "-m", "opus", "what", "is this?", "--name", "mine")
    assert len(fakes.started) == count
    job = shell.out("ask", "claude", "--bg", "--correlation-id", "c", "later").strip()
    shell.out("wait", job)
    assert shell.out("ask", "--answer", job) == shell.out("ask", "--answer", "c") == "you said: later\n"
    found = shell.json("ask", "--answer", "c")
    assert (found["status"], found["reading"]["tokens"]["input"]) == ("completed", 10)


def test_what_goes_wrong_is_one_sentence_and_a_status(shell: Shell) -> None:
    for words, status, said in (
        (["ask"], 2, "say whom to ask"),
        (["ask", "chatgpt", "hi"], 2, "known are claude, codex"),
        (["ask", "claude", ""], 2, "the prompt is empty"),
        (["ask", "claude", "--managed", "hi"], 2, "sets enabled = true under [llm]"),
        (["ask", "mistral", "hi"], 2, "such as agent: 'plan'"),
        (["ask", "claude", "x" * 100_001], 2, "give it in parts (promptParts; --context FILE)"),
        (["ask", "claude", "--context", "nowhere", "hi"], 2, "cannot read 'nowhere'"),
        (["ask", "--answer", "nothing"], 97, "no job 'nothing'"),
        (["llm", "upgrade"], 2, "say which one"),
        (["llm", "upgrade", "claude", "--to=-g"], 2, "cannot be a version"),
    ):
        done = shell(*words)
        assert (done.returncode, done.stdout) == (status, b""), done
        assert said in done.stderr.decode()
        assert done.stderr.count(b"\n") == 1
    failed = shell("ask", "claude", "hi", FAKE_MODE="limited")
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert b"wait until the limit resets" in failed.stderr
    assert shell("ask", "claude", "bad", FAKE_MODE="error").returncode == 1
    assert b"no answer and no agreement" in shell("ask", "claude", "nothing", FAKE_MODE="empty").stderr


def test_247_248_249_the_clis_of_a_machine(shell: Shell, fakes: Fakes, tmp_path: Path) -> None:
    fakes.remove("grok")
    (tmp_path / "config.toml").write_text("[session_logging]\nenabled = false\n", encoding="utf-8")
    assert "claude 1.2.3" in shell.out("llm", "versions")
    assert "gemini-2.5-pro" in shell.out("llm", "models", "gemini")
    assert shell.out("llm", "upgrade", "codex").startswith("codex update\n(only shown")
    assert "0 requests" in shell.out("llm", "cache")
    assert "DECISION" in shell.out("llm", "approvals")
    done = shell("llm", "doctor", "--json", VIBE_HOME=str(tmp_path))
    found = json.loads(done.stdout)
    assert (found["schema_version"], found["ok"], done.returncode) == ("1.0", False, 1)
    assert any("session_logging" in action for action in found["next_actions"])
    assert any(action.startswith("grok: install it") for action in found["next_actions"])
    assert found["providers"]["claude"]["login_status"] == "authenticated"
    assert found["cache_awareness"]["last_24h"]["totalRequests"] == 0
    assert (found["cache_awareness"]["enabled_features"], found["cache_awareness"]["per_cli"]) == ([], [])
    assert json.loads(shell("llm", "doctor", "claude", "--json").stdout)["next_actions"] != []


def test_221_the_doctor_tells_of_a_cli_that_is_given_a_rest(home: Path, tmp_path: Path, fakes: Fakes) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[llm]\nattempts = 1\nbreaker_failures = 1\n", encoding="utf-8")
    fakes.set(mode="flaky", failures="9")
    shell = Shell(home, tmp_path)
    try:
        failed = shell("ask", "claude", "hi")
        assert (failed.returncode, b"ECONNRESET" in failed.stderr) == (1, True)
        refused = shell("ask", "claude", "again")
        assert (refused.returncode, refused.stderr.count(b"\n")) == (98, 1)
        assert b"claude failed 1 times in a row and is not asked for another" in refused.stderr
        found = json.loads(shell("llm", "doctor", "--json").stdout)
        assert found["providers"]["claude"]["circuit_breaker"] == "open"
        assert found["providers"]["codex"]["circuit_breaker"] == "closed"
        assert any(action.startswith("claude failed 1 times in a row") for action in found["next_actions"])
        assert b"open after failures" in shell("llm", "doctor").stdout
    finally:
        shell.close()
