"""Changes of what can be read are told: to a connection that subscribed, and on a stream that a client listens to."""

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import (
    EmptyResult,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
)
from tests.mcpserver.clients import ERAS, Agent, agent
from tests.mcpserver.raw import HANDSHAKE, MODERN, Refused, raw
from tests.mcpserver.test_riding import settled
from tests.mcpserver.test_stdio import command, copier_of
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.api import Jobs
from bide.client.opening import Opening
from bide.mcpserver.server import Door
from bide.model.schema import Json

LEGACY = ERAS[0]
LIST = "the list"


async def subscribe(client: Client, uri: str) -> None:
    await client.session.send_request(SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult)


class Listener:
    """A client of either era, and the URIs it was told of."""

    def __init__(self, era: str) -> None:
        self.era = era
        self.told: list[str] = []
        self.agent: Agent

    async def heard(self, message: IncomingMessage) -> None:
        """What comes on the connection; of the newer era it comes on the stream as well."""
        if self.era != LEGACY:
            return
        if isinstance(message, ResourceUpdatedNotification):
            self.told.append(message.params.uri)
        if isinstance(message, ResourceListChangedNotification):
            self.told.append(LIST)

    @asynccontextmanager
    async def to(self, *uris: str, listed: bool = False) -> AsyncGenerator[None]:
        """While inside, it is told of these."""
        client = self.agent.client
        if self.era == LEGACY:
            for uri in uris:
                await subscribe(client, uri)
            if listed:
                await client.list_resources()
            yield
            return
        async with (
            client.listen(resource_subscriptions=uris, resources_list_changed=listed) as stream,
            anyio.create_task_group() as group,
        ):
            group.start_soon(self._listen, stream)
            yield
            group.cancel_scope.cancel()

    async def _listen(self, stream: AsyncIterator[object]) -> None:
        async for event in stream:
            if isinstance(event, ResourceUpdated):
                self.told.append(event.uri)
            if isinstance(event, ResourcesListChanged):
                self.told.append(LIST)

    async def hears(self, uri: str) -> None:
        """Return when it was told of this, and forget what it was told."""
        await eventually(lambda: uri in self.told)
        self.told.clear()


@pytest.fixture(params=ERAS)
async def listener(request: pytest.FixtureRequest, jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Listener]:
    one = Listener(request.param)
    async with agent(jobs_here, tmp_path, owner="me", era=one.era, heard=one.heard) as one.agent:
        yield one


async def test_the_end_of_a_job_is_told_to_who_subscribed_to_it(listener: Listener, gate: Gate) -> None:
    job = (await listener.agent.data("run", command=gate.wait, name="mine", background=True))["job"]
    other = (await listener.agent.data("run", command="true", background=True))["job"]
    async with listener.to(f"job://{job}", "job://mine"):
        await listener.agent.data("await", jobs=[other])
        assert listener.told == []
        gate.open()
        await eventually(lambda: {*listener.told} == {f"job://{job}", "job://mine"})


async def test_a_subscription_tells_that_something_changed_and_the_news_itself_is_still_due(
    listener: Listener, jobs_here: Jobs, gate: Gate
) -> None:
    command = f"{gate.wait}; echo done"
    job = (await listener.agent.data("run", command=command, stdin=True, background=True))["job"]
    async with listener.to(f"job://{job}", f"job://{job}/stdout"):
        gate.open()
        await eventually(lambda: {*listener.told} == {f"job://{job}", f"job://{job}/stdout"})
        await settled(jobs_here, "me")
        (notice,) = (await listener.agent.data("jobs", name="nothing"))["notices"]
        assert notice["job"] == job


async def test_a_job_that_begins_to_wait_for_input_is_told(listener: Listener, gate: Gate) -> None:
    asks = f"{gate.wait}; read x; read y"
    job = (await listener.agent.data("run", command=asks, stdin=True, background=True))["job"]
    async with listener.to(f"job://{job}"):
        gate.open()
        await listener.hears(f"job://{job}")
        assert (await listener.agent.data("await", jobs=[job], until={"input": True}))["waiting"] is not None
        await listener.agent.data("send", job=job, text="1\n")
        await listener.hears(f"job://{job}")


async def test_more_output_is_told_by_stream(listener: Listener, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    speak = f"cat {fifo}; cat {fifo} >&2"
    job = (await listener.agent.data("run", command=speak, background=True))["job"]
    async with listener.to(f"job://{job}/stdout", f"job://{job}/stderr"):
        await anyio.Path(fifo).write_text("out")
        await eventually(lambda: listener.told == [f"job://{job}/stdout"])
        await anyio.Path(fifo).write_text("err")
        await eventually(lambda: listener.told == [f"job://{job}/stdout", f"job://{job}/stderr"])


async def test_the_list_of_jobs_and_what_there_is_to_read_change_with_a_new_job(listener: Listener) -> None:
    async with listener.to("job://list", listed=True):
        await listener.agent.data("run", command="true", background=True)
        await eventually(lambda: {*listener.told} == {"job://list", LIST})


async def test_sessions_are_told_as_well(listener: Listener) -> None:
    await listener.agent.data("session", action="start", id="place")
    async with listener.to("session://place", "session://list", listed=True):
        await listener.agent.data("session", action="update", id="place", env={"A": "1"})
        await listener.hears("session://place")
        await listener.agent.data("run", command="export B=2", session="place")
        await listener.hears("session://place")
        await listener.agent.data("session", action="start", id="other")
        await eventually(lambda: {"session://list", LIST} <= {*listener.told})


async def test_nobody_is_told_of_what_is_anothers(listener: Listener, jobs_here: Jobs, tmp_path: Path) -> None:
    async with listener.to("job://list", "session://list", listed=True):
        async with agent(jobs_here, tmp_path, owner="stranger") as stranger:
            await stranger.data("run", command="true")
            await stranger.data("session", action="start")
        await listener.agent.data("run", command="true")
        await listener.hears("job://list")
        assert "session://list" not in listener.told


async def test_what_is_not_there_or_anothers_cannot_be_subscribed_to(jobs_here: Jobs, tmp_path: Path) -> None:
    hers = (await jobs_here.run("true", owner="her")).job.id
    async with raw(jobs_here, tmp_path, HANDSHAKE) as client:
        for uri in (f"job://{hers}", "job://nothing", "file:///etc/passwd", "session://none"):
            with pytest.raises(Refused) as refused:
                await client.request("resources/subscribe", uri=uri)
            assert (refused.value.code, refused.value.data) == (-32002, {"uri": uri})
    async with raw(jobs_here, tmp_path, MODERN) as client:
        wanted = {"resourceSubscriptions": [f"job://{hers}", "job://list", "session://none"]}
        await client.ask("subscriptions/listen", notifications=wanted)
        await client.until(lambda: client.notes)
        (acknowledged,) = client.told("notifications/subscriptions/acknowledged")
        assert acknowledged["notifications"] == {"resourceSubscriptions": ["job://list"]}


async def test_who_unsubscribes_is_told_no_more(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    job = (await jobs_here.run(gate.wait, owner="raw", background=True)).job.id
    async with raw(jobs_here, tmp_path, HANDSHAKE) as client:
        for uri in ("job://list", f"job://{job}", f"job://{job}"):
            await client.request("resources/subscribe", uri=uri)
        await client.request("resources/unsubscribe", uri=f"job://{job}")
        await client.request("resources/unsubscribe", uri="job://never")
        gate.open()
        await client.until(lambda: client.notes)
        assert client.told("notifications/resources/updated") == [{"uri": "job://list"}]


async def test_watches_end_with_their_connection(jobs_here: Jobs, tmp_path: Path) -> None:
    with anyio.fail_after(20):
        # The group of a door ends when nothing of it is left.
        async with anyio.create_task_group() as group:
            door = Door(jobs_here, group)
            async with agent(jobs_here, tmp_path, door=door) as ai:
                await subscribe(ai.client, "job://list")
                await ai.client.list_resources()
                with pytest.raises(MCPError, match="no job"):
                    await subscribe(ai.client, "job://nothing")


# Over the death of a daemon


@asynccontextmanager
async def through_copier(home: Path, one: Listener) -> AsyncGenerator[None]:
    first, *rest = command(home)
    parameters = StdioServerParameters(command=first, args=rest, env=dict(os.environ))
    async with Client(stdio_client(parameters), mode=one.era, message_handler=one.heard) as client:
        one.agent = Agent(client)
        yield


@pytest.mark.parametrize("era", ERAS)
async def test_a_subscription_holds_over_the_death_of_the_daemon(home: Path, gate: Gate, era: str) -> None:
    one = Listener(era)
    async with homes.remote(home), through_copier(home, one):
        job = (await one.agent.data("run", command=gate.wait, background=True))["job"]
        uri = f"job://{job}"
        async with one.to(uri, listed=True):
            await homes.kill_daemon(home)
            # What happened meanwhile nobody knows: it is to be read again. From then on everything is told.
            await eventually(lambda: {uri, LIST} <= {*one.told})
            one.told.clear()
            gate.open()
            await one.hears(uri)
            assert json.loads(await one.agent.resource(uri))["phase"] == "ended"


async def test_a_copier_whose_client_only_listened_ends_with_it(home: Path) -> None:
    said: Json = {"protocolVersion": MODERN, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in said.items()}
    params = {"notifications": {"resourceSubscriptions": ["job://list"]}, "_meta": meta}
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    async with homes.remote(home):
        with copier_of(home) as copier:
            assert copier.stdin is not None
            assert copier.stdout is not None
            copier.stdin.write(json.dumps(listen).encode() + b"\n")
            copier.stdin.flush()
            assert json.loads(copier.stdout.readline())["method"] == "notifications/subscriptions/acknowledged"
            copier.stdin.close()
            assert copier.wait(timeout=10) == 0


def test_what_there_is_to_read_is_never_answered_from_memory(tmp_path: Path) -> None:
    opening = Opening(str(tmp_path / "kept"))
    for method, known in (("tools/list", True), ("resources/list", False)):
        request = {"jsonrpc": "2.0", "id": 1, "method": method}
        assert opening.answer("1", request) is None
        opening.learn("1", {"jsonrpc": "2.0", "id": 1, "result": {}})
        assert (opening.answer("1", request) is not None) is known
