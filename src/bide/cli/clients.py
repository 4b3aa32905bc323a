"""Where MCP clients keep their configuration, and how bide is written into it."""

import json
import os
import sys

from bide.cli.exits import Usage
from bide.model.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

CLIENTS = {
    "claude": (".mcp.json", "mcpServers"),
    "codex": ("~/.codex/config.toml", "mcp_servers"),
    "gemini": ("~/.gemini/settings.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
}
"""Each client's file (in the project, unless it begins with ~) and the part of it that lists servers."""


def install(client: str, words: list[str], *, home: str | None) -> str:
    """Write bide, with these words, into a client's configuration; the file's path. What is there already stays."""
    path = _path(client)
    text = read_file(path)
    if path.endswith(".toml"):
        changed = _toml(text, _section(words, home))
    else:
        changed = _json(text, client, path, _entry(client, words, home))
    if changed != text:
        write_file(path, changed)
    return path


def toolsets_of(client: str) -> str:
    """Return the toolsets that a client's configuration has of bide; `core` if it says none."""
    from re import search  # noqa: PLC0415 - only hooks ask for it

    text = read_file(_path(client))
    found = search(r'"--tools(?:=|",\s*")([a-z,]+)"', text)
    return found[1] if found else "core"


def snippet(client: str, words: list[str], *, home: str | None) -> str:
    """What `install` would write, for those who write it themselves."""
    if _path(client).endswith(".toml"):
        return _section(words, home)
    return _listing(client, _entry(client, words, home))


def _listing(client: str, entry: "Json") -> str:
    return json.dumps({CLIENTS[client][1]: {"bide": entry}}, indent=2) + "\n"


def _path(client: str) -> str:
    if client not in CLIENTS:
        raise Usage(detail=f"no client {client!r}; known are {', '.join(CLIENTS)}")
    return os.path.abspath(os.path.expanduser(CLIENTS[client][0]))


def our_command() -> str:
    """This very bide, wherever the client starts it from."""
    beside = os.path.join(os.path.dirname(sys.executable), "bide")
    return beside if os.access(beside, os.X_OK) else "bide"


def _entry(client: str, words: list[str], home: str | None) -> "Json":
    entry: Json = {"command": our_command(), "args": words}
    if client == "vscode":
        entry = {"type": "stdio", **entry}
    if home:
        entry["env"] = {"BIDE_HOME": home}
    return entry


def _json(text: str, client: str, path: str, entry: "Json") -> str:
    try:
        found: Json = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise BadRequest(
            detail=f"{path} cannot be read as JSON ({error}); add this by hand:\n{_listing(client, entry)}"
        ) from None
    part = CLIENTS[client][1]
    servers: Json | None = found.get(part, {}) if type(found) is dict else None
    if type(servers) is not dict:
        raise BadRequest(
            detail=f"{path} is not laid out as {client} wants it; add this by hand:\n{_listing(client, entry)}"
        )
    whole: Json = {**found, part: {**servers, "bide": entry}}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _section(words: list[str], home: str | None) -> str:
    env = f"env = {{ BIDE_HOME = {json.dumps(home)} }}\n" if home else ""
    return f"[mcp_servers.bide]\ncommand = {json.dumps(our_command())}\nargs = {json.dumps(words)}\n{env}"


def _toml(text: str, section: str) -> str:
    """The text with our section at its end, in place of an older one of ours."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    ours = False
    for line in lines:
        if line.lstrip().startswith("["):
            ours = line.strip().startswith(("[mcp_servers.bide]", "[mcp_servers.bide."))
        if not ours:
            kept.append(line)
    before = "".join(kept).rstrip("\n")
    return f"{before}\n\n{section}" if before else section


def read_file(path: str) -> str:
    """What a configuration says; empty if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(detail=f"{path} cannot be read: {error}") from None


def write_file(path: str, text: str) -> None:
    """Write a configuration whole or not at all."""
    temporary = f"{path}.bide-{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        os.replace(temporary, path)
    except OSError as error:
        raise BadRequest(detail=f"{path} cannot be written: {error.strerror}") from None
