"""Opinions of several LLMs on one matter: what each is asked, what it says in short, and whether they agree. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from msgspec import Struct

ASKED = ("claude", "codex")
"""Who is asked unless others are named."""
FOCUS = "correctness, missing assumptions and practical next steps"
EXCERPT = 1_800
"""Characters of an opinion that a report shows; the whole of it is the result of its job."""
_RISKS = 5
_SHAPE = (
    "You are one of several independent reviewers; do not speak for the others. "
    "Answer under the headings Rationale, Risks and Next step, and end with one line: Verdict: "
)
_VERDICT = re.compile(r"^[\s#*_>-]*verdict[\s*_]*[:=—-][\s*_]*(.+?)[\s*_.]*$", re.IGNORECASE)
_HEADING = re.compile(r"^[\s#*_]*(risks?|concerns?|limitations?)[\s*_]*:?[\s*_]*(.*)$", re.IGNORECASE)
_ANY_HEADING = re.compile(r"^\s*(?:#+\s|\*\*[^*]+\*\*:?\s*$|(?:rationale|next step|verdict)\b)", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_WORD = re.compile(r"\w+")


class Opinion(Struct, frozen=True):
    """What one LLM said, or why it said nothing."""

    cli: str
    status: str
    """As of its job; `skipped` for one that could not be asked."""
    text: str = ""
    job: str | None = None
    correlation_id: str | None = None
    model: str | None = None
    error: str = ""

    @property
    def verdict(self) -> str | None:
        """Its verdict as it wrote it; silence is none."""
        if self.status == "running":
            return "pending"
        if self.status == "skipped":
            return "not_run"
        if self.status != "completed":
            return self.status
        return verdict_of(self.text) or ("answered" if self.text.strip() else None)

    def to_json(self) -> dict[str, Any]:
        """Return it in the gateway's words."""
        silent = self.status == "completed" and not self.text.strip()
        reference = {
            "jobId": self.job,
            "correlationId": self.correlation_id,
            "statusTool": "llm_job_status",
            "resultTool": "llm_job_result",
        }
        return {
            "provider": self.cli,
            "model": self.model,
            "status": self.status,
            "verdict": self.verdict,
            "rationale": _excerpt(self.text.strip()) or None,
            "risks": risks_of(self.text),
            "rawJobReference": reference if self.job else None,
            "error": self.error or None,
            **({"warning": "empty_output: it left with 0 and said nothing, which is no agreement"} if silent else {}),
        }


def _excerpt(text: str) -> str:
    """Return the beginning and, for the greater part, the end, where the verdict is."""
    if len(text) <= EXCERPT:
        return text
    first = EXCERPT // 3
    return f"{text[:first]}\n[{len(text) - EXCERPT} characters left out: llm_job_result has them]\n{text[first - EXCERPT :]}"


def _lines(text: str) -> list[str]:
    """Return the lines that are no code."""
    found: list[str] = []
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            found.append(line)
    return found


def verdict_of(text: str) -> str | None:
    """Return what the last line says that begins with "Verdict:"."""
    found = (match[1] for line in reversed(_lines(text)) if (match := _VERDICT.match(line)))
    return next((one[:240] for one in found), None)


def risks_of(text: str) -> list[str]:
    """Return what stands under the heading of risks, a line each."""
    found: list[str] = []
    within = False
    for line in _lines(text):
        heading = _HEADING.match(line)
        if heading:
            within, line = True, heading[2]  # noqa: PLW2901 - the rest of the heading's line is its first entry
        elif within and _ANY_HEADING.match(line):
            within = False
        entry = line.strip().lstrip("-*0123456789.) ").strip()
        if within and entry:
            found.append(entry[:300])
    return found[:_RISKS]


def prompt_of(intent: str, given: Mapping[str, str]) -> str:
    """Return what every one is asked."""
    if intent == "ask_model":
        return given["question"]
    if intent == "second_opinion":
        asked = f"The question was:\n{given['question']}\n\n" if given.get("question") else ""
        return f"{_SHAPE}agree, or disagree.\n\nJudge this answer; look at {FOCUS}.\n\n{asked}The answer:\n{given['answer']}"
    if intent == "red_team":
        hard = (
            " Assume that a mistake here is costly, and leave nothing unchallenged."
            if given.get("riskLevel") == "high"
            else ""
        )
        task = "Attack this: find wrong assumptions, unsafe advice, claims without evidence and ways in which it fails."
        return f"{_SHAPE}sound, or flawed.\n\n{task}{hard}\n\n{given['content']}"
    if intent == "consensus":
        return f"{_SHAPE}true, false, uncertain, or it depends.\n\nIs this claim true?\n\n{given['claim']}"
    return (
        f"{_SHAPE}valid, or not valid.\n\nValidate this; look at {given.get('focus') or FOCUS}.\n\n{given['question']}"
    )


def judge_prompt(question: str, found: Sequence[Opinion]) -> str:
    """Return what a judge is asked: to sum up what was said, and nothing else."""
    said = "\n\n".join(f"--- {one.cli} said:\n{one.text.strip()}" for one in found)
    task = (
        "Sum up these independent answers: Summary, Agreements, Disagreements, Recommendation, Confidence, Limitations."
    )
    return f"{task} Use only what they say, and keep real disagreement.\n\nThe request was:\n{question}\n\n{said}"


def agreement(found: Sequence[Opinion]) -> dict[str, Any]:
    """Return whether those who have said something agree; who is silent, missing or unfinished is named, and agrees with nobody."""
    said = {
        one.cli: (verdict_of(one.text) or "").lower() for one in found if one.status == "completed" and one.text.strip()
    }
    told = {cli: word for cli, word in said.items() if word}
    silent = [one.cli for one in found if one.cli not in told]
    differ = len(set(told.values())) > 1
    if differ:
        summary = "They disagree: " + "; ".join(f"{cli}: {word}" for cli, word in told.items())
    elif len(told) > 1:
        summary = f"{', '.join(told)} agree: {next(iter(told.values()))}"
    else:
        summary = "There are not two verdicts to compare."
    signals = [f"{cli} gave no verdict" for cli in silent]
    return {
        "hasMaterialDisagreement": differ,
        "agree": len(told) > 1 and not differ and not silent,
        "summary": summary,
        "signals": signals,
    }


def likeness(answers: Sequence[str]) -> list[dict[str, Any]]:
    """Return how many of their words every two answers share, from 0 to 1, the least alike first."""
    words = [frozenset(word.lower() for word in _WORD.findall(one)) for one in answers]
    pairs = [
        {
            "answers": [one + 1, other + 1],
            "sharedWords": round(len(words[one] & words[other]) / max(len(words[one] | words[other]), 1), 3),
        }
        for one, other in combinations(range(len(words)), 2)
    ]
    return sorted(pairs, key=lambda pair: pair["sharedWords"])
