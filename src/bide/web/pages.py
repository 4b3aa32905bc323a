"""The page of questions as HTML. Pure: what is asked comes in as values, and so does the time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bide.model.job import Job
from bide.model.question import Form, Posed, Question, State, Value, Via, by_policy
from bide.model.sanitize import one_line
from bide.model.times import stamp
from bide.model.units import show_age
from bide.web.filling import Html, fill, joined, verbatim

MOST = 50
"""So many questions are shown, the oldest."""
_NOTHING = Html("")
_WORDS = {True: "yes", False: "no"}


class Asked(Struct, frozen=True):
    """A question as it is shown."""

    posed: Posed
    job: Job | None
    """Whose it is; `None` if that is gone by now."""
    key: str
    """Sent with the answer, so that the same form sent twice says the same once."""
    error: str = ""
    """Why what was typed was not taken."""
    typed: str = ""


def page(asked: Sequence[Asked], open_: int, notes: Sequence[Html], token: str, now: datetime) -> Html:
    """All of it; of so many that are open, these."""
    return fill(
        "page",
        title=f"({open_}) bide asks" if open_ else "bide",
        status=_status(open_, len(asked)),
        notes=joined(list(notes)),
        questions=joined([_question(one, token, now) for one in asked]),
        token=token,
    )


def outside(sentence: str) -> Html:
    """What is told to who is not signed in."""
    return fill("outside", sentence=sentence)


def closed(posed: Posed) -> Html:
    """What became of a question that is no longer open."""
    return note(posed.id, posed.question.text, became(posed))


def note(id_: str, text: str, what: str) -> Html:
    """A sentence about a question."""
    return fill("note", id=id_, text=one_line(text, 100), what=what)


def not_taken(typed: str) -> Html:
    """What was typed for nothing, so that it is not lost."""
    return fill("typed", typed=typed)


def became(posed: Posed) -> str:
    """What became of a question, as what follows its text."""
    by = f" by {posed.by}" if posed.by and posed.via not in (Via.POLICY, None) else ""
    why = f" ({posed.why})" if posed.why and posed.via in (Via.POLICY, None) else ""
    if posed.state is State.ANSWERED:
        said = "" if posed.question.secret or posed.value is None else f": {one_line(_said(posed.value), 200)}"
        return f"was answered{by}{why}{said}"
    if posed.state is State.DENIED:
        return f"was denied{by}{why}"
    return f"is asked no longer{why}"


def _status(open_: int, shown: int) -> str:
    if not open_:
        return "Nothing is asked. What is asked will show up here."
    more = f"; these are the oldest {shown}" if open_ > shown else ""
    return f"One question is open{more}." if open_ == 1 else f"{open_} questions are open{more}."


def _question(one: Asked, token: str, now: datetime) -> Html:
    posed, job, question = one.posed, one.job, one.posed.question
    return fill(
        "question",
        id=posed.id,
        text=question.text.strip(),
        whose=posed.job,
        job=posed.job if job is None or not job.name else job.name,
        command="" if job is None else one_line(job.spec.command, 300),
        folder="" if job is None else f"in {one_line(job.spec.cwd, 200)}",
        at=stamp(posed.posed_at) or "",
        age=_age((now - posed.posed_at).total_seconds()),
        whom=_whom(question),
        until=_until(posed, now),
        token=token,
        key=one.key,
        error=one.error,
        field=_field(one) if question.form is Form.TEXT else _NOTHING,
        choices=joined([_choice(say, label) for say, label in _choices(question)]),
        deny="Deny" if posed.typed_at is None else "End its input",
        denied="It is told that it gets no answer" if posed.typed_at is None else "It is told that nothing more comes",
    )


def _choices(question: Question) -> list[tuple[str, str]]:
    """What each button says, and shows. An option goes by its place: no text is changed on its way."""
    if question.form is Form.TEXT:
        return [("text", "Answer")]
    if question.form is Form.BOOLEAN:
        return [(word, _marked(word.capitalize(), default=question.default is value)) for value, word in _WORDS.items()]
    return [
        (str(place), _marked(one_line(option) or "(blank)", default=option == question.default))
        for place, option in enumerate(question.options)
    ]


def _marked(label: str, *, default: bool) -> str:
    return f"{label} (default)" if default else label


def _choice(say: str, label: str) -> Html:
    return fill("choice", say=say, label=label)


def _field(one: Asked) -> Html:
    question = one.posed.question
    default = "" if question.default is None else one_line(_said(question.default), 200)
    return fill(
        "field",
        id=one.posed.id,
        label=_label(one.posed),
        name="secret" if question.secret else "text",
        type="password" if question.secret else "text",
        complete="new-password" if question.secret else "off",
        typed=_NOTHING if question.secret else verbatim(one.typed),
        placeholder=f"{default} (if you leave it empty)" if default and not question.secret else "",
    )


def _label(posed: Posed) -> str:
    if not posed.question.secret:
        return "Your answer"
    return "Your answer: not shown, and not kept" if posed.typed_at is None else "Your answer: not shown"


def _whom(question: Question) -> str:
    if question.secret:
        return "for a person; no model sees it"
    return "for a person" if question.exclusive else "an agent may answer it too"


def _until(posed: Posed, now: datetime) -> str:
    if posed.until is None:
        return ""
    value = by_policy(posed.question, posed.policy)
    then = "it is denied" if value is None else f"the answer is {one_line(_said(value), 80)}"
    return f" · in {show_age((posed.until - now).total_seconds())} {then}"


def _age(seconds: float) -> str:
    return "just now" if seconds < 60 else f"{show_age(seconds)} ago"


def _said(value: Value) -> str:
    return _WORDS[value] if isinstance(value, bool) else value
