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
_BOTH = re.compile(
    r"\bAPPROVED\W+(?:or|and|/|\|)\W+NOT APPROVED\b|\bNOT APPROVED\W+(?:or|and|/|\|)\W+APPROVED\b", re.IGNORECASE
)
"""The two words as a choice: the question, not an answer."""
_LABEL = r"(?:(?:my|the|our)\s+)?(?:(?:final|overall|review)\s+)*(?:verdict|decision|conclusion|recommendation|result|status|review)"
_ASKED = re.compile(rf"(?:^|\b){_LABEL}\W*$", re.IGNORECASE)
"""How a line ends after which a verdict stands alone."""
_NO = re.compile(
    rf"^(?:(?:[-*+]|\d+[.)])\s+)?[#*_\s❌🚫⛔🔴]*(?:{_LABEL}[\s*_:=—\u2013-]+)?(?:is\s+)?[*_❌🚫⛔🔴\s]*not\s+(?:yet\s+)?approved\b",
    re.IGNORECASE,
)
_YES = re.compile(
    rf"^(?P<item>(?:[-*+]|\d+[.)])\s+)?[#*_\s✅✔\ufe0f☑🟢]*(?P<label>{_LABEL}[\s*_:=—\u2013-]+)?(?:is\s+)?[*_✅✔\ufe0f☑🟢\s]*"
    r"(?P<how>(?:un)?conditional(?:ly)?\W+)?approved(?!_*[a-z0-9])(?P<rest>.*)$",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    r"^[\s*_.!,;:()—\u2013✅✔\ufe0f☑👍🎉🚀🟢-]*(?:unconditional(?:ly)?|as[ -]is|without reservations?"
    r"|(?:with(?:out|\s+no|\s+zero)|no|zero|0)\s+(?:(?:any|further|blocking|open|remaining|more|additional)\s+)*"
    r"(?:findings?|conditions?|issues?|comments?|concerns?|objections?|remarks?|changes?)"
    r"(?:\s+(?:found|needed|required|remaining|requested|necessary))?)?[\s*_.!()✅✔\ufe0f☑👍🎉🚀🟢-]*$",
    re.IGNORECASE,
)
"""What may follow the word on its line: nothing, or that there is nothing more."""
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")


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
    """Return the verdict in a reviewer's words: the last line that is one, as a whole.

    A sentence that has the word in it is no verdict, nor is a quotation, an entry of a list, or a line of code. Approval is
    the last word: who goes on after it has a condition. Where in doubt, nothing is approved.
    """
    lines = _spoken(text)
    for at in reversed(range(len(lines))):
        found = _verdict_of_line(lines[at], lines[at - 1] if at else "")
        if found is Verdict.APPROVED and at + 1 < len(lines):
            return Verdict.CONDITIONAL
        if found is not Verdict.NONE:
            return found
    return Verdict.NONE


def _spoken(text: str) -> list[str]:
    """Return the lines that are neither empty nor code nor a ruler."""
    found: list[str] = []
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            found.append("(code)")
        elif not fenced and line.strip() and not _RULE.match(line):
            found.append(line.strip())
    return found


def _verdict_of_line(line: str, before: str) -> Verdict:
    if _BOTH.search(line):
        return Verdict.NONE
    if _NO.match(line):
        return Verdict.NOT_APPROVED
    found = _YES.match(line)
    if found is None or (found["item"] and not found["label"]):
        return Verdict.NONE
    if before.endswith(":") and not (found["label"] or _ASKED.search(before)):
        return Verdict.NONE  # somebody else's word, or an example
    conditional = (found["how"] or "").lower().startswith("cond") or not _NO_MORE.match(found["rest"])
    return Verdict.CONDITIONAL if conditional else Verdict.APPROVED


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
