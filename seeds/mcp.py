"""An MCP client of our own: JSON-RPC over the pipes of `bide mcp`, one frame a line."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Asked = Callable[[str, Json], Json]


class RpcError(Exception):
    """The server answered a request with an error of the protocol."""

    def __init__(self, error: Json) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error.get("code", 0)
        self.message: str = error.get("message", "")
        self.data: Any = error.get("data")


@dataclass
class Answer:
    """The result of a tool call."""

    raw: Json
    seconds: float
    progress: list[tuple[float, Json]] = field(default_factory=list[tuple[float, Json]])
    """Progress notifications of this call, each with its time since the call."""

    @property
    def texts(self) -> list[str]:
        """Each text block."""
        return [one["text"] for one in self.raw.get("content", []) if one.get("type") == "text"]

    @property
    def text(self) -> str:
        """The first text block."""
        return self.texts[0] if self.texts else ""

    @property
    def own(self) -> str:
        """The first text block without the news that rides behind it."""
        return self.text.split("\n--- bide ")[0].rstrip()

    @property
    def all(self) -> str:
        """Every text block."""
        return "\n".join(self.texts)

    @property
    def data(self) -> Json:
        """The structured content, else the first text read as JSON, else nothing."""
        found = self.raw.get("structuredContent")
        if isinstance(found, dict):
            return found
        try:
            found = json.loads(self.text)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {"value": found}

    @property
    def structured(self) -> Json | None:
        """The structured content as sent."""
        return self.raw.get("structuredContent")

    @property
    def error(self) -> bool:
        """True if the tool flagged an error."""
        return bool(self.raw.get("isError"))


class Client:
    """A connection to `bide mcp`."""

    def __init__(
        self,
        command: list[str],
        env: Mapping[str, str],
        cwd: str,
        *,
        name: str = "seeds-client",
        capabilities: Json | None = None,
        asked: Asked | None = None,
        protocol: str = "2025-06-18",
    ) -> None:
        self._asked = asked
        self._ids = itertools.count(1)
        self._changed = threading.Condition()
        self._answers: dict[int, Json] = {}
        self._begun: dict[int, float] = {}
        self._came: dict[int, float] = {}
        self._progress: dict[int, list[tuple[float, Json]]] = {}
        self.notifications: list[Json] = []
        self.requests: list[Json] = []
        """Requests of the server to this client."""
        self.closed = False
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(env), cwd=cwd
        )
        self.pid = self._child.pid
        self._stderr = bytearray()
        self._writing = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()
        self.opening = self.request(
            "initialize",
            {
                "protocolVersion": protocol,
                "capabilities": capabilities or {},
                "clientInfo": {"name": name, "version": "1.0"},
            },
        )
        self.notify("notifications/initialized", {})

    # ------------------------------------------------------------------ frames

    def _drain(self) -> None:
        assert self._child.stderr
        for line in self._child.stderr:
            self._stderr += line

    def _read(self) -> None:
        assert self._child.stdout
        for line in self._child.stdout:
            try:
                frame = json.loads(line)
            except ValueError:
                frame = {"unreadable": line.decode(errors="replace")}
            for one in frame if isinstance(frame, list) else [frame]:
                self._take(one)
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def _take(self, frame: Json) -> None:
        method = frame.get("method")
        with self._changed:
            if method is None and "id" in frame:
                self._answers[frame["id"]] = frame
                self._came[frame["id"]] = time.monotonic()
            elif method and "id" in frame:
                self.requests.append(frame)
                threading.Thread(target=self._serve, args=(frame,), daemon=True).start()
            else:
                self.notifications.append(frame)
                if method == "notifications/progress":
                    token = frame["params"].get("progressToken")
                    if token in self._progress:
                        self._progress[token].append((time.monotonic() - self._begun[token], frame["params"]))
            self._changed.notify_all()

    def _serve(self, frame: Json) -> None:
        answer: Json = {"jsonrpc": "2.0", "id": frame["id"]}
        if frame["method"] == "ping":
            answer["result"] = {}
        elif self._asked:
            answer["result"] = self._asked(frame["method"], frame.get("params") or {})
        else:
            answer["error"] = {"code": -32601, "message": "not offered"}
        self.write(answer)

    def write(self, frame: Any) -> None:
        """Send a frame as it is."""
        assert self._child.stdin
        with self._writing:
            self._child.stdin.write(json.dumps(frame).encode() + b"\n")
            self._child.stdin.flush()

    # ------------------------------------------------------------------ requests

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method: str, params: Json, *, progress: bool = True) -> int:
        """Send a request and return its id."""
        number = next(self._ids)
        self._begun[number] = time.monotonic()
        if progress and method == "tools/call":
            self._progress[number] = []
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def result(self, number: int, seconds: float = 60) -> Json:
        """Wait for the answer to a request."""
        until = time.monotonic() + seconds
        with self._changed:
            while number not in self._answers:
                if self.closed:
                    raise EOFError(f"the server left: {bytes(self._stderr[-500:]).decode(errors='replace')}")
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"no answer within {seconds:g} s")
                self._changed.wait(left)
            frame = self._answers[number]
        if "error" in frame:
            raise RpcError(frame["error"])
        return frame["result"]

    def request(self, method: str, params: Json | None = None, seconds: float = 60) -> Json:
        """Send a request and wait for its result."""
        return self.result(self.start(method, params or {}), seconds)

    def begin(self, tool: str, arguments: Json | None = None, *, progress: bool = True) -> int:
        """Call a tool without waiting for it."""
        return self.start("tools/call", {"name": tool, "arguments": arguments or {}}, progress=progress)

    def answer(self, number: int, seconds: float = 60) -> Answer:
        """Wait for the answer of a tool."""
        raw = self.result(number, seconds)
        return Answer(raw, self._came[number] - self._begun[number], self._progress.get(number, []))

    def call(self, tool: str, arguments: Json | None = None, *, seconds: float = 60) -> Answer:
        """Call a tool and wait for its answer."""
        return self.answer(self.begin(tool, arguments), seconds)

    def cancel(self, number: int) -> None:
        """Take a request back."""
        self.notify("notifications/cancelled", {"requestId": number, "reason": "the user interrupts"})

    def answered(self, number: int) -> bool:
        """True if the answer is there."""
        with self._changed:
            return number in self._answers

    def frame(self, number: int) -> Json:
        """Return the frame that answered a request, or nothing."""
        with self._changed:
            return self._answers.get(number, {})

    def progress_of(self, number: int) -> list[tuple[float, Json]]:
        """What progress a call has reported so far."""
        with self._changed:
            return list(self._progress.get(number, []))

    def told(self, number: int, least: int, seconds: float = 10) -> list[tuple[float, Json]]:
        """Wait until a call has reported progress so often."""
        until = time.monotonic() + seconds
        with self._changed:
            while len(self._progress.get(number, [])) < least and time.monotonic() < until:
                self._changed.wait(max(0.01, until - time.monotonic()))
            return list(self._progress.get(number, []))

    def tools(self) -> dict[str, Json]:
        """List the tools by name."""
        found: list[Json] = []
        cursor: Json = {}
        while True:
            page = self.request("tools/list", cursor)
            found += page["tools"]
            if not page.get("nextCursor"):
                return {one["name"]: one for one in found}
            cursor = {"cursor": page["nextCursor"]}

    def read(self, uri: str) -> str:
        """Read a resource as text."""
        return "".join(one.get("text", "") for one in self.request("resources/read", {"uri": uri})["contents"])

    def close(self) -> None:
        """Disconnect, as a client that quits does."""
        if self._child.stdin and not self._child.stdin.closed:
            with suppress(OSError):
                self._child.stdin.close()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the process that the client started."""
        with suppress(ProcessLookupError):
            os.kill(self._child.pid, 9)
        self._child.wait(10)
