"""Reviews by several LLMs: what each says in the end, and what that comes to. Pure; the asking is that of any request.

The command line loads it, so that nothing that is slow to import is in it.
"""

from __future__ import annotations

import re
from enum import StrEnum

from bide.model.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

REVIEWERS = ("claude", "codex", "gemini")
"""Who is asked unless others are named."""
ROUNDS = 3
"""After so many, somebody has to decide who is not an LLM."""
ENDING = "End with APPROVED or NOT APPROVED with findings."
_OWN_WORDS = re.compile(r"\bAPPROVED\W+(?:or|/)\W+NOT APPROVED\b|\bNOT APPROVED\W+(?:or|/)\W+APPROVED\b", re.IGNORECASE)
_LINE = re.compile(
    r"^[\W_]*(?:(?:my |the )?(?:final |overall )?(?:verdict|decision|status|result|review)\W+(?:is\W+)?)?"
    r"(?P<how>(?:un)?conditional(?:ly)?\W+)?(?P<no>(?:not|never|not yet)\W+)?approved\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_WITHIN = re.compile(r"\b(?P<no>NOT\s+(?:YET\s+)?)?APPROVED\b")
_CONDITION = re.compile(
    r"\b(?:if|once|when|after|provided|providing|assuming|unless|until|except|but|pending|conditional(?:ly)?|conditions?|subject to"
    r"|as long as|with (?!no\b|out\b)|must|should|needs?|first|however|contingent)\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:on (?:the )?conditions?|conditions?:|must be fixed|before (?:you )?merg|provided that)", re.IGNORECASE
)


class Verdict(StrEnum):
    """What a reviewer decided, or all of them together."""

    APPROVED = "approved"
    CONDITIONAL = "conditional"
    """Approved if something is done: that is not approved."""
    NOT_APPROVED = "not_approved"
    NONE = "none"
    """It said nothing that can be taken for a verdict, or nothing at all."""
    MISSING = "missing"
    """It could not be asked."""
    RUNNING = "running"


class Vote:
    """What one reviewer brought."""

    __slots__ = ("cli", "error", "job", "text", "verdict")

    def __init__(self, cli: str, verdict: Verdict, job: str | None = None, text: str = "", error: str = "") -> None:
        """The words are the reviewer's, the error is why there are none."""
        self.cli: str = cli
        self.verdict: Verdict = verdict
        self.job: str | None = job
        self.text: str = text
        self.error: str = error


def verdict_of(text: str) -> Verdict:
    """The verdict in a reviewer's words: the last line that is one; else whatever of it stands within a line."""
    lines = [_OWN_WORDS.sub("", line) for line in text.splitlines()]
    for at in reversed(range(len(lines))):
        found = _LINE.match(lines[at])
        if found is not None:
            if found["no"]:
                return Verdict.NOT_APPROVED
            how = (found["how"] or "").lower()
            later = "\n".join(lines[at + 1 :])
            conditional = how.startswith("cond") or _CONDITION.search(found["rest"]) or _LATER.search(later)
            return Verdict.CONDITIONAL if conditional else Verdict.APPROVED
    within = [(found, line) for line in lines for found in _WITHIN.finditer(line)]
    if any(found["no"] for found, _ in within):
        return Verdict.NOT_APPROVED
    if not within:
        return Verdict.NONE
    return Verdict.CONDITIONAL if any(_CONDITION.search(line) for _, line in within) else Verdict.APPROVED


def vote(cli: str, job: str, *, status: str, fault: str, text: str, error: str) -> Vote:
    """What the answer of one reviewer counts for. Only what was answered is read; silence is no agreement."""
    if status == "running":
        return Vote(cli, Verdict.RUNNING, job)
    if status != "completed" or error:
        missing = fault == "spawn_error"
        return Vote(cli, Verdict.MISSING if missing else Verdict.NONE, job, text, error or f"it is {status}")
    if not text.strip():
        return Vote(cli, Verdict.NONE, job, error="it left with 0 and said nothing, which is no agreement")
    return Vote(cli, verdict_of(text), job, text)


def together(votes: Sequence[Vote]) -> Verdict:
    """All votes as one. Who could not be asked does not count; who was asked and decided nothing keeps it from being approved."""
    found = {one.verdict for one in votes}
    for worst in (Verdict.RUNNING, Verdict.NOT_APPROVED, Verdict.CONDITIONAL, Verdict.NONE):
        if worst in found:
            return worst
    return Verdict.APPROVED if Verdict.APPROVED in found else Verdict.NONE


def prompt_of(wanted: str, number: int = 1) -> str:
    """What reviewers are asked."""
    again = f"\n\nThis is round {number}: what was found before is said to be fixed. Look again." if number > 1 else ""
    return f"{wanted.rstrip()}{again}\n\n{ENDING}"


def correlation_of(review: str, number: int, cli: str) -> str:
    """By what one reviewer's answer is found again."""
    return f"{review}.r{number}.{cli}"


def check(clis: Sequence[str], number: int) -> None:
    """Refuse what cannot be meant."""
    if not clis or len(set(clis)) != len(clis):
        raise BadRequest(detail="name each reviewer once, and at least one")
    if not 1 <= number <= ROUNDS:
        raise BadRequest(detail=f"a review has at most {ROUNDS} rounds; after that ask a person to decide")


def findings_of(votes: Sequence[Vote]) -> str:
    """What reviewers found who did not approve, for whoever is to fix it."""
    found = [one for one in votes if one.verdict in (Verdict.NOT_APPROVED, Verdict.CONDITIONAL)]
    return "\n\n".join(f"{one.cli}:\n{one.text.strip()}" for one in found)
