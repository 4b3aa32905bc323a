"""`bide events`, `bide inbox` and the hooks: what is due is printed, and acknowledged by what carried it."""

import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cli.shell import Shell

from bide.model.owners import owner_of


def owner(tmp_path: Path) -> str:
    """Someone that no other test is."""
    return f"o-{tmp_path.name}"


def ended(bide: Shell, whose: str, script: str = "exit 4") -> str:
    """A job that nobody watched and that is due to its owner."""
    job = bide.background(script, "--owner", whose)
    while not bide.json("inbox", "--owner", whose)["notices"]:
        pass
    return job


def test_events_prints_what_is_due_once(bide: Shell, tmp_path: Path) -> None:
    job = ended(bide, owner(tmp_path))
    assert job in bide.out("inbox", "--owner", owner(tmp_path))
    assert f"{job} exited with 4" in bide.out("events", "--owner", owner(tmp_path))
    assert bide.out("events", "--owner", owner(tmp_path)) == ""
    assert bide.out("inbox", "--owner", owner(tmp_path)) == "nothing is due\n"


def test_events_follow_once_leaves_at_the_first_message(bide: Shell, tmp_path: Path) -> None:
    words = bide.command("events", "--follow", "--once", "--json", "--owner", owner(tmp_path))
    with subprocess.Popen(words, env=bide.env, stdout=subprocess.PIPE) as waiting:
        job = bide.background("exit 2", "--owner", owner(tmp_path))
        out, _ = waiting.communicate(timeout=10)
    (told,) = json.loads(out)["notices"]
    assert (told["job"], told["exit_code"]) == (job, 2)
    assert waiting.returncode == 0


def test_events_follow_gives_up_after_its_time(bide: Shell, tmp_path: Path) -> None:
    done = bide("events", "--follow", "--timeout", "50ms", "--owner", owner(tmp_path))
    assert (done.returncode, done.stdout) == (75, b"")


def test_a_consumer_that_dies_before_it_printed_is_told_again(bide: Shell, tmp_path: Path) -> None:
    job = ended(bide, owner(tmp_path))
    reader, writer = os.pipe()
    with open(f"/proc/self/fd/{writer}", "wb", buffering=0) as full:
        os.set_blocking(full.fileno(), False)
        while True:
            if full.write(b"x" * 4096) is None:
                break
        os.set_blocking(full.fileno(), True)
        # It has the message and cannot print it.
        stuck = subprocess.Popen(
            bide.command("events", "--follow", "--owner", owner(tmp_path)), env=bide.env, stdout=full
        )
        try:
            stuck.wait(0.5)
        except subprocess.TimeoutExpired:
            stuck.send_signal(signal.SIGKILL)
        stuck.wait(5)
    os.close(reader)
    os.close(writer)
    assert f"{job} exited with 4" in bide.out("events", "--owner", owner(tmp_path))


def test_events_as_somebody_else_sees_everybody(bide: Shell, tmp_path: Path) -> None:
    name = f"board-{tmp_path.name}"
    assert bide.out("events", "--as", name, "--owner", owner(tmp_path)) == ""
    ended(bide, owner(tmp_path))
    assert "exited with 4" in bide.out("events", "--as", name, "--owner", owner(tmp_path))
    assert f"{name}: 0 due" in bide.out("inbox", "--all")


def hook(
    bide: Shell, point: str, tmp_path: Path, client: str = "claude", session: str = "s1", more: tuple[str, ...] = ()
) -> dict[str, Any]:
    given = json.dumps({"session_id": session, "cwd": str(tmp_path), "hook_event_name": point}).encode()
    done = bide("hook", point, "--client", client, *more, stdin=given)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else {}


@pytest.mark.parametrize(("client", "name"), [("claude", "claude-code"), ("codex", "codex-mcp-client")])
def test_the_stop_hook_keeps_the_agent_going_while_there_is_news_and_then_lets_it_rest(
    bide: Shell, tmp_path: Path, client: str, name: str
) -> None:
    assert hook(bide, "stop", tmp_path, client) == {}
    job = ended(bide, owner_of(name, str(tmp_path)))
    said = hook(bide, "stop", tmp_path, client)
    assert said["decision"] == "block"
    assert job in str(said["reason"])
    assert hook(bide, "stop", tmp_path, client) == {}
    assert bide.json("inbox", "--owner", owner_of(name, str(tmp_path)))["notices"] == []


def test_066_ambient_output_keeps_no_agent_going_and_comes_beside_its_next_prompt(bide: Shell, tmp_path: Path) -> None:
    mine = owner_of("claude-code", str(tmp_path))
    command = ("run", "--bg", "--owner", mine, "--notify", "content,ambient", "--", "sh", "-c", "echo HERE; sleep 60")
    job = bide.out(*command).split()[0]
    while not bide.json("inbox", "--owner", mine)["notices"]:
        pass
    assert hook(bide, "stop", tmp_path, more=("--on-turn-end", "leave")) == {}
    assert "| HERE" in hook(bide, "prompt", tmp_path)["hookSpecificOutput"]["additionalContext"]
    bide("kill", job)


def test_the_prompt_hook_puts_the_news_beside_the_prompt(bide: Shell, tmp_path: Path) -> None:
    job = ended(bide, owner_of("claude-code", str(tmp_path)))
    said = hook(bide, "prompt", tmp_path)["hookSpecificOutput"]
    assert said["hookEventName"] == "UserPromptSubmit"
    assert job in str(said["additionalContext"])


def test_what_a_session_was_handed_last_is_due_again_when_it_ends(bide: Shell, tmp_path: Path) -> None:
    job = ended(bide, owner_of("claude-code", str(tmp_path)))
    assert job in str(hook(bide, "prompt", tmp_path))
    assert hook(bide, "stop", tmp_path, session="s2") == {}
    assert hook(bide, "session-end", tmp_path) == {}
    assert job in str(hook(bide, "stop", tmp_path, session="s2"))


@pytest.mark.parametrize("point", ["prompt", "stop"])
def test_what_a_hook_could_not_say_is_said_by_the_next(bide: Shell, tmp_path: Path, point: str) -> None:
    job = ended(bide, owner_of("claude-code", str(tmp_path)))
    given = json.dumps({"session_id": "s1", "cwd": str(tmp_path)}).encode()
    with open("/dev/full", "wb") as full:
        words = bide.command("hook", point, "--client", "claude")
        done = subprocess.run(words, input=given, stdout=full, stderr=subprocess.PIPE, env=bide.env, check=False)
    assert b"bide: the answer could not be written: No space left on device" in done.stderr
    assert job in str(hook(bide, point, tmp_path))
    assert hook(bide, point, tmp_path) == {}


def test_a_session_is_asked_again_about_its_jobs_if_the_question_could_not_be_put(bide: Shell, tmp_path: Path) -> None:
    job = running(bide, tmp_path, "echo compiling; exec sleep 1000")
    given = json.dumps({"session_id": "s1", "cwd": str(tmp_path)}).encode()
    with open("/dev/full", "wb") as full:
        words = bide.command("hook", "stop", "--client", "claude")
        subprocess.run(words, input=given, stdout=full, stderr=subprocess.DEVNULL, env=bide.env, check=False)
    assert job in hook(bide, "stop", tmp_path)["reason"]
    bide.out("kill", job)


def test_a_hook_without_a_daemon_or_with_nonsense_says_nothing(tmp_path: Path) -> None:
    bide = Shell(tmp_path / "none", tmp_path)
    done = bide("hook", "stop", "--client", "claude", stdin=b"[nonsense")
    assert (done.returncode, done.stdout) == (0, b"")
    assert not (tmp_path / "none").exists()


def test_hooks_install_keeps_what_is_there_and_remove_takes_only_ours(bide: Shell, tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    mine = {"model": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}
    path.write_text(json.dumps(mine))
    for _ in range(2):
        assert str(path) in bide.out("hooks", "install", "claude")
    found = json.loads(path.read_text())
    assert found["model"] == "x"
    commands = [hook["command"] for group in found["hooks"]["Stop"] for hook in group["hooks"]]
    assert commands[0] == "mine"
    assert len(commands) == 2
    assert commands[1].endswith(" hook stop --client claude")
    assert set(found["hooks"]) == {"Stop", "UserPromptSubmit", "SessionEnd"}
    bide.out("hooks", "remove", "claude")
    assert json.loads(path.read_text()) == mine


def test_hooks_install_for_codex_writes_its_own_file(bide: Shell, tmp_path: Path) -> None:
    done = bide("hooks", "install", "codex", HOME=str(tmp_path))
    assert done.returncode == 0, done
    found = json.loads((tmp_path / ".codex" / "hooks.json").read_text())
    assert set(found["hooks"]) == {"Stop", "UserPromptSubmit"}
    assert b"--dangerously-bypass-hook-trust" in done.stdout


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": 1}}'])
def test_a_configuration_that_cannot_be_read_is_left_alone(bide: Shell, tmp_path: Path, text: str) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(text)
    done = bide("hooks", "install", "claude")
    assert done.returncode != 0
    assert b"nothing was written" in done.stderr
    assert path.read_text() == text


def test_a_run_says_what_is_told_of_it(bide: Shell, tmp_path: Path) -> None:
    whose = owner(tmp_path)
    bide.background("true", "--owner", whose, "--notify", "no-success")
    failed = bide.background("false", "--owner", whose, "--notify", "no-success")
    words = ("events", "--follow", "--once", "--json", "--owner", whose)
    assert [one["job"] for one in bide.json(*words)["notices"]] == [failed]


def test_a_word_that_is_nothing_to_be_told_of_is_refused(bide: Shell) -> None:
    done = bide("run", "--notify", "sucess", "--", "true")
    assert done.returncode == 2
    assert b"'sucess' is nothing to be told of" in done.stderr


@pytest.mark.parametrize("words", [("events", "--owner", ""), ("events", "--as", ""), ("inbox", "--owner", "")])
def test_a_name_that_is_empty_is_nobody_rather_than_somebody_else(bide: Shell, words: tuple[str, ...]) -> None:
    done = bide(*words)
    assert done.returncode == 2
    assert b"a name cannot be empty; leave the option out, or say whose" in done.stderr


def test_a_hook_that_is_written_wrongly_does_not_keep_the_agent_from_resting(bide: Shell) -> None:
    done = bide("hook", "stop", "--client", "claude", "--on-turn-end", "sleep", stdin=b"{}")
    assert done.returncode == 1
    assert b"invalid choice: 'sleep'" in done.stderr


def test_events_can_wait_for_what_is_grave_alone(bide: Shell, tmp_path: Path) -> None:
    ended(bide, owner_of("claude-code", str(tmp_path)))
    owner = ("--owner", owner_of("claude-code", str(tmp_path)))
    assert bide.out("events", *owner, "--least", "critical") == ""
    assert bide.json("events", *owner, "--least", "error")["notices"][0]["what"] == "failed"


def running(bide: Shell, tmp_path: Path, script: str = "echo compiling; exec sleep 1000", *options: str) -> str:
    """A job of the agent that goes on."""
    job = bide.background(script, "--owner", owner_of("claude-code", str(tmp_path)), *options)
    while "echo" in script and b"compiling" not in bide("logs", job).stdout:
        pass
    return job


def test_138_139_the_stop_hook_asks_about_what_still_runs_once(bide: Shell, tmp_path: Path) -> None:
    job = running(bide, tmp_path, "echo compiling; exec sleep 1000", "--name", "build", "--label", "cargo")
    said = hook(bide, "stop", tmp_path)
    assert said["decision"] == "block"
    assert re.search(r'build, "cargo": running for \d+\.\d s\n\| compiling\n', said["reason"])
    assert 'wait: call await {"jobs": ["build"]} or run `bide wait ID`' in said["reason"]
    assert hook(bide, "stop", tmp_path) == {}
    assert "build" in hook(bide, "stop", tmp_path, session="s2")["reason"]
    bide.out("kill", job)


@pytest.mark.parametrize(
    ("tools", "wait", "abort"),
    [
        ("core", 'call await {"jobs": ["build"]} or run', 'call kill {"jobs": ["build"]} or run'),
        ("job", 'call job {"poll": ["build"]} or run', 'call job {"cancel": ["build"]} or run'),
        ("sessions", 'call waitJob {"jobId": "build"} or run', 'call killJob {"jobId": "build"} or run'),
        ("handles", 'call await {"all": ["build"]} or run', "run"),
    ],
)
def test_265_hooks_that_are_installed_beside_a_toolset_name_its_tools(
    bide: Shell, tmp_path: Path, tools: str, wait: str, abort: str
) -> None:
    bide.out("mcp", "install", "claude", "--tools", tools)
    bide.out("hooks", "install", "claude")
    settings = json.loads((bide.folder / ".claude/settings.json").read_text())
    words = shlex.split(settings["hooks"]["Stop"][0]["hooks"][0]["command"])
    job = running(bide, tmp_path, "echo compiling; exec sleep 1000", "--name", "build")
    more = tuple(words[words.index("claude") + 1 :])
    said = hook(bide, "stop", tmp_path, more=more)["reason"]
    assert f"wait: {wait} `bide wait ID`" in said
    assert f"abort: {abort} `bide kill ID`" in said
    bide.out("kill", job)


def test_142_the_stop_hook_waits_and_hands_over_what_ended_and_aborts_the_rest(bide: Shell, tmp_path: Path) -> None:
    running(bide, tmp_path, "sleep 0.3; exit 3", "--name", "soon")
    late = running(bide, tmp_path, "exec sleep 1000", "--name", "late")
    said = hook(bide, "stop", tmp_path, more=("--on-turn-end", "await", "--await-timeout", "1500ms"))
    assert "(soon) exited with 3" in said["reason"]
    assert f"aborted at the end of the turn: {late} (late)" in said["reason"]
    assert bide.json("show", late)["reason"] == "killed"
    assert hook(bide, "stop", tmp_path) == {}


def test_143_the_stop_hook_aborts_all_but_services(bide: Shell, tmp_path: Path) -> None:
    job = running(bide, tmp_path)
    whose = owner_of("claude-code", str(tmp_path))
    assert bide("service", "start", "web", "--", "sleep", "1000", BIDE_OWNER=whose).returncode == 0
    said = hook(bide, "stop", tmp_path, more=("--on-turn-end", "abort"))
    assert job in said["systemMessage"]
    assert "decision" not in said
    assert bide.json("show", job)["reason"] == "killed"
    assert bide.json("show", "web")["phase"] == "running"
    assert bide("kill", "web", BIDE_OWNER=whose).returncode == 0


def test_the_stop_hook_leaves_what_runs_where_that_is_the_policy(bide: Shell, tmp_path: Path) -> None:
    job = running(bide, tmp_path)
    assert hook(bide, "stop", tmp_path, more=("--on-turn-end", "leave")) == {}
    bide.out("kill", job)


def test_hooks_install_writes_the_policy_and_gives_the_hook_the_time_for_it(bide: Shell, tmp_path: Path) -> None:
    bide.out("hooks", "install", "claude", "--on-turn-end", "await", "--await-timeout", "90s")
    found = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]
    (stop,) = found["Stop"][0]["hooks"]
    assert stop["command"].endswith(" hook stop --client claude --on-turn-end await --await-timeout 90000ms")
    assert stop["timeout"] == 105
    assert found["UserPromptSubmit"][0]["hooks"][0]["command"].endswith(" hook prompt --client claude")
