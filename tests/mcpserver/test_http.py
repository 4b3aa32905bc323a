"""MCP over HTTP: loopback, with a token, for nobody's browser."""

import json
import socket
from http.client import HTTPConnection
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.mcpserver.clients import ERAS, Agent
from tests.support import homes
from tests.support.patience import eventually

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


async def test_only_who_has_the_token_and_is_no_web_page_is_served(home: Path, port: int) -> None:
    bearer = f"Bearer {token(home)}"
    assert status(port) == 401
    assert status(port, authorization="Bearer wrong") == 401
    assert status(port, authorization=bearer) == 200
    assert status(port, authorization=bearer, host="evil.example") == 421
    assert status(port, authorization=bearer, origin="http://evil.example") == 403


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_with_a_url_uses_the_same_tools(home: Path, port: int, era: str) -> None:
    headers = {"authorization": f"Bearer {token(home)}", "bide-owner": "remote", "bide-folder": str(home)}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http), mode=era) as client,
    ):
        ai = Agent(client)
        data = await ai.data("run", command="pwd")
        assert data["out"]["text"] == f"{home}\n"
        assert (await ai.data("run", command="pwd"))["job"] != data["job"]


async def test_a_port_that_is_taken_is_said_and_the_rest_is_served(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(f"[mcp]\nport = {taken.getsockname()[1]}\n")
        async with homes.remote(home) as jobs:
            await jobs.run("true")
            await eventually(lambda: "'mcp.port'" in (home / "daemon.log").read_text())
