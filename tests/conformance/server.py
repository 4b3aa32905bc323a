"""Serves a door with the suite's fixtures over HTTP on loopback, and says where on stdout. For the conformance run alone."""

import json
import os
import socket
import sys
import tempfile
import warnings

import anyio
import uvicorn
from mcp.shared.exceptions import MCPDeprecationWarning
from tests.conformance.fixtures import FixtureDoor
from tests.support.homes import end_everything

import bide
from bide.mcpserver.http import configured


async def main() -> None:
    """Until stdin is closed."""
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    sock = socket.create_server(("127.0.0.1", 0))
    with tempfile.TemporaryDirectory(prefix="bide-conformance-") as home:
        async with bide.local(home) as jobs, anyio.create_task_group() as group:
            door = FixtureDoor(jobs, group)
            app = door.server.streamable_http_app(streamable_http_path="/mcp", host="127.0.0.1")
            server = uvicorn.Server(configured(app))
            async with anyio.create_task_group() as serving:
                serving.start_soon(lambda: server.serve(sockets=[sock]))
                sys.stdout.write(f"http://127.0.0.1:{sock.getsockname()[1]}/mcp\n")
                sys.stdout.flush()
                await anyio.wait_readable(0)
                server.should_exit = True
            await end_everything(jobs)
            group.cancel_scope.cancel()
    sys.stdout.write(f"{json.dumps(FixtureDoor.answered)}\n")


if __name__ == "__main__":
    os.environ.pop("BIDE_OWNER", None)
    anyio.run(main)
