"""The gate: how much a request is trusted with, as a score, and what a policy lets through. Pure; the record is kept elsewhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from msgspec import Struct

from bide.model.llm.ask import Policy

MOST = {Policy.STRICT: 2, Policy.BALANCED: 5, Policy.PERMISSIVE: 7}
"""The highest score that each policy lets through."""
PREVIEW = 280
_CRITICAL = frozenset({"Read", "Grep", "Glob", "Bash"})
_SENSITIVE = re.compile(r"\b(delete|destroy|wipe|exfiltrate|credential|token|password|secret)\b", re.IGNORECASE)
_REVIEW = re.compile(
    r"\b(review|audit|analy[sz]e|analysis|inspect|assess|pentest|security|vulnerabilit(y|ies)|bugs?|defects?|quality"
    r"|(not )?approved)\b",
    re.IGNORECASE,
)
_SUPPRESSES = re.compile(
    r"\b(do\s*not|don't|never|without)\b.{0,80}\b(tools?|shell|bash|commands?)\b|\bno\s+tools?\b",
    re.IGNORECASE | re.DOTALL,
)
_SCOPE = re.compile(r"[(:].*", re.DOTALL)
"""What a tool's name is narrowed by, as in `Bash(git:*)`."""


class Wanted(Struct, frozen=True):
    """What the gate looks at."""

    cli: str
    prompt: str
    bypass: bool = False
    """Whoever asks wants it to act without asking anybody; that the gate itself lets it is not counted."""
    full_auto: bool = False
    mcp_servers: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()


class Decision(Struct, frozen=True):
    """What the gate decided, and why."""

    approved: bool
    policy: Policy
    score: int
    reasons: tuple[str, ...]
    id: str = ""

    @property
    def status(self) -> str:
        """`approved` or `denied`."""
        return "approved" if self.approved else "denied"


def decide(wanted: Wanted, policy: Policy) -> Decision:
    """Add up what speaks against it; the policy says how much is too much."""
    found = [(points, why) for points, why in _reasons(wanted) if points]
    score = sum(points for points, _ in found)
    return Decision(score <= MOST[policy], policy, score, tuple(f"{why} (+{points})" for points, why in found))


def _reasons(wanted: Wanted) -> Collection[tuple[int, str]]:
    review = bool(_REVIEW.search(wanted.prompt))
    blocked = review and bool(_CRITICAL & {_SCOPE.sub("", tool).strip() for tool in wanted.disallowed_tools})
    return (
        (3 * wanted.bypass, "it asks to act without asking"),
        (2 * wanted.full_auto, "full automation"),
        (2 * (wanted.bypass and wanted.full_auto), "both at once"),
        (2 * ("exa" in wanted.mcp_servers), "MCP server exa reaches the web"),
        (1 * ("ref_tools" in wanted.mcp_servers), "MCP server ref_tools reads documents"),
        (6 * (review and wanted.allowed_tools == ()), "a review without any tool"),
        (6 * blocked, "a review without the tools to look"),
        (3 * bool(_SENSITIVE.search(wanted.prompt)), "the prompt speaks of what must not leak or go"),
        (4 * (review and bool(_SUPPRESSES.search(wanted.prompt))), "a review that is told not to look"),
    )


def prompt_record(prompt: str, *, shown: bool) -> dict[str, str]:
    """What the record of a decision says of a prompt: its hash, and its beginning only where the operator wants that."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogateescape")).hexdigest()
    return {"promptSha256": digest, "promptPreview": prompt[:PREVIEW] if shown else f"[{len(prompt)} characters]"}
