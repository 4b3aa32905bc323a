"""A client that does not wait for its servers has its opening answered from its very first start in a home."""

import json
from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.support import homes

from bide.cli.main import main
from bide.client.start import MCP_SOCKET
from bide.daemon.main import listening, serve_mcp
from bide.daemon.sockets import SocketGuard
from bide.runtime.local import LocalJobs


async def test_installing_bide_for_codex_has_its_opening_requests_answered(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    words = ["mcp", "install", "codex", "--home", str(home)]
    async with homes.local(home) as jobs:
        assert isinstance(jobs, LocalJobs)
        guard = SocketGuard(jobs.core.home, jobs.core.hub)
        with listening(jobs, MCP_SOCKET) as sock, closing(guard):
            async with anyio.create_task_group() as group:
                group.start_soon(serve_mcp, jobs, sock, guard)
                assert await anyio.to_thread.run_sync(main, words) == 0
                group.cancel_scope.cancel()
    (kept,) = home.glob("mcp-opening-*-core.json")
    answers = json.loads(kept.read_text())
    assert answers["initialize 2025-06-18"]["protocolVersion"] == "2025-06-18"
    assert "run" in [tool["name"] for tool in answers["tools/list  codex-mcp-client"]["tools"]]
    assert (tmp_path / "me/.codex/config.toml").read_text().startswith("[mcp_servers.bide]")


def test_a_home_that_cannot_be_served_is_told_of_and_the_configuration_is_written(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    home.write_text("a file")
    assert main(["mcp", "install", "codex", "--home", str(home)]) == 0
    said = capsys.readouterr()
    assert "wrote bide into" in said.out
    assert "it is not a folder" in said.err
