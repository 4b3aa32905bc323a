"""MCP over HTTP: loopback, with a token, for nobody's browser."""

import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.mcpserver.clients import ERAS, Agent
from tests.support import homes
from tests.support.patience import eventually

from bide.mcpserver import http

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def status(port: int, **headers: str) -> int:
    """The status of an opening request with these headers."""
    link = HTTPConnection("127.0.0.1", port, timeout=10)
    plain = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    link.request(
        "POST", "/mcp", json.dumps(INITIALIZE), plain | {key.replace("_", "-"): value for key, value in headers.items()}
    )
    try:
        return link.getresponse().status
    finally:
        link.close()


def token(home: Path) -> str:
    path = home / "mcp-token"
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text().strip()


def test_the_token_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert len(http.token(str(tmp_path))) > 30
    finally:
        os.umask(before)
    assert token(tmp_path) == http.token(str(tmp_path))


def test_an_empty_token_that_a_crash_left_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "mcp-token").touch(mode=0o600)
    assert len(http.token(str(tmp_path))) > 30
    assert [path.name for path in tmp_path.iterdir()] == ["mcp-token"]


async def test_only_who_has_the_token_and_is_no_web_page_is_served(home: Path, port: int) -> None:
    bearer = f"Bearer {token(home)}"
    assert status(port) == 401
    assert status(port, authorization="Bearer wrong") == 401
    assert status(port, authorization=bearer) == 200
    assert status(port, authorization=bearer, host="evil.example") == 421
    assert status(port, authorization=bearer, origin="http://evil.example") == 403


@asynccontextmanager
async def over(home: Path, port: int, era: str, **headers: str) -> AsyncGenerator[Agent]:
    """The official client, with these headers."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token(home)}", **headers}) as line,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=line), mode=era) as client,
    ):
        yield Agent(client)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_with_a_url_uses_the_same_tools(home: Path, port: int, era: str) -> None:
    async with over(home, port, era, **{"bide-owner": "remote", "bide-folder": str(home), "bide-output": "data"}) as ai:
        data = await ai.data("run", command="pwd")
        assert data["out"]["text"] == f"{home}\n"
        assert (await ai.data("run", command="pwd"))["job"] != data["job"]


async def test_the_headers_choose_toolsets_owner_and_scope(home: Path, port: int) -> None:
    async def asked(**headers: str) -> tuple[set[str], set[str], set[str], list[str]]:
        async with over(home, port, ERAS[1], **headers) as ai:
            tools = {tool.name for tool in (await ai.client.list_tools()).tools}
            uris = {str(one.uri) for one in (await ai.client.list_resources()).resources}
            templates = {one.uri_template for one in (await ai.client.list_resource_templates()).resource_templates}
            if "jobs" not in tools:
                return tools, uris, templates, []
            seen = (await ai.data("jobs", scope=headers.get("bide-scope", "own")))["jobs"]
            return tools, uris, templates, [one["job"] for one in seen]

    async with over(home, port, ERAS[0], **{"bide-owner": "ann"}) as ann:
        job = (await ann.data("run", command="true"))["job"]
    cache, of_session = "cache_state://global", "cache_state://session/{id}"
    tools, uris, templates, jobs = await asked(**{"bide-owner": "bob", "bide-tools": "all", "bide-scope": "all"})
    assert {"run", "job", "exec", "process__run", "await", "claude_request"} <= tools
    assert (cache in uris, of_session in templates, jobs) == (True, True, [job])
    tools, uris, templates, jobs = await asked(**{"bide-owner": "bob"})
    assert (cache in uris, of_session in templates, jobs) == (False, False, [])
    assert "process__run" not in tools
    tools, uris, _, _ = await asked(**{"bide-tools": "job, llm"})
    assert ("job" in tools, "run" in tools, cache in uris) == (True, False, True)
    async with over(home, port, ERAS[1], **{"bide-scope": "everything"}) as ai:
        with pytest.raises(MCPError, match="no scope 'everything'; known are own, "):
            await ai.data("jobs")


async def test_a_port_that_is_taken_is_said_and_the_rest_is_served(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(f"[mcp]\nport = {taken.getsockname()[1]}\n")
        async with homes.remote(home) as jobs:
            await jobs.run("true")
            await eventually(lambda: "'mcp.port'" in (home / "daemon.log").read_text())
