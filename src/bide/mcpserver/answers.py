"""How the answer of another LLM reads to a model: its words, and what should be known beside them."""

from __future__ import annotations

from bide.mcpserver.gaps import CHARS_PER_TOKEN
from bide.model.llm.answer import Answer, Status
from bide.model.schema import Json


def spoken(answer: Answer, said: str) -> str:
    """What was answered; where it failed, why, and what was said all the same."""
    if answer.status in (Status.COMPLETED, Status.RUNNING):
        return said or "(no answer)"
    return f"{answer.error}\n\n{said}" if said and said not in answer.error else answer.error


def beside(answer: Answer) -> list[str]:
    """What should be known beside it, a line each."""
    return [f"warning {note.code}: {note.message}" for note in answer.notes]


def answered(answer: Answer, budget: int, mark: str) -> tuple[str, Json]:
    """An answer within a budget of tokens, as text between lines that it cannot forge, and as data."""
    if answer.status is Status.RUNNING:
        said = f"It is asked again, as job {answer.job.id}: await that"
        return said, {"status": str(answer.status), "job": answer.job.id}
    whole = spoken(answer, answer.text)
    shown = _cut(whole, budget * CHARS_PER_TOKEN)
    head = f"--- answer of {answer.cli} {mark}"
    data: Json = {"status": str(answer.status), "text": shown, "resume": answer.reading.conversation}
    if answer.notes:
        data["warnings"] = [note.message for note in answer.notes]
    return "\n".join([f"{head}\n{shown}\n--- end {mark}", *beside(answer)]), data


def _cut(whole: str, room: int) -> str:
    """The beginning and, for the greater part, the end, where the verdict is."""
    if len(whole) <= room:
        return whole
    first, last = room // 3, room - room // 3
    left = f"[{len(whole) - room} characters left out: send the same ask again for all of it]"
    return f"{whole[:first]}\n{left}\n{whole[-last:]}"
