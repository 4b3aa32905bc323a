"""MCP servers that a request names: how each CLI is told of those that the operator has described. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from bide.model.errors import BadRequest
from bide.model.llm.answer import Note
from bide.model.llm.ask import Ask

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_CONFIG = "mcp_config"


def with_servers(ask: Ask, described: Mapping[str, str]) -> tuple[Ask, list[Note]]:
    """The request with options that name its servers, and a note on each that its CLI is not told of. Raises BadRequest."""
    if ask.mcp_optional:
        # To Gemini a name means that its other servers are not to be used.
        names = () if ask.cli == "gemini" else tuple(name for name in ask.mcp_servers if name in described)
        found, _ = with_servers(replace(ask, mcp_servers=names, mcp_optional=False), described)
        return found, []
    for name in ask.mcp_servers:
        if not _NAME.match(name):
            detail = f"{name!r} cannot be an MCP server; it has 1 to 64 letters, digits, _ and -"
            raise BadRequest(detail=detail, field="mcpServers")
    commands = {name: words for name in ask.mcp_servers if (words := _words(described.get(name, "")))}
    told: dict[str, Any] = {}
    if ask.cli == "gemini":
        # It has its servers in its own settings, and is told which of them to use.
        told = {"allowed_mcp_server_names": list(ask.mcp_servers)} if ask.mcp_servers else {}
        commands = {name: [name] for name in ask.mcp_servers}
    elif ask.cli == "claude" and commands and _CONFIG not in ask.options:
        servers = {name: {"command": words[0], "args": words[1:]} for name, words in commands.items()}
        told = {_CONFIG: json.dumps({"mcpServers": servers}, sort_keys=True)}
    elif ask.cli == "codex" and commands:
        told = {"config": [*ask.options.get("config", ()), *_settings(commands)]}
    unknown = [name for name in ask.mcp_servers if name not in commands or not told]
    notes = [Note("mcp_server_ignored", _ignored(ask.cli, name)) for name in unknown]
    return replace(ask, options={**ask.options, **told}), notes


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise BadRequest(
            detail=f"the MCP server's command {command!r} cannot be read ({error}); correct llm.mcp_servers"
        ) from error


def _settings(commands: Mapping[str, list[str]]) -> list[str]:
    """As Codex reads them: values are TOML, for which JSON will do here."""
    found: list[str] = []
    for name, words in commands.items():
        found.append(f"mcp_servers.{name}.command={json.dumps(words[0])}")
        if words[1:]:
            found.append(f"mcp_servers.{name}.args={json.dumps(words[1:])}")
    return found


def _ignored(cli: str, name: str) -> str:
    return f"{cli} is not told of the MCP server {name!r}; describe it under [llm.mcp_servers], or in the CLI's own settings."
