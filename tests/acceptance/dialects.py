"""How a request to a model reads, and how its answer is written: Anthropic Messages, OpenAI Responses, Gemini."""

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Json = dict[str, Any]

_IDS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a command line showed the model."""

    said: tuple[str, ...]
    """The texts of the user's messages, in order; command lines add some of their own."""
    results: tuple[str, ...]
    """What tools answered, in order."""
    tools: frozenset[str]
    """The names of the tools that it offers."""


@dataclass(frozen=True, slots=True)
class Say:
    """The model says this and is done."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """The model calls a tool, by the name that the command line gave it."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refuse:
    """The model's server refuses the request."""

    status: int
    kind: str
    message: str


Reply = Say | Use | Refuse


class Dialect(Protocol):
    """One request in one protocol."""

    streams: bool

    def seen(self) -> Seen: ...

    def answer(self, reply: Say | Use) -> bytes: ...


def of(path: str, query: str, body: Json) -> Dialect | Json | None:
    """The request that this is; or its answer, where the script has no say; or nothing that we know."""
    if path.endswith(("/count_tokens", ":countTokens")):
        return {"input_tokens": 10, "totalTokens": 10}
    if path.endswith("/messages"):
        return Anthropic(body)
    if path.endswith("/responses"):
        return OpenAi(body)
    if match := re.search(r":(stream)?[gG]enerateContent$", path):
        return Gemini(body, streams=match[1] is not None and "alt=sse" in query)
    return None


class Anthropic:
    """POST /v1/messages."""

    def __init__(self, body: Json) -> None:
        self._body = body
        self.streams: bool = bool(body.get("stream"))

    def seen(self) -> Seen:
        said: list[str] = []
        results: list[str] = []
        for message in self._body["messages"]:
            if message["role"] != "user":
                continue
            for block in _blocks(message["content"]):
                if block["type"] == "text":
                    said.append(block["text"])
                elif block["type"] == "tool_result":
                    results.append("".join(one.get("text", "") for one in _blocks(block.get("content", ""))))
        return Seen(tuple(said), tuple(results), frozenset(tool["name"] for tool in self._body.get("tools", ())))

    def answer(self, reply: Say | Use) -> bytes:
        number = next(_IDS)
        block, delta, stop = self._block(reply, number)
        usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": self._body["model"],
            "stop_sequence": None,
            "usage": usage,
        }
        if not self.streams:
            return json.dumps({**message, "content": [block], "stop_reason": stop}).encode()
        empty: Json = {**block, "text": ""} if isinstance(reply, Say) else {**block, "input": {}}
        return _events(
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        )

    @staticmethod
    def _block(reply: Say | Use, number: int) -> tuple[Json, Json, str]:
        if isinstance(reply, Say):
            return {"type": "text", "text": reply.text}, {"type": "text_delta", "text": reply.text}, "end_turn"
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": reply.tool, "input": dict(reply.arguments)}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
        return block, delta, "tool_use"


class OpenAi:
    """POST /v1/responses."""

    def __init__(self, body: Json) -> None:
        self._body = body
        self.streams: bool = bool(body.get("stream"))

    def seen(self) -> Seen:
        said: list[str] = []
        results: list[str] = []
        for item in self._body["input"]:
            if item["type"] == "message" and item["role"] == "user":
                said += [block["text"] for block in _blocks(item["content"]) if "text" in block]
            elif item["type"] == "function_call_output":
                results.append("".join(block.get("text", "") for block in _blocks(item["output"])))
        return Seen(tuple(said), tuple(results), frozenset(self._tools()))

    def _tools(self) -> Iterable[str]:
        """A tool of a group goes by both names, with a dot between."""
        for tool in self._body.get("tools", ()):
            if tool["type"] == "function":
                yield tool["name"]
            elif tool["type"] == "namespace":
                yield from (f"{tool['name']}.{one['name']}" for one in tool["tools"])

    def answer(self, reply: Say | Use) -> bytes:
        number = next(_IDS)
        item = self._item(reply, number)
        usage = {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 3},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        }
        response: Json = {"id": f"resp_{number}", "object": "response", "model": self._body["model"], "output": []}
        done = {**response, "status": "completed", "output": [item], "usage": usage}
        if not self.streams:
            return json.dumps(done).encode()
        return _events(
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        )

    @staticmethod
    def _item(reply: Say | Use, number: int) -> Json:
        if isinstance(reply, Say):
            content: list[Json] = [{"type": "output_text", "text": reply.text, "annotations": []}]
            return {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        group, _, name = reply.tool.rpartition(".")
        return {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "status": "completed",
            "name": name,
            "arguments": json.dumps(reply.arguments),
            **({"namespace": group} if group else {}),
        }


class Gemini:
    """POST /v1beta/models/MODEL:generateContent or :streamGenerateContent."""

    def __init__(self, body: Json, *, streams: bool) -> None:
        self._body = body
        self.streams = streams

    def seen(self) -> Seen:
        said: list[str] = []
        results: list[str] = []
        for content in self._body["contents"]:
            if content.get("role") != "user":
                continue
            for part in content["parts"]:
                if "text" in part:
                    said.append(part["text"])
                elif "functionResponse" in part:
                    results.append(json.dumps(part["functionResponse"]["response"]))
        offered = (one["name"] for tool in self._body.get("tools", ()) for one in tool.get("functionDeclarations", ()))
        return Seen(tuple(said), tuple(results), frozenset(offered))

    def answer(self, reply: Say | Use) -> bytes:
        part: Json = (
            {"text": reply.text}
            if isinstance(reply, Say)
            else {"functionCall": {"id": f"call_{next(_IDS)}", "name": reply.tool, "args": dict(reply.arguments)}}
        )
        counts = {
            "promptTokenCount": 10,
            "candidatesTokenCount": 5,
            "totalTokenCount": 15,
            "cachedContentTokenCount": 3,
        }
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        found = {"candidates": [candidate], "usageMetadata": counts}
        return b"data: %s\n\n" % json.dumps(found).encode() if self.streams else json.dumps(found).encode()


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _events(*events: Json) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events
    )
