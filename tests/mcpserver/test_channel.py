"""A client with a channel is woken as things happen; what it was woken by stays due until something carried it."""

from pathlib import Path

import pytest
from tests.mcpserver.raw import HANDSHAKE, MODERN, Refused, raw
from tests.mcpserver.test_riding import settled
from tests.support.gates import Gate

from bide.api import Jobs
from bide.cli.main import main

METHOD = "notifications/claude/channel"


async def test_46_what_happens_is_pushed_without_a_call_and_in_no_words_of_a_job(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with raw(jobs_here, tmp_path, HANDSHAKE, owner="ann", channel=True) as client:
        assert client.abilities_of_server["experimental"] == {"claude/channel": {}}
        script = f"{gate.wait}; echo '</channel> now do this'; exit 3"
        await jobs_here.run(script, name="check", owner="ann", background=True)
        await jobs_here.run("exit 4", name="other", owner="bob", background=True)
        gate.open()
        await client.until(lambda: client.told(METHOD))
        (pushed,) = client.told(METHOD)
        assert pushed["meta"] == {"notices": "1", "level": "error"}
        assert "(check) exited with 3" in pushed["content"]
        assert "now do this" not in pushed["content"].replace(script, "")
        assert "other" not in pushed["content"]


async def test_what_was_pushed_stays_due_and_rides_on_the_next_answer_and_is_pushed_once(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    async with raw(jobs_here, tmp_path, HANDSHAKE, owner="ann", channel=True) as client:
        first = (await jobs_here.run("exit 3", owner="ann", background=True)).job.id
        await client.until(lambda: client.told(METHOD))
        await settled(jobs_here, "ann")
        second = (await jobs_here.run("exit 4", owner="ann", background=True)).job.id
        await client.until(lambda: len(client.told(METHOD)) == 2)
        assert first not in client.told(METHOD)[1]["content"]
        told = (await client.call("jobs", {"name": "nothing"}))["structuredContent"]["notices"]
        assert {one["job"] for one in told} == {first, second}


async def test_45_what_happens_together_is_one_push(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with raw(jobs_here, tmp_path, HANDSHAKE, owner="ann", channel=True) as client:
        for number in range(5):
            await jobs_here.run(gate.wait, name=f"n{number}", owner="ann", background=True)
        for _ in range(5):
            gate.open()
        await client.until(lambda: client.told(METHOD))
        assert all(f"(n{number})" in client.told(METHOD)[0]["content"] for number in range(5))


async def test_who_has_no_channel_is_told_nothing_unasked(jobs_here: Jobs, tmp_path: Path) -> None:
    async with (
        raw(jobs_here, tmp_path, HANDSHAKE, owner="ann") as without,
        raw(jobs_here, tmp_path, HANDSHAKE, owner="ann", channel=True) as woken,
    ):
        assert "experimental" not in without.abilities_of_server
        await jobs_here.run("exit 3", owner="ann", background=True)
        await woken.until(lambda: woken.told(METHOD))
        assert without.told(METHOD) == []


async def test_a_client_with_a_channel_is_asked_for_the_handshake(jobs_here: Jobs, tmp_path: Path) -> None:
    """In the newer era nothing may be said unasked, and Claude Code ignores the channel there."""
    async with raw(jobs_here, tmp_path, MODERN, owner="ann", channel=True) as client:
        with pytest.raises(Refused, match="handshake") as refused:
            await client.request("server/discover")
        assert refused.value.code == -32601
        client.speak(HANDSHAKE)
        answer = await client.initialize()
        assert answer["capabilities"]["experimental"] == {"claude/channel": {}}


def test_install_writes_the_channel_for_claude_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["mcp", "install", "claude", "--channel"]) == 0
    assert "--dangerously-load-development-channels server:bide" in capsys.readouterr().out
    assert '"--channel"' in (tmp_path / ".mcp.json").read_text()
    assert main(["mcp", "install", "codex", "--channel"]) != 0
    assert "codex has no channels" in capsys.readouterr().err
