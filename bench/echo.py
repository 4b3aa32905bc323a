"""python -m bench.echo: the SDK's own server with one tool that says what it is told, to stand beside bide's."""

from __future__ import annotations

from mcp.server import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(said: str) -> str:
    """Say it again."""
    return said


if __name__ == "__main__":
    server.run("stdio")
