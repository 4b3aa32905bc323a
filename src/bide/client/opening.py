"""The opening requests of an MCP client and what the server answered to them last time, kept in the home.

Keyed by version and toolsets, so that another bide never answers with old words.
"""

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

_METHODS = ("initialize", "server/discover", "tools/list", "resources/templates/list", "prompts/list")
_LISTS = ("tools/list",)
_CLIENT = "io.modelcontextprotocol/clientInfo"


class Opening:
    """Answers kept from earlier connections."""

    def __init__(self, path: str) -> None:
        """Read what is kept at `path`; nothing, if it is not there or cannot be read."""
        self._path = path
        self._kept: dict[str, Json] = {}
        self._asked: dict[str, str] = {}
        self.client = ""
        """The name that the client gives itself, once it has."""
        try:
            with open(path, "rb") as file:
                found = json.load(file)
            self._kept = found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            pass

    def answer(self, id_: str, message: "Json") -> bytes | None:
        """The answer to a request, if it is known; it is asked again all the same, to keep what is known true."""
        self.client = self.client or _client(message)
        key = _key(message, self.client)
        if key is None:
            return None
        self._asked[id_] = key
        if key not in self._kept:
            return None
        body = {"jsonrpc": "2.0", "id": message["id"], "result": self._kept[key]}
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    def learn(self, id_: str, message: "Json") -> bool:
        """Keep an answer; whether a list that the client has had is another now."""
        key = self._asked.pop(id_, None)
        result = message.get("result")
        if key is None or not isinstance(result, dict) or self._kept.get(key) == result:
            return False
        changed = key in self._kept and key.startswith(_LISTS)
        self._kept[key] = result
        self._save()
        return changed

    def _save(self) -> None:
        temporary = f"{self._path}.{os.getpid()}"
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(self._kept, file)
            os.replace(temporary, self._path)
        except OSError:
            pass  # the next client waits a little longer, that is all


def _client(message: "Json") -> str:
    params = _object(message.get("params"))
    info = _object(params.get("clientInfo")) or _object(_object(params.get("_meta")).get(_CLIENT))
    return str(info.get("name") or "")


def _object(value: "Json | None") -> "Json":
    return value if type(value) is dict else {}


def _key(message: "Json", client: str) -> str | None:
    """What the answer depends on, beside our own version: the method, which protocol is spoken, and by whom."""
    method = message.get("method")
    if method not in _METHODS:
        return None
    params = _object(message.get("params"))
    if params.get("cursor"):
        return None
    meta = _object(params.get("_meta"))
    spoken: object = params.get("protocolVersion") or meta.get("io.modelcontextprotocol/protocolVersion") or ""
    return f"{method} {spoken} {client}" if method in _LISTS else f"{method} {spoken}"
