"""Claude Code: `claude -p`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from bide.kinds.llm import flags
from bide.kinds.llm.base import Cli, Command, Installed, Reader, by_stdin, check_target, encoded
from bide.kinds.llm.flags import Flag, Shape
from bide.kinds.llm.lines import Lines, Whole, amount, below, items, number, tokens, word
from bide.model.errors import BadRequest
from bide.model.llm.answer import Reading
from bide.model.llm.ask import Ask, Strategy
from bide.model.llm.prompt import Parts, Prompt, cache_blocks
from bide.model.llm.steps import Progress

NAME = "claude"
STREAM, JSON, TEXT = "stream-json", "json", "text"
_BYPASS = "bypassPermissions"
_STREAMED = ("--output-format", STREAM, "--include-partial-messages", "--verbose")

FLAGS = (
    Flag("allowed_tools", "--allowed-tools", Shape.MANY),
    Flag("disallowed_tools", "--disallowed-tools", Shape.MANY),
    Flag(
        "permission_mode",
        "--permission-mode",
        check=flags.one_of("acceptEdits", "auto", _BYPASS, "default", "dontAsk", "plan"),
    ),
    Flag("mcp_config", "--mcp-config"),
    Flag("strict_mcp_config", "--strict-mcp-config", Shape.SWITCH),
    Flag("agent", "--agent"),
    Flag("agents", "--agents", check=flags.as_json),
    Flag("fork_session", "--fork-session", Shape.SWITCH),
    Flag("system_prompt", "--system-prompt", check=flags.text),
    Flag("append_system_prompt", "--append-system-prompt", check=flags.text),
    Flag("max_budget_usd", "--max-budget-usd", check=flags.number(1e-6, 10_000)),
    Flag("max_turns", "--max-turns", check=flags.whole(1, 10_000)),
    Flag("effort", "--effort", check=flags.one_of("low", "medium", "high", "xhigh", "max"), listed=True),
    Flag(
        "exclude_dynamic_system_prompt_sections",
        "--exclude-dynamic-system-prompt-sections",
        Shape.SWITCH,
        listed=True,
    ),
    Flag("fallback_model", "--fallback-model"),
    Flag("json_schema", "--json-schema", check=flags.as_json, listed=True),
    Flag("add_dir", "--add-dir", Shape.EACH),
)
_SKIP = "dangerously_skip_permissions"


def command(ask: Ask, prompt: Prompt, installed: Installed) -> Command:
    """The prompt is a word after `-p`, or comes by stdin; with parts to be cached it is a message in JSON."""
    kind = CLI.format_of(ask)
    options = _permissions(ask)
    if options.get("system_prompt") and options.get("append_system_prompt"):
        raise BadRequest(detail="give system_prompt or append_system_prompt, not both")
    given, notes = flags.words(FLAGS, options, cli=NAME, has=installed.has)
    parts = prompt.parts if prompt.parts is not None and prompt.parts.cached else None
    model = ["--model", ask.model] if ask.model else []
    head, body = _said(prompt.text, parts, kind)
    resumed = ["--continue"] if ask.resume_latest else ["--resume", ask.conversation] if ask.conversation else []
    return Command(
        words=("-p", *head, *model, *([] if parts else _format_words(kind)), *given, *resumed),
        format=kind,
        input=body,
        bypass=options.get("permission_mode") == _BYPASS,
        bypass_asked=bool(ask.options.get(_SKIP)) or ask.options.get("permission_mode") == _BYPASS,
        cache_blocks=0 if parts is None else sum(bool(getattr(parts, name)) for name in parts.cached),
        notes=tuple(notes),
    )


def _permissions(ask: Ask) -> Mapping[str, Any]:
    options = dict(ask.options)
    if options.pop(_SKIP, False) or ask.strategy is Strategy.MCP_MANAGED:
        options["permission_mode"] = _BYPASS
    if options.get("permission_mode") == "default":
        del options["permission_mode"]
    return options


def _said(text: str, parts: Parts | None, kind: str) -> tuple[list[str], bytes | None]:
    if parts is not None:
        if kind != STREAM:
            raise BadRequest(detail=f"cacheControl needs the format {STREAM!r}; leave outputFormat out")
        message = {"type": "user", "message": {"role": "user", "content": cache_blocks(parts)}}
        return ["--input-format", STREAM, *_STREAMED], json.dumps(message).encode() + b"\n"
    return ([], encoded(text)) if by_stdin(text) else ([text], None)


def _format_words(kind: str) -> tuple[str, ...]:
    return {STREAM: _STREAMED, JSON: ("--output-format", JSON), TEXT: ()}[kind]


_TOOL = re.compile(rb'"type":"tool_use","id":"[^"]*","name":"([^"\\]{1,200})"')


class Stream(Lines):
    """Reads stream-json. Of the many lines only the last ones are looked into; of the others it is enough to see their kind."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        super().__init__()
        self._init: dict[str, Any] = {}
        self._result: dict[str, Any] = {}
        self._said = b""
        self._tools: dict[str, int] = {}

    def line(self, line: bytes) -> None:
        """Parts of messages and results of tools say nothing that is not said again."""
        head = line[:40]
        if b'"type":"stream_event"' in head or b'"type":"user"' in head:
            return
        if b'"type":"assistant"' in head:
            self._assistant(line)
            return
        found = self.parsed(line)
        kind = found.get("type")
        if kind == "assistant":
            self._assistant(json.dumps({"type": kind, "message": _ordered(found)}, separators=(",", ":")).encode())
        elif kind == "system" and found.get("subtype") == "init":
            self._init = {key: found.get(key) for key in ("session_id", "model")}
            self.step(Progress.THINKING)
        elif kind == "result":
            self._result = found
            self.final = True
            self.step(Progress.FINISHING)

    def _assistant(self, line: bytes) -> None:
        if b'"type":"text"' in line:
            self._said = line
            self.step(Progress.ANSWERING)
        if b'"type":"tool_use"' in line:
            self.step(Progress.WORKING)
            for name in _TOOL.findall(line):
                used = name.decode("utf-8", "replace")
                self._tools[used] = self._tools.get(used, 0) + 1

    def finish(self) -> Reading:
        """The result's own words; without a result, what was said last."""
        self.rest()
        last = below(self.parsed(self._said), "message") if self._said and not self.final else {}
        return _reading(self._result, last, self._init, tools=self._tools, final=self.final, skipped=self.skipped)


def _ordered(found: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose uses of tools have their keys in the order in which Claude writes them."""
    message = below(found, "message")
    first = ("type", "id", "name")
    blocks = [
        {**{key: block.get(key, "") for key in first}, **block} if block.get("type") == "tool_use" else block
        for block in items(message, "content")
    ]
    return {**message, "content": [{"type": block.get("type"), **block} for block in blocks]}


class One(Whole):
    """Reads json: the result alone, or a list of all events."""

    def finish(self) -> Reading:
        """As of the result of a stream."""
        found = self.value()
        events = items({"all": found}, "all") or items({"all": [found]}, "all")
        result = next((event for event in reversed(events) if event.get("type") == "result"), dict[str, Any]())
        if not result:
            return self.unread()
        return _reading(result, {}, {}, tools={}, final=True, skipped=0)


def _reading(
    result: dict[str, Any],
    last: dict[str, Any],
    init: dict[str, Any],
    *,
    tools: Mapping[str, int],
    final: bool,
    skipped: int,
) -> Reading:
    usage = below(result or last, "usage")
    said = "".join(str(block.get("text", "")) for block in items(last, "content") if block.get("type") == "text")
    text = word(result.get("result")) or said
    failed = bool(result.get("is_error")) or str(result.get("subtype", "success")) not in ("success", "")
    return Reading(
        text=text,
        conversation=word(result.get("session_id")) or word(init.get("session_id")),
        model=word(init.get("model")) or word(last.get("model")) or next(iter(below(result, "modelUsage")), None),
        tokens=tokens(usage),
        cost_usd=amount(result.get("total_cost_usd")),
        turns=number(result.get("num_turns")) or None,
        tools=dict(tools),
        error=(text or str(result.get("subtype"))) if failed else "",
        final=final,
        skipped=skipped,
    )


def reader(kind: str) -> Reader:
    """What reads a format."""
    return {STREAM: Stream, JSON: One, TEXT: Whole}[kind]()


def upgrade(target: str | None, _path: str | None = None) -> tuple[str, ...]:
    """It updates itself."""
    return (NAME, "update") if check_target(target) is None else (NAME, "install", str(target))


CLI = Cli(
    name=NAME,
    program=NAME,
    install="install it with: npm install -g @anthropic-ai/claude-code",
    command=command,
    reader=reader,
    formats=(STREAM, JSON, TEXT),
    streaming=(STREAM,),
    silent=(JSON, TEXT),
    upgrade=upgrade,
    login=("auth", "status"),
    keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    models=("opus", "sonnet", "haiku"),
    unset=("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"),
)
