"""What is no message is answered as such, if it can be seen to be a request, and the connection goes on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mcpserver import inputs
from tests.mcpserver.wire import Wire, wire
from tests.support import homes

from bide.mcpserver import toolsets

OURS = (0, -32603)
"""Codes that say that we failed."""
UNREADABLE = {
    "half a character": b'"params":{"name":"logs","arguments":{"job":"\\ud800"}}',
    "a number without end": b'"params":{"name":"logs","arguments":{"job":"done","tail":%s}}' % (b"9" * 5000),
    "no object": b'"params":[1]',
    "no text": b'"params":{"name":"logs","arguments":{"job":"\xff"}}',
}
ARGUMENTS: tuple[object, ...] = (None, 7, "x", [], [1], True, {"\x00": 1}, {"job": float("nan")})
METHODS = (
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "prompts/get",
    "prompts/list",
    "tasks/get",
    "tasks/cancel",
    "completion/complete",
    "logging/setLevel",
    "no/such",
    "",
)


@pytest.fixture
async def client(home: Path, tmp_path: Path) -> AsyncIterator[Wire]:
    async with homes.local(home) as jobs, wire(jobs, tmp_path, tuple(toolsets.made())) as found:
        yield found


@pytest.mark.parametrize("what", UNREADABLE)
async def test_a_request_that_cannot_be_read_is_answered_under_its_id(client: Wire, what: str) -> None:
    await client.send(b'{"jsonrpc":"2.0","id":"mine","method":"tools/call",%s}' % UNREADABLE[what])
    # Bytes that are no text may be hidden in the id as well, so that it is not believed.
    error = (await client.answer(None if what in ("no text", "a number without end") else "mine"))["error"]
    assert error["code"] in (-32700, -32600)
    assert error["message"].startswith("this is no message of the protocol, so nothing was done: ")
    assert len(error["message"]) < 300
    assert "result" in await client.request("tools/list", {})


@pytest.mark.parametrize("id_", ['{"a": 1}', "[1]", "1.5", "true", "null", "NaN"])
async def test_a_request_whose_id_cannot_be_one_is_refused(client: Wire, id_: str) -> None:
    await client.send(f'{{"jsonrpc": "2.0", "method": "tools/list", "id": {id_}}}'.encode())
    assert (await client.answer(None))["error"]["code"] == -32600
    assert "result" in await client.request("tools/list", {})


async def test_a_line_that_is_no_request_is_answered_without_an_id(client: Wire) -> None:
    for line in (b"no json", b"[" * 5000, b"7", b'{"id":1,"result":3}', b'{"jsonrpc":"2.0","id":3,"result":[]}'):
        await client.send(line)
        assert (await client.answer(None))["error"]["code"] in (-32700, -32600)
    assert "result" in await client.request("tools/list", {})


async def test_arguments_that_are_no_object_are_refused(client: Wire) -> None:
    for arguments in ARGUMENTS[1:]:
        answer = await client.call("logs", arguments)
        assert answer.get("error", {}).get("code") == -32602 or answer["result"]["isError"], arguments


PARAMS = st.dictionaries(
    st.sampled_from(("name", "uri", "arguments", "cursor", "_meta", "taskId", "level", "ref", "argument")),
    inputs.ANYTHING | st.sampled_from(inputs.STRANGE),
    max_size=3,
)


@settings(inputs.SETTINGS, max_examples=150)
@given(method=st.sampled_from(METHODS), params=PARAMS | st.none())
async def test_every_request_is_answered(client: Wire, method: str, params: object) -> None:
    answer = await client.request(method, params)
    assert answer.get("error", {}).get("code") not in OURS, answer


async def test_a_toolset_that_the_daemon_does_not_have_is_said(home: Path, tmp_path: Path) -> None:
    async with homes.local(home) as jobs, wire(jobs, tmp_path, ("core", "nope")) as client:
        for method, params in (("tools/list", {}), ("tools/call", {"name": "jobs"})):
            error = (await client.request(method, params))["error"]
            assert error["code"] == -32602
            assert error["message"].startswith("no toolset 'nope' in this daemon (bide ")
            assert "known are core, " in error["message"]
