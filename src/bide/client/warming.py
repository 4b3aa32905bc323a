"""Has the opening requests of an MCP client answered before it is started for the first time.

Codex gives a server one second: https://github.com/openai/codex/issues/38689. A daemon that has to load the protocol takes longer,
so that its model would see no tool of ours until some requests later.
"""

import json
import select
import time

from bide.client.copier import Lines
from bide.client.start import MCP_SOCKET, ensure_daemon, try_connect
from bide.model.errors import DaemonUnavailable
from bide.model.frames import Oversize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bide.client.opening import Opening

    Json = dict[str, Any]

HASTY = {"codex": ("codex-mcp-client", "2025-06-18")}
"""Clients that do not wait: what each calls itself, and which protocol it speaks."""
_PATIENCE = 30.0


def warm(home: str, hello: "Json", opening: "Opening", client: str) -> None:
    """Keep what the server answers to a client, as `bide mcp` does when that is there. Raises DaemonUnavailable."""
    name, spoken = HASTY[client]
    about = {"protocolVersion": spoken, "capabilities": {}, "clientInfo": {"name": name, "version": "0"}}
    asked: list[Json] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        *({"id": at, "method": method} for at, method in enumerate(("tools/list", "prompts/list"), start=2)),
    ]
    for one in asked:
        opening.answer(str(one.get("id")), one)
    sock = try_connect(home, MCP_SOCKET)
    if sock is None:
        ensure_daemon(home)
        sock = try_connect(home, MCP_SOCKET)
    if sock is None:
        raise DaemonUnavailable(home=home, detail="it ended as soon as it was started")
    try:
        lines = [{**hello, "client": name}, *({"jsonrpc": "2.0", **one} for one in asked)]
        sock.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        _learn(Lines(sock.fileno()), sock.fileno(), opening, {str(one["id"]) for one in asked if "id" in one}, home)
    except OSError as error:
        raise DaemonUnavailable(home=home, detail=str(error)) from error
    finally:
        sock.close()


def _learn(reader: Lines, fd: int, opening: "Opening", waiting: set[str], home: str) -> None:
    poll, until = select.poll(), time.monotonic() + _PATIENCE
    poll.register(fd, select.POLLIN)
    while waiting:
        if reader.over or not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            raise DaemonUnavailable(home=home, detail="it did not answer as an MCP server")
        for line in reader.read():
            if isinstance(line, Oversize):
                continue
            message: Json = json.loads(line)
            if "id" in message:
                opening.learn(str(message["id"]), message)
                waiting.discard(str(message["id"]))
