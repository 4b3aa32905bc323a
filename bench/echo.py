"""python -m bench.echo: the SDK's own server with two tools, one that repeats text and one that runs a command, to stand beside bide's."""

from __future__ import annotations

from asyncio.subprocess import DEVNULL, PIPE, create_subprocess_exec

from mcp.server import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(said: str) -> str:
    """Say it again."""
    return said


@server.tool()
async def run(command: list[str]) -> str:
    """Run a command and return its output and its exit code, as a minimal server does."""
    process = await create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    stdout, stderr = await process.communicate()
    return f"exit code {process.returncode}\n{stdout.decode()}{stderr.decode()}"


if __name__ == "__main__":
    server.run("stdio")
