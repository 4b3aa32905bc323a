"""What is read from each CLI's output (209), whole, in pieces, malformed and cut off; and how much memory that takes."""

import json
import tracemalloc
from typing import Any, cast

import pytest
from msgspec.structs import replace

from bide.kinds.llm import known
from bide.kinds.llm.faults import meant
from bide.model.llm.answer import Fault, Reading, Tokens


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def read(cli: str, kind: str, data: bytes, step: int = 0) -> Reading:
    reader = known.named(cli).reader(kind)
    for at in range(0, len(data), step or max(len(data), 1)):
        reader.feed(data[at : at + (step or len(data))])
    return reader.finish()


def said(text: str, *tools: str) -> dict[str, Any]:
    used: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"t{at}", "name": name, "input": {}} for at, name in enumerate(tools)
    ]
    content: list[dict[str, Any]] = [{"type": "text", "text": text}, *used]
    return {"type": "assistant", "message": {"model": "claude-x", "content": content, "usage": {"input_tokens": 1}}}


CLAUDE = lines(
    {"type": "system", "subtype": "init", "session_id": "s1", "model": "claude-x", "tools": ["Bash"]},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"text": "hel"}}},
    said("let me look", "Bash", "Read"),
    {"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}},
    said("again", "Bash"),
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "hello",
        "session_id": "s1",
        "num_turns": 3,
        "total_cost_usd": 0.25,
        "usage": {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 7,
        },
    },
)
CODEX = lines(
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "turn.started"},
    {"type": "item.started", "item": {"id": "i0", "type": "command_execution", "command": "ls"}},
    {"type": "item.completed", "item": {"id": "i0", "type": "command_execution", "command": "ls"}},
    {"type": "item.completed", "item": {"id": "i1", "type": "agent_message", "text": "first"}},
    {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "hello"}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 5}},
)
GEMINI = lines(
    {"type": "init", "timestamp": "x", "session_id": "g1", "model": "gemini-2.5-pro"},
    {"type": "message", "role": "user", "content": "hi"},
    {"type": "message", "role": "assistant", "content": "looking", "delta": True},
    {"type": "tool_use", "tool_name": "read_file", "tool_id": "1", "parameters": {}},
    {"type": "tool_result", "tool_id": "1", "status": "success", "output": "x"},
    {"type": "message", "role": "assistant", "content": "hel", "delta": True},
    {"type": "message", "role": "assistant", "content": "lo", "delta": True},
    {"type": "result", "status": "success", "stats": {"input_tokens": 10, "output_tokens": 5, "cached": 4}},
)
GROK = lines(
    {"type": "text", "data": "hel"},
    {"type": "thought", "data": "hm"},
    {"type": "text", "data": "lo"},
    {
        "type": "end",
        "stopReason": "EndTurn",
        "sessionId": "k1",
        "num_turns": 2,
        "total_cost_usd": 0.01,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 4},
        "modelUsage": {"grok-build": {}},
    },
)
MISTRAL = lines(
    {"role": "user", "content": "hi", "session_id": "v1"},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "bash"}}], "session_id": "v1"},
    {"role": "tool", "content": "x", "session_id": "v1"},
    {"role": "assistant", "content": "hello", "session_id": "v1"},
)
TOKENS = Tokens(input=10, output=5, cache_read=4)
STREAMS = {
    "claude": (
        "stream-json",
        CLAUDE,
        Reading("hello", "s1", "claude-x", Tokens(10, 5, 100, 7), 0.25, 3, {"Bash": 2, "Read": 1}, final=True),
    ),
    "codex": ("json", CODEX, Reading("hello", "t1", None, TOKENS, None, 1, {"command_execution": 1}, final=True)),
    "gemini": (
        "stream-json",
        GEMINI,
        Reading("hello", "g1", "gemini-2.5-pro", TOKENS, None, None, {"read_file": 1}, final=True),
    ),
    "grok": ("streaming-json", GROK, Reading("hello", "k1", "grok-build", TOKENS, 0.01, 2, {}, final=True)),
    "mistral": ("streaming", MISTRAL, Reading("hello", "v1", tools={"bash": 1})),
}


@pytest.mark.parametrize("step", [0, 1, 7])
@pytest.mark.parametrize("cli", list(STREAMS))
def test_209_a_stream_is_read_whatever_its_pieces(cli: str, step: int) -> None:
    kind, data, expected = STREAMS[cli]
    assert read(cli, kind, data, step) == expected


@pytest.mark.parametrize("cli", list(STREAMS))
def test_lines_that_are_no_json_are_passed_over_and_counted(cli: str) -> None:
    kind, data, expected = STREAMS[cli]
    broken = b"Loaded cached credentials.\n{\n\n" + data.replace(b"\n", b"\n[1]\n", 1)
    found = read(cli, kind, broken)
    assert (found.text, found.conversation, found.tokens) == (expected.text, expected.conversation, expected.tokens)
    assert found.skipped == 3


@pytest.mark.parametrize("cli", list(STREAMS))
def test_a_stream_that_was_cut_off_anywhere_is_read_as_far_as_it_goes(cli: str) -> None:
    kind, data, _ = STREAMS[cli]
    for end in range(len(data)):
        found = read(cli, kind, data[:end])
        assert not found.error
        assert found.skipped == 0


def test_without_a_result_claude_said_what_it_said_last() -> None:
    found = read("claude", "stream-json", lines(said("one"), said("two", "Bash")))
    assert (found.text, found.final, found.tokens.input) == ("two", False, 1)


def test_a_last_line_without_its_newline_counts() -> None:
    assert read("claude", "stream-json", CLAUDE.rstrip(b"\n")).final


@pytest.mark.parametrize(
    ("cli", "kind", "data", "error"),
    [
        ("claude", "stream-json", {"type": "result", "subtype": "success", "is_error": True, "result": "no"}, "no"),
        ("claude", "stream-json", {"type": "result", "subtype": "error_max_turns"}, "error_max_turns"),
        ("codex", "json", {"type": "turn.failed", "error": {"message": "no"}}, "no"),
        ("codex", "json", {"type": "error", "message": "no"}, "no"),
        ("gemini", "stream-json", {"type": "result", "status": "error", "error": {"message": "no"}}, "no"),
        ("grok", "streaming-json", {"type": "error", "message": "no"}, "no"),
        ("grok", "json", {"type": "error", "message": "no"}, "no"),
        ("gemini", "json", {"error": {"message": "no"}}, "no"),
    ],
)
def test_what_a_cli_says_went_wrong_is_the_error(cli: str, kind: str, data: dict[str, Any], error: str) -> None:
    assert read(cli, kind, lines(data)).error == error


@pytest.mark.parametrize(
    ("cli", "kind", "data", "expected"),
    [
        ("claude", "text", b"hello\n", Reading("hello")),
        ("claude", "json", b'{"type":"result","result":"hello","session_id":"s"}', Reading("hello", "s", final=True)),
        ("claude", "json", b'[{"type":"system"},{"type":"result","result":"hello"}]', Reading("hello", final=True)),
        ("claude", "json", b"not json", Reading("not json", skipped=1)),
        ("claude", "json", b'{"type":"result","result":"hel', Reading('{"type":"result","result":"hel', skipped=1)),
        ("gemini", "json", b'{"response":"hel', Reading('{"response":"hel', skipped=1)),
        ("gemini", "json", b'{"other":1}', Reading('{"other":1}', skipped=1)),
        ("grok", "json", b'{"text":"hel', Reading('{"text":"hel', skipped=1)),
        ("grok", "json", b'{"other":1}', Reading('{"other":1}', skipped=1)),
        ("mistral", "json", b'[{"role":"assist', Reading('[{"role":"assist', skipped=1)),
        ("mistral", "json", b"", Reading()),
        ("codex", "text", b"hello\n", Reading("hello")),
        (
            "codex",
            "json",
            b'{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"cache_write_input_tokens":3,"output_tokens":5}}',
            Reading(tokens=replace(TOKENS, cache_write=3), turns=1, final=True),
        ),
        (
            "gemini",
            "json",
            b'Loaded.\n{"response":"hello","usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,'
            b'"cachedContentTokenCount":4}}',
            Reading("hello", tokens=TOKENS, final=True),
        ),
        (
            "gemini",
            "json",
            b'{"response":"hello","stats":{"models":{"m":{"tokens":{"prompt":10,"candidates":5,"cached":4}}}}}',
            Reading("hello", model="m", tokens=TOKENS, final=True),
        ),
        ("grok", "json", b'{"text":"hello","sessionId":"k","num_turns":2}', Reading("hello", "k", turns=2, final=True)),
        (
            "mistral",
            "json",
            b'[{"role":"user","content":"x"},{"role":"assistant","content":"hello"}]',
            Reading("hello"),
        ),
        ("mistral", "text", b"hello\n", Reading("hello")),
    ],
)
def test_other_formats_are_read_at_the_end(cli: str, kind: str, data: bytes, expected: Reading) -> None:
    assert read(cli, kind, data, 5) == expected


def test_a_long_stream_takes_no_more_memory_than_a_short_one() -> None:
    event = {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"text": "x" * 400}}}
    block = lines(*[event] * 900, said("y" * 2000), *[{"type": "user", "message": {"content": "z" * 4000}}] * 100)
    reader = known.named("claude").reader("stream-json")
    peaks: list[int] = []
    tracemalloc.start()
    for megabytes in (1, 9):
        tracemalloc.reset_peak()
        for _ in range(megabytes * 1024 * 1024 // len(block)):
            reader.feed(block)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peaks[1] <= peaks[0] * 1.1 + 4096
    assert reader.finish().text == "y" * 2000


def test_a_line_without_end_is_passed_over_in_bounded_memory() -> None:
    reader = known.named("claude").reader("stream-json")
    for _ in range(40):
        reader.feed(b"x" * 1024 * 1024)
    reader.feed(b"\n" + CLAUDE)
    found = reader.finish()
    assert (found.text, found.skipped) == ("hello", 1)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("", Fault.NONE),
        ("Invalid API key · Please run /login", Fault.LOGIN),
        ("Not logged in", Fault.LOGIN),
        ("Not signed in. To authenticate without a browser, run: grok login", Fault.LOGIN),
        ("Please set an Auth method in your settings", Fault.LOGIN),
        ("Claude AI usage limit reached|1700000000", Fault.USAGE_LIMIT),
        ("You've hit your usage limit. Try again at 3pm", Fault.USAGE_LIMIT),
        ("API Error: 429 rate_limit_error", Fault.USAGE_LIMIT),
        ("RESOURCE_EXHAUSTED: Quota exceeded", Fault.USAGE_LIMIT),
        ("read ECONNRESET", Fault.TRANSIENT),
        ("no such file", Fault.CLI),
    ],
)
def test_what_words_of_failure_mean(words: str, fault: Fault) -> None:
    assert meant(words) is fault


@pytest.mark.parametrize("cli", STREAMS)
@pytest.mark.parametrize("turned", [False, True])
def test_209_lines_with_blanks_and_keys_in_another_order_are_read_the_same(cli: str, turned: bool) -> None:
    kind, data, expected = STREAMS[cli]
    events = [json.loads(line) for line in data.splitlines()]
    spaced = b"".join(json.dumps(_turned(one) if turned else one).encode() + b"\n" for one in events)
    assert read(cli, kind, spaced) == expected


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(one) for key, one in reversed(cast("dict[str, Any]", value).items())}
    return [_turned(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
