"""Gemini CLI: `gemini -p`."""

from __future__ import annotations

import os
import re
from typing import Any, cast

from bide.kinds.llm import flags
from bide.kinds.llm.base import Cli, Command, Installed, Reader, check_target, encoded, too_long
from bide.kinds.llm.flags import Flag, Shape
from bide.kinds.llm.lines import Lines, Whole, below, number, word
from bide.model.errors import BadRequest
from bide.model.llm.answer import Reading, Tokens
from bide.model.llm.ask import Ask, Strategy
from bide.model.llm.prompt import Prompt
from bide.model.llm.steps import Progress

NAME = "gemini"
STREAM, JSON, TEXT = "stream-json", "json", "text"
_YOLO = "yolo"
_PLAIN_PATH = re.compile(r"/[^\s\\'\"`()\[\]{},;!?@]+")
"""A path that Gemini reads as one word after `@`."""

FLAGS = (
    Flag("approval_mode", "--approval-mode", check=flags.one_of("default", "auto_edit", _YOLO, "plan")),
    Flag("allowed_tools", "--allowed-tools", Shape.EACH),
    Flag("allowed_mcp_server_names", "--allowed-mcp-server-names", Shape.EACH),
    Flag("include_directories", "--include-directories", Shape.EACH),
    Flag("sandbox", "-s", Shape.SWITCH),
    Flag("policy", "--policy", Shape.EACH, listed=True),
    Flag("admin_policy", "--admin-policy", Shape.EACH, listed=True),
    Flag("skip_trust", "--skip-trust", Shape.SWITCH, listed=True),
)


def command(ask: Ask, prompt: Prompt, installed: Installed) -> Command:
    """The prompt follows `-p`, joined to it if it begins with a sign; a long one is all that comes by stdin."""
    kind = CLI.format_of(ask)
    options = dict(ask.options)
    said_of = _attached(options.pop("attachments", ()), ask.cwd or "")
    if ask.strategy is Strategy.MCP_MANAGED:
        options["approval_mode"] = _YOLO
    given, notes = flags.words(FLAGS, options, cli=NAME, has=installed.has)
    resumed = "latest" if ask.resume_latest else ask.conversation
    text = said_of + prompt.text
    by_pipe = too_long(text)
    said = () if by_pipe else (f"--prompt={text}",) if text.startswith("-") else ("-p", text)
    return Command(
        words=(
            *said,
            *(("--model", ask.model) if ask.model else ()),
            *given,
            *(() if kind == TEXT else ("-o", kind)),
            *(("--resume", resumed) if resumed else ()),
        ),
        format=kind,
        input=encoded(text) if by_pipe else None,
        bypass=options.get("approval_mode") == _YOLO,
        bypass_asked=ask.options.get("approval_mode") == _YOLO,
        notes=tuple(notes),
    )


def _attached(given: object, cwd: str) -> str:
    """Return the words that have Gemini read files with the prompt. Raises BadRequest."""
    found: list[str] = []
    for one in cast("list[object]", given) if isinstance(given, list | tuple) else [given]:
        path = os.path.join(cwd, one) if isinstance(one, str) else ""
        if not _PLAIN_PATH.fullmatch(path):
            detail = f"option 'attachments' is a list of paths without blanks or signs such as quotes, not {one!r}"
            raise BadRequest(detail=f"{detail}; rename the file or name it in the prompt", field="attachments")
        if not os.path.exists(path):
            raise BadRequest(detail=f"option 'attachments' names {path}, which is not there", field="attachments")
        found.append(f"@{path} ")
    return "".join(found)


class Stream(Lines):
    """Reads stream-json."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        super().__init__()
        self._init: dict[str, Any] = {}
        self._stats: dict[str, Any] = {}
        self._said: list[str] = []
        self._tools: dict[str, int] = {}
        self._error = ""

    def line(self, line: bytes) -> None:
        """Pieces of the answer are joined; results of tools are passed over."""
        if b'"type":"tool_result"' in line[:40]:
            return
        found = self.parsed(line)
        kind = found.get("type")
        if kind == "init":
            self._init = {key: found.get(key) for key in ("session_id", "model")}
            self.step(Progress.THINKING)
        elif kind == "message" and found.get("role") == "assistant":
            self._message(found)
        elif kind == "tool_use":
            used = word(found.get("tool_name")) or "a tool"
            self._tools[used] = self._tools.get(used, 0) + 1
            self._said.clear()
            self.step(Progress.WORKING)
        elif kind == "error" and found.get("severity") != "warning":
            self._error = word(found.get("message")) or "an error without a message"
        elif kind == "result":
            self._result(found)

    def _message(self, found: dict[str, Any]) -> None:
        self.step(Progress.ANSWERING)
        if not found.get("delta"):
            self._said.clear()
        self._said.append(str(found.get("content", "")))

    def _result(self, found: dict[str, Any]) -> None:
        self._stats, self.final = below(found, "stats"), True
        self.step(Progress.FINISHING)
        failed = found.get("status") == "error"
        self._error = (word(below(found, "error").get("message")) or self._error or "it failed") if failed else ""

    def finish(self) -> Reading:
        """What was said since the last use of a tool."""
        self.rest()
        return Reading(
            text="".join(self._said).strip(),
            conversation=word(self._init.get("session_id")),
            model=word(self._init.get("model")),
            tokens=Tokens(
                input=number(self._stats.get("input_tokens")),
                output=number(self._stats.get("output_tokens")),
                cache_read=number(self._stats.get("cached")),
            ),
            tools=dict(self._tools),
            error=self._error,
            final=self.final,
            skipped=self.skipped,
        )


class One(Whole):
    """Reads json: the response, and what each model used."""

    def finish(self) -> Reading:
        """One object at the end."""
        found = below({"all": self.value()}, "all")
        if not {"response", "error"} & found.keys():
            return self.unread()
        usage = below(found, "usageMetadata")
        models = below(below(found, "stats"), "models")
        each = [below(model, "tokens") for model in models.values()]
        error = below(found, "error")
        return Reading(
            text=str(found.get("response", "")),
            conversation=word(found.get("session_id")),
            model=next(iter(models), None),
            tokens=Tokens(
                input=number(usage.get("promptTokenCount")) or sum(number(one.get("prompt")) for one in each),
                output=number(usage.get("candidatesTokenCount")) or sum(number(one.get("candidates")) for one in each),
                cache_read=number(usage.get("cachedContentTokenCount"))
                or sum(number(one.get("cached")) for one in each),
            ),
            error=(word(error.get("message")) or "it failed") if error else "",
            final=True,
        )


def reader(kind: str) -> Reader:
    """What reads a format."""
    return {STREAM: Stream, JSON: One, TEXT: Whole}[kind]()


def upgrade(target: str | None, _path: str | None = None) -> tuple[str, ...]:
    """It comes from npm."""
    return ("npm", "install", "-g", f"@google/gemini-cli@{check_target(target) or 'latest'}")


CLI = Cli(
    name=NAME,
    program=NAME,
    install="install it with: npm install -g @google/gemini-cli",
    command=command,
    reader=reader,
    formats=(STREAM, JSON, TEXT),
    streaming=(STREAM,),
    upgrade=upgrade,
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    models=("gemini-2.5-pro", "gemini-2.5-flash"),
    aliases={"pro": "gemini-2.5-pro", "flash": "gemini-2.5-flash"},
)
