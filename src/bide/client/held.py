"""What an MCP client wants to be told of, held over the death of a daemon.

The next daemon is asked for the same, and once it watches the client is told that everything may be another by now:
nobody knows what happened in between, and whoever is told reads again.
"""

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_TOOLS = "notifications/tools/list_changed"


class Held:
    """The subscriptions of one client, of either era."""

    def __init__(self) -> None:
        """It wants nothing yet."""
        self.listens: set[str] = set()
        """Requests that are never answered: what comes is what they asked for."""
        self._asked: dict[str, tuple[str, bytes]] = {}
        self._subscribed: dict[str, tuple[str, bytes]] = {}
        """URIs and requests by the ids of the requests, before and after they were answered."""
        self._acknowledged: set[str] = set()
        self._of_tools: dict[str, Json] = {}
        """How what is said of the tools is stamped, for each listening request that wants to know."""
        self._has_old_tools = False
        self._has_listed = False

    def from_client(self, id_: str, message: "Json", line: bytes) -> None:
        """Remember what is asked for."""
        method = message["method"]
        params: Json = message["params"] if isinstance(message.get("params"), dict) else {}
        uri = str(params.get("uri"))
        if method == "resources/subscribe":
            self._asked[id_] = (uri, line)
        elif method == "resources/unsubscribe":
            self._subscribed = {key: held for key, held in self._subscribed.items() if held[0] != uri}
        elif method == "subscriptions/listen":
            self.listens.add(id_)
        elif method == "resources/list":
            self._has_listed = True

    def cancelled(self, id_: str) -> None:
        """The client listens no longer."""
        self._of_tools.pop(id_, None)

    def lines(self) -> list[bytes]:
        """What the next daemon is asked for, beside what is not answered yet."""
        return [line for _, line in self._subscribed.values()]

    def from_daemon(self, message: "Json", id_: str | None) -> list[bytes] | None:
        """What the client gets in place of this frame; `None` for the frame itself."""
        if id_ is None:
            return self._renewed(message) if message.get("method") == _ACKNOWLEDGED else None
        self.listens.discard(id_)
        if id_ in self._subscribed:
            uri, _ = self._subscribed[id_] if "result" in message else self._subscribed.pop(id_)
            return [_updated(uri)]
        asked = self._asked.pop(id_, None)
        if asked is not None and "result" in message:
            self._subscribed[id_] = asked
        return None

    def begun_again(self) -> list[bytes]:
        """What a client of the handshake is told when another daemon has heard it."""
        return [_note("notifications/resources/list_changed", {})] if self._has_listed else []

    def tools_changed(self, *, handshake: bool) -> list[bytes]:
        """What a client is told whose tools are others than it was answered; who is not listening yet, when it does."""
        if handshake:
            return [_note(_TOOLS, {})]
        self._has_old_tools = not self._of_tools
        return [_note(_TOOLS, stamp) for stamp in self._of_tools.values()]

    def _renewed(self, message: "Json") -> list[bytes] | None:
        params: Json = message.get("params") or {}
        stamp: Json = params.get("_meta") or {}
        id_: object = stamp.get(_SUBSCRIPTION)
        key = json.dumps(id_)
        meta: Json = {"_meta": {_SUBSCRIPTION: id_}}
        wanted: Json = params.get("notifications") or {}
        if key not in self._acknowledged:
            self._acknowledged.add(key)
            return self._begun(key, message, meta) if wanted.get("toolsListChanged") else None
        notes = [_note(_TOOLS, meta)] if wanted.get("toolsListChanged") else []
        notes += [_updated(uri, meta) for uri in wanted.get("resourceSubscriptions") or ()]
        if wanted.get("resourcesListChanged"):
            notes.append(_note("notifications/resources/list_changed", meta))
        return notes

    def _begun(self, key: str, message: "Json", meta: "Json") -> list[bytes] | None:
        """It wants to know of tools from here on: if they are others than it has, it is told at once."""
        self._of_tools[key] = meta
        if not self._has_old_tools:
            return None
        self._has_old_tools = False
        return [_line(message), _note(_TOOLS, meta)]


def _updated(uri: str, meta: "Json | None" = None) -> bytes:
    return _note("notifications/resources/updated", {"uri": uri, **(meta or {})})


def _note(method: str, params: "Json") -> bytes:
    return _line({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})


def _line(body: "Json") -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
