"""What each CLI is started with (187, 189, 196, 197, 199, 243, 246, 255)."""

import json
from typing import Any

import pytest

from bide.kinds.llm import known
from bide.kinds.llm.base import Command, Installed, check_words
from bide.model.errors import BadRequest
from bide.model.llm.ask import Ask, Strategy
from bide.model.llm.prompt import Parts

STREAM = ("--output-format", "stream-json", "--include-partial-messages", "--verbose")
MANAGED = Strategy.MCP_MANAGED
OLD_CODEX = frozenset({"--ask-for-approval", "--search"})
NEW_CODEX = frozenset({"--json", "--sandbox"})


AUTO = ("--sandbox", "workspace-write", "--ask-for-approval", "never")


def command(ask: Ask, flags: frozenset[str] = frozenset()) -> Command:
    return known.named(ask.cli).command(ask, ask.said(), Installed(ask.cli, flags=flags))


def words(cli: str, prompt: str = "hi", flags: frozenset[str] = frozenset(), **options: Any) -> list[str]:
    return list(command(Ask.of(cli, prompt, **options), flags).words)


@pytest.mark.parametrize(
    ("cli", "options", "expected"),
    [
        ("claude", {}, ["-p", "hi", *STREAM]),
        ("claude", {"format": "text"}, ["-p", "hi"]),
        ("claude", {"format": "json", "model": "opus"}, ["-p", "hi", "--model", "opus", "--output-format", "json"]),
        ("claude", {"strategy": MANAGED}, ["-p", "hi", *STREAM, "--permission-mode", "bypassPermissions"]),
        ("claude", {"options": {"permission_mode": "default"}}, ["-p", "hi", *STREAM]),
        (
            "claude",
            {"options": {"dangerously_skip_permissions": True}},
            ["-p", "hi", *STREAM, "--permission-mode", "bypassPermissions"],
        ),
        (
            "claude",
            {"options": {"allowed_tools": ["Read", "Grep"], "max_turns": 3, "add_dir": ["/a", "/b"]}},
            [
                "-p",
                "hi",
                *STREAM,
                "--allowed-tools",
                "Read",
                "Grep",
                "--max-turns",
                "3",
                "--add-dir",
                "/a",
                "--add-dir",
                "/b",
            ],
        ),
        ("claude", {"conversation": "c1"}, ["-p", "hi", *STREAM, "--resume", "c1"]),
        ("claude", {"resume_latest": True}, ["-p", "hi", *STREAM, "--continue"]),
        ("codex", {}, ["exec", "--json", "--skip-git-repo-check", "hi"]),
        ("codex", {"format": "text", "model": "m"}, ["exec", "--model", "m", "--skip-git-repo-check", "hi"]),
        ("codex", {"strategy": MANAGED}, ["exec", "--json", "--skip-git-repo-check", "hi"]),
        (
            "codex",
            {"full_auto": True, "flags": OLD_CODEX},
            [
                "exec",
                "--json",
                "--skip-git-repo-check",
                "--sandbox",
                "workspace-write",
                "--ask-for-approval",
                "never",
                "hi",
            ],
        ),
        (
            "codex",
            {"full_auto": True, "flags": NEW_CODEX},
            ["exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "hi"],
        ),
        (
            "codex",
            {"conversation": "t1", "full_auto": True, "options": {"profile": "p"}},
            ["exec", *AUTO, "--profile", "p", "resume", "--json", "--skip-git-repo-check", "t1", "hi"],
        ),
        (
            "codex",
            {"resume_latest": True, "options": {"sandbox": "read-only", "add_dir": ["d"], "images": ["x.png"]}},
            [
                *("exec", "--sandbox", "read-only", "--add-dir", "d"),
                *("resume", "--last", "--json", "--skip-git-repo-check", "--image=x.png", "hi"),
            ],
        ),
        ("codex", {"resume_latest": True}, ["exec", "resume", "--last", "--json", "--skip-git-repo-check", "hi"]),
        (
            "codex",
            {"options": {"config": ["a.b=1"], "images": ["x.png"], "ephemeral": True}},
            ["exec", "--json", "--skip-git-repo-check", "-c", "a.b=1", "--ephemeral", "--image=x.png", "hi"],
        ),
        ("gemini", {}, ["-p", "hi", "-o", "stream-json"]),
        ("gemini", {"strategy": MANAGED, "format": "text"}, ["-p", "hi", "--approval-mode", "yolo"]),
        ("gemini", {"conversation": "g1"}, ["-p", "hi", "-o", "stream-json", "--resume", "g1"]),
        ("gemini", {"resume_latest": True}, ["-p", "hi", "-o", "stream-json", "--resume", "latest"]),
        ("grok", {}, ["-p", "hi", "--output-format", "streaming-json"]),
        ("grok", {"strategy": MANAGED}, ["-p", "hi", "--output-format", "streaming-json", "--always-approve"]),
        (
            "grok",
            {"options": {"tools": ["a", "b"]}, "conversation": "k1", "model": "grok-build"},
            [
                "-p",
                "hi",
                "--model",
                "grok-build",
                "--output-format",
                "streaming-json",
                "--tools",
                "a,b",
                "--resume",
                "k1",
            ],
        ),
        ("mistral", {}, ["-p", "hi", "--output", "streaming", "--agent", "auto-approve"]),
        (
            "mistral",
            {"options": {"agent": "plan"}, "format": "plain"},
            ["-p", "hi", "--output", "text", "--agent", "plan"],
        ),
        (
            "mistral",
            {"options": {"max_price": 0.5}, "resume_latest": True},
            ["-p", "hi", "--output", "streaming", "--agent", "auto-approve", "--max-price", "0.5", "--continue"],
        ),
    ],
)
def test_197_a_request_becomes_exactly_these_words(cli: str, options: dict[str, Any], expected: list[str]) -> None:
    assert words(cli, **options) == expected


def test_196_mistral_is_told_its_model_by_the_environment() -> None:
    found = command(Ask.of("mistral", "hi", model="devstral"))
    assert found.env == {"VIBE_ACTIVE_MODEL": "devstral"}
    assert "devstral" not in found.words


@pytest.mark.parametrize(
    ("cli", "expected", "by_stdin"),
    [
        ("claude", ["-p", *STREAM], True),
        ("codex", ["exec", "--json", "--skip-git-repo-check", "-"], True),
        ("gemini", ["--prompt=--version", "-o", "stream-json"], False),
        ("grok", ["--single=--version", "--output-format", "streaming-json"], False),
        ("mistral", ["--prompt=--version", "--output", "streaming", "--agent", "auto-approve"], False),
    ],
)
def test_a_prompt_that_begins_with_a_sign_is_no_flag(cli: str, expected: list[str], *, by_stdin: bool) -> None:
    found = command(Ask.of(cli, "--version"))
    assert list(found.words) == expected
    assert found.input == (b"--version" if by_stdin else None)


@pytest.mark.parametrize("cli", list(known.clis()))
def test_a_prompt_longer_than_a_word_may_be_comes_by_stdin(cli: str) -> None:
    prompt = Parts("t", context="ä" * 70_000)
    found = check_words(command(Ask.of(cli, parts=prompt)), cli)
    assert found.input == prompt.text.encode()
    assert all(len(word.encode()) < 1000 for word in found.words)
    short = command(Ask.of(cli, "x" * 100_000))
    assert short.input is None


def test_243_parts_to_be_cached_are_one_message_on_stdin() -> None:
    found = command(Ask.of("claude", parts=Parts("t", system="s", tools="u", cached=("system", "context"))))
    assert list(found.words) == ["-p", "--input-format", "stream-json", *STREAM]
    message = json.loads(found.input or b"")
    assert [block["text"] for block in message["message"]["content"]] == ["s\n\n", "u\n\n", "t"]
    assert found.cache_blocks == 1
    with pytest.raises(BadRequest, match="cacheControl needs"):
        command(Ask.of("claude", parts=Parts("t", system="s", cached=("system",)), format="json"))


@pytest.mark.parametrize(
    ("cli", "options", "said"),
    [
        ("claude", {"allowed_tools": ["--evil"]}, "option 'allowed_tools'"),
        ("claude", {"add_dir": ["-x"]}, "does not begin with '-'"),
        ("claude", {"max_turns": 0}, "whole number from 1 to 10000"),
        ("claude", {"max_turns": True}, "whole number"),
        ("claude", {"permission_mode": "root"}, "is one of"),
        ("claude", {"no_such": 1}, "claude has no option 'no_such'"),
        ("claude", {"strict_mcp_config": "yes"}, "true or false"),
        ("claude", {"system_prompt": "a", "append_system_prompt": "b"}, "not both"),
        ("codex", {"config": ["a b=1"]}, "key=value"),
        ("codex", {"config": ["a=1\nb=2"]}, "key=value"),
        ("codex", {"images": ["-i"]}, "does not begin"),
        ("gemini", {"approval_mode": "yes"}, "is one of"),
        ("mistral", {"max_price": 0}, "number from 1e-06"),
        ("mistral", {"agent": "--x"}, "does not begin"),
    ],
)
def test_199_options_that_cannot_be_meant_are_refused(cli: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        words(cli, options=options)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("cli", "options", "bypass"),
    [
        ("claude", {}, False),
        ("claude", {"strategy": MANAGED}, True),
        ("claude", {"options": {"permission_mode": "bypassPermissions"}}, True),
        ("codex", {"strategy": MANAGED, "full_auto": True}, False),
        ("codex", {"options": {"dangerously_bypass_approvals_and_sandbox": True}}, True),
        ("codex", {"options": {"sandbox": "danger-full-access"}}, True),
        ("gemini", {"options": {"approval_mode": "yolo"}}, True),
        ("gemini", {}, False),
        ("grok", {"options": {"always_approve": True}}, True),
        ("grok", {}, False),
        ("mistral", {}, True),
        ("mistral", {"options": {"agent": "plan"}}, False),
    ],
)
def test_189_what_acts_without_asking_is_known(cli: str, options: dict[str, Any], *, bypass: bool) -> None:
    assert command(Ask.of(cli, "hi", **options)).bypass is bypass


def test_a_flag_that_the_installed_version_lacks_is_left_out_and_told() -> None:
    found = command(Ask.of("codex", "hi", options={"search": True}), NEW_CODEX)
    assert "--search" not in found.words
    assert [note.code for note in found.notes] == ["flag_unknown"]
    explicit = command(Ask.of("codex", "hi", full_auto=True, options={"sandbox": "read-only"}), NEW_CODEX)
    assert "read-only" in explicit.words
    assert [note.code for note in explicit.notes] == ["full_auto_overridden"]


def test_255_words_that_the_kernel_would_not_take_are_refused_before() -> None:
    ask = Ask.of("claude", "hi", options={"system_prompt": "x" * 131_072})
    with pytest.raises(BadRequest, match="input_too_large"):
        check_words(command(ask), "claude")


@pytest.mark.parametrize("given", ["gw-123", "-x", "a b", ""])
def test_195_a_conversation_that_no_cli_can_know_is_refused(given: str) -> None:
    with pytest.raises(BadRequest):
        Ask.of("claude", "hi", conversation=given)


def test_an_unknown_cli_names_those_that_are_known() -> None:
    with pytest.raises(BadRequest, match="claude, codex, gemini, grok, mistral"):
        known.named("chatgpt")


@pytest.mark.parametrize(
    ("cli", "target", "expected"),
    [
        ("claude", None, ("claude", "update")),
        ("claude", "2.0.0", ("claude", "install", "2.0.0")),
        ("codex", None, ("codex", "update")),
        ("codex", "0.1.0", ("npm", "install", "-g", "@openai/codex@0.1.0")),
        ("gemini", None, ("npm", "install", "-g", "@google/gemini-cli@latest")),
        ("grok", None, ("grok", "update")),
        ("grok", "1.0", ("grok", "update", "--version", "1.0")),
        ("mistral", None, ("uv", "tool", "upgrade", "mistral-vibe")),
        ("mistral", "2.1", ("uv", "tool", "install", "--force", "mistral-vibe==2.1")),
    ],
)
def test_how_each_is_upgraded(cli: str, target: str | None, expected: tuple[str, ...]) -> None:
    assert known.named(cli).upgrade(target, None) == expected


@pytest.mark.parametrize("cli", list(known.clis()))
@pytest.mark.parametrize("target", ["-g", "a b", ""])
def test_no_version_can_become_a_flag(cli: str, target: str) -> None:
    with pytest.raises(BadRequest, match="cannot be a version"):
        known.named(cli).upgrade(target, None)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/a/.local/share/uv/tools/mistral-vibe/bin/vibe", "uv tool upgrade mistral-vibe"),
        ("/home/a/.local/share/pipx/venvs/mistral-vibe/bin/vibe", "pipx upgrade mistral-vibe"),
        ("/opt/homebrew/Cellar/mistral-vibe/2.0/bin/vibe", "brew upgrade mistral-vibe"),
        ("/srv/venv/bin/vibe", "pip install --upgrade mistral-vibe"),
    ],
)
def test_248_vibe_is_upgraded_by_what_installed_it(path: str, expected: str) -> None:
    assert " ".join(known.named("mistral").upgrade(None, path)) == expected


def test_248_homebrew_has_one_version_only() -> None:
    with pytest.raises(BadRequest, match="leave the version out"):
        known.named("mistral").upgrade("1.0", "/opt/homebrew/bin/vibe")
