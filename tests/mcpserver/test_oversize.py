"""A message that is too large is answered as such, under its id where that can be read, and everything goes on."""

import json
from collections.abc import AsyncIterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage
from tests.mcpserver.clients import Sender
from tests.mcpserver.test_http import token
from tests.mcpserver.test_stdio import INITIALIZE, INITIALIZED, TOOLS, ask, served
from tests.mcpserver.wire import Wire, wire
from tests.support import homes

from bide.mcpserver.protocol import frames
from bide.model.frames import FRAME_MAX

_ = served
MUCH = "x" * (FRAME_MAX + 1000)
LARGE: list[tuple[object, dict[str, Any]]] = [
    (7, {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "run", "arguments": {"x": MUCH}}}),
    ("p", {"method": "tools/call", "params": {"id": 5, "arguments": {"x": [MUCH]}}, "jsonrpc": "2.0", "id": "p"}),
    (-3, {"id": -3, "jsonrpc": "2.0", "method": "tools/call", "params": [[[MUCH]]]}),
    (None, {"method": "tools/call", "params": {"x": MUCH + '"},"id":9}', "id": 5}}),
]


@pytest.fixture
async def client(home: Path, tmp_path: Path) -> AsyncIterator[Wire]:
    async with homes.local(home) as jobs, wire(jobs, tmp_path, ("core",)) as found:
        yield found


async def test_the_door_answers_a_request_that_is_too_large_under_its_id(client: Wire) -> None:
    for id_, message in LARGE:
        await client.send(json.dumps(message).encode())
        error = (await client.answer(id_))["error"]
        assert error["code"] == -32600
        assert "larger than 16 MiB" in error["message"]
        assert "result" in await client.request("tools/list", {})


async def test_a_message_with_too_many_values_is_answered_under_its_id(client: Wire) -> None:
    for id_, value in ((3, "x"), ("q", 1)):
        jobs: list[object] = [value] * 60_000
        call: dict[str, object] = {"name": "await", "arguments": {"jobs": jobs}}
        await client.send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": call}).encode())
        error = (await client.answer(id_))["error"]
        assert (error["code"], "more than 50000 values" in error["message"]) == (-32600, True)
    assert "result" in await client.request("tools/list", {})


async def test_an_answer_that_is_too_large_becomes_an_error() -> None:
    into, out = anyio.create_memory_object_stream[SessionMessage](2)
    for id_, text in ((1, MUCH), (2, "fits")):
        await into.send(SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=id_, result={"text": text})))
    into.close()
    to_client, at_client = anyio.create_memory_object_stream[bytes](2)
    async with to_client, at_client:
        await frames.transmit(Sender(to_client), out)
        first, second = [json.loads(await at_client.receive()) for _ in range(2)]
    assert (first["id"], "larger than 16 MiB" in first["error"]["message"]) == (1, True)
    assert second["result"] == {"text": "fits"}


async def test_an_answer_of_a_client_that_is_too_large_counts_as_failed(client: Wire) -> None:
    await client.send(json.dumps({"jsonrpc": "2.0", "id": 5, "result": {"x": MUCH}}).encode())
    assert "result" in await client.request("tools/list", {})


async def test_bide_mcp_answers_what_is_too_large_and_stays(served: Path) -> None:
    said = [INITIALIZE, INITIALIZED, *(message for _, message in LARGE), {**TOOLS, "id": 99}]
    answers = {answer.get("id"): answer for answer in ask(served, *said)}
    for id_, _ in LARGE:
        assert "larger than 16 MiB" in answers[id_]["error"]["message"]
    assert "result" in answers[99]


async def test_over_http_too(home: Path, port: int) -> None:
    plain = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    plain["authorization"] = f"Bearer {token(home)}"
    for id_, message in LARGE:
        link = HTTPConnection("127.0.0.1", port, timeout=20)
        link.request("POST", "/mcp", json.dumps(message), plain)
        answer = link.getresponse()
        assert answer.status == 413
        body = json.loads(answer.read())
        link.close()
        assert (body["id"], body["error"]["code"]) == (id_, -32600)
        assert "larger than 16 MiB" in body["error"]["message"]
    link = HTTPConnection("127.0.0.1", port, timeout=20)
    fits = {**INITIALIZE, "params": {**INITIALIZE["params"], "_meta": {"x": "y" * 8_000_000}}}
    link.request("POST", "/mcp", json.dumps(fits), plain)
    assert link.getresponse().status == 200
    link.close()
