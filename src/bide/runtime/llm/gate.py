"""Whether a request may act without asking: the operator's word, then the gate's; and the record of what the gate decided."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from typing import Any

from msgspec.structs import replace

from bide import config
from bide.kinds.llm.base import Command
from bide.model.errors import ApprovalDenied, BadRequest, BadSettings
from bide.model.llm.approval import Decision, Wanted, decide, prompt_record
from bide.model.llm.ask import Ask, Strategy
from bide.model.llm.choices import LlmSettings
from bide.model.times import stamp
from bide.runtime.core import now
from bide.runtime.llm.recording import FOLDER
from bide.settings import FILE, read

RECORD = "approvals.jsonl"
_ALLOWED = ("allowed_tools", "tools", "enabled_tools")
"""The options that name the tools a CLI may use, each CLI's own."""
_INSTEAD = {"mistral": "name an agent that asks or only reads, such as agent: 'plan'"}
"""What else to do, where it is a default that acts without asking."""


def check(home: str, ask: Ask, text: str, command: Command, chosen: LlmSettings) -> Decision | None:
    """What the gate decided, if it was to. Raises BadRequest or ApprovalDenied; then nothing is started."""
    if command.bypass and not _may_act(home, chosen):
        detail = f"this would let {ask.cli} act without asking anybody, which nobody has allowed here"
        allow = f"'{_allow(home)}' allows it: it sets enabled = true under [llm] in {os.path.join(home, FILE)}"
        raise BadRequest(detail=f"{detail}; {allow}. Or {_INSTEAD.get(ask.cli, 'ask without that')}")
    if ask.strategy is not Strategy.MCP_MANAGED:
        return None
    allowed = next((ask.options[name] for name in _ALLOWED if name in ask.options), None)
    wanted = Wanted(
        cli=ask.cli,
        prompt=text,
        bypass=command.bypass_asked,
        full_auto=ask.full_auto,
        mcp_servers=ask.mcp_servers,
        allowed_tools=None if allowed is None else tuple(allowed),
        disallowed_tools=tuple(ask.options.get("disallowed_tools") or ()),
    )
    decision = replace(decide(wanted, ask.policy or chosen.policy), id=secrets.token_hex(8))
    record(home, wanted, decision, shown=chosen.log_prompts)
    if not decision.approved:
        raise ApprovalDenied(
            operation=f"{ask.cli}_request",
            policy=str(decision.policy),
            score=str(decision.score),
            reasons=", ".join(decision.reasons),
        )
    return decision


def _may_act(home: str, chosen: LlmSettings) -> bool:
    """Return the operator's word as it stands now: it is given by a command that must not need another daemon."""
    try:
        found: Any = (read(home) or {}).get("llm", {}).get("enabled")
    except (BadSettings, AttributeError):
        return chosen.enabled
    return found if isinstance(found, bool) else chosen.enabled


def _allow(home: str) -> str:
    where = "" if home == config.home() else f"--home {shlex.quote(home)} "
    return f"bide {where}mcp install CLIENT --tools llm --let-act"


def record(home: str, wanted: Wanted, decision: Decision, *, shown: bool) -> None:
    """Add one line to the record; it is for its owner's eyes only."""
    line: dict[str, Any] = {
        "id": decision.id,
        "ts": stamp(now()),
        "status": decision.status,
        "policy": str(decision.policy),
        "cli": wanted.cli,
        "operation": f"{wanted.cli}_request",
        "score": decision.score,
        "reasons": list(decision.reasons),
        "bypassRequested": wanted.bypass,
        "fullAuto": wanted.full_auto,
        "requestedMcpServers": list(wanted.mcp_servers),
        **prompt_record(wanted.prompt, shown=shown),
    }
    os.makedirs(os.path.join(home, FOLDER), mode=0o700, exist_ok=True)
    with open(_path(home), "ab+", opener=_private) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        # A crash may have left half a line.
        broken = size and file.read(1) != b"\n"
        file.write((b"\n" if broken else b"") + json.dumps(line).encode() + b"\n")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def recorded(home: str, limit: int) -> list[dict[str, Any]]:
    """The newest decisions, newest first."""
    try:
        with open(_path(home), "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    found: list[dict[str, Any]] = []
    for line in reversed(lines):
        if len(found) == limit:
            break
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # half a line, from a crash
    return found


def _path(home: str) -> str:
    return os.path.join(home, FOLDER, RECORD)
