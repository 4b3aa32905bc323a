"""Who calls: what a connection knows of its client, and what each request says of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from msgspec.structs import replace

from bide.mcpserver import toolsets
from bide.mcpserver.display import CHOICES
from bide.mcpserver.scope import SCOPES
from bide.mcpserver.tool import Caller
from bide.model.owners import owner_of


@contextlib.asynccontextmanager
async def over_http(_: Server[Caller]) -> AsyncGenerator[Caller]:
    """Who calls over HTTP: a client of this user that says no more of itself than its name."""
    yield Caller(owner="", client="", cwd=os.path.expanduser("~"), env=dict(os.environ), connection="")


def known(ctx: Any) -> Caller:
    """The caller, with the name that its client gives itself. Raises MCPError for a scope that there is not."""
    caller: Caller = ctx.lifespan_context
    found = ctx.session.client_params
    client = "mcp" if found is None else found.client_info.name
    said: Mapping[str, str] = {} if ctx.request is None else ctx.request.headers
    cwd = said.get("bide-folder", caller.cwd)
    owner = said.get("bide-owner") or caller.owner or owner_of(client, cwd)
    scope = said.get("bide-scope", caller.scope)
    output = said.get("bide-output", caller.output)
    tools = tuple(name.strip() for name in said.get("bide-tools", "").split(",") if name.strip()) or caller.toolsets
    tools = toolsets.NAMES if "all" in tools else tools
    if scope not in SCOPES:
        raise MCPError(code=types.INVALID_PARAMS, message=f"no scope {scope!r}; known are {', '.join(SCOPES)}")
    if output is not None and output not in CHOICES:
        raise MCPError(code=types.INVALID_PARAMS, message=f"no output {output!r}; known are {', '.join(CHOICES)}")
    return replace(caller, client=client, cwd=cwd, owner=owner, scope=scope, toolsets=tools, output=output)


def session_of(ctx: Any) -> str:
    """Return the id of the HTTP session that a request belongs to; empty where there is none."""
    said: Mapping[str, str] = {} if ctx.request is None else ctx.request.headers
    return said.get("mcp-session-id", "")
