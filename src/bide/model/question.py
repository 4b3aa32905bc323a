"""What a job asks: what can be asked, what answers it, who may, and what holds when nobody can. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from bide.model.errors import BadRequest
from bide.model.schema import Json

_SECRET = re.compile(r"pass(word|phrase|code)|\bpin\b|secret|one.time.code|\botp\b|token\b", re.IGNORECASE)

ID_PATTERN = re.compile(r"q[0-9a-hjkmnp-tv-z]{10}\Z")
_TEXT_MAX = 4096
_OPTIONS_MAX = 100
_WORDS = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


Value = str | bool
"""What an answer is, by the form of its question."""


class Form(StrEnum):
    """What an answer is."""

    BOOLEAN = "boolean"
    SELECT = "select"
    TEXT = "text"


class Policy(StrEnum):
    """What holds when nobody can answer."""

    AUTO = "auto"
    """Yes to what is yes or no; of several the default, else the first; of text the default."""
    DEFAULTS = "defaults"
    """The default, where there is one."""
    DENY = "deny"


class Via(StrEnum):
    """How an answer comes."""

    PERSON = "person"
    """Somebody at a terminal or a page."""
    CLIENT = "client"
    """Somebody whom an MCP client asks for us."""
    ASSISTANT = "assistant"
    """The model that the job works for, or a program that speaks for it."""
    COMMAND = "command"
    """The program that the settings name."""
    POLICY = "policy"
    """Nobody: the policy holds."""


class State(StrEnum):
    """Where a question is. It is closed once, and stays so."""

    OPEN = "open"
    ANSWERED = "answered"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    """Whoever asked no longer does."""


class Question(Struct, frozen=True):
    """One question."""

    text: str
    form: Form = Form.TEXT
    options: tuple[str, ...] = ()
    """What a `select` offers."""
    default: Value | None = None
    exclusive: bool = False
    """Only a person may answer."""
    secret: bool = False
    """The answer is a password or the like: it never goes through a model."""
    id: str = "question"

    def __post_init__(self) -> None:
        """Checked."""
        if not 0 < len(self.text.strip()) <= _TEXT_MAX or len(self.options) > _OPTIONS_MAX:
            raise BadRequest(
                detail=f"a question has a text of 1 to {_TEXT_MAX} characters and at most {_OPTIONS_MAX} options"
            )
        if (self.form is Form.SELECT) is not bool(self.options):
            raise BadRequest(detail="a select needs options to choose from, and other questions have none")
        if self.default is not None and fault(self, self.default) is not None:
            raise BadRequest(detail=f"the default of a question must answer it: {fault(self, self.default)}")

    @property
    def for_people(self) -> bool:
        """Whether no model may see or answer it."""
        return self.exclusive or self.secret

    def to_json(self) -> Json:
        """As whoever answers is shown it."""
        body: Json = {"id": self.id, "text": self.text, "type": str(self.form), "default": self.default}
        return {**body, "options": list(self.options)} if self.options else body


class Posed(Struct, frozen=True):
    """A question of a job, and what became of it."""

    id: str
    job: str
    question: Question
    posed_at: datetime
    policy: Policy = Policy.DENY
    """What holds when nobody can answer."""
    until: datetime | None = None
    """When that is, at the latest."""
    typed_at: int | None = None
    """Of a program's own prompt: the byte of its input that the answer begins at."""
    state: State = State.OPEN
    value: Value | None = None
    via: Via | None = None
    by: str = ""
    why: str = ""
    """Why it was not answered."""
    closed_at: datetime | None = None


class Answered(Struct, frozen=True):
    """How a question is closed."""

    state: State
    value: Value | None = None
    via: Via | None = None
    by: str = ""
    why: str = ""
    key: str | None = None
    """The answerer's word for this answer: said again it is the same one."""


def refused(question: Question, via: Via, ask: Collection[str]) -> str | None:
    """Why an answer that comes in this way is not taken, where the settings ask these; `None` if it is."""
    if via is Via.CLIENT and question.secret:
        return "it asks for a secret, which no client may be asked for; a person answers it, at a terminal or on the page of 'bide web'"
    if via in (Via.ASSISTANT, Via.COMMAND) and question.for_people:
        return "only a person may answer it, at a terminal or on the page of 'bide web'"
    if via in (Via.PERSON, Via.CLIENT, Via.ASSISTANT) and via not in ask:
        return f"the settings of this home ask {' and '.join(ask) or 'nobody'} (questions.ask), not the {via}"
    return None


def has_answerer(question: Question, ask: Collection[str]) -> bool:
    """Whether anybody whom the settings ask may answer, sooner or later."""
    return any(refused(question, via, ask) is None for via in (Via.PERSON, Via.CLIENT, Via.ASSISTANT))


def spoken(question: Question, said: str) -> Value:
    """The answer that words give: `yes` and the like to what is yes or no, else the text. Raises BadRequest."""
    if question.form is not Form.BOOLEAN:
        return said
    value = _WORDS.get(said.strip().lower())
    if value is None:
        raise BadRequest(detail=f"this is no answer to {question.text!r}: say yes or no, not {said!r}")
    return value


def checked(question: Question, value: object) -> Value:
    """The value, if it answers the question. Raises BadRequest."""
    wrong = fault(question, value)
    if wrong is not None or not isinstance(value, str | bool):
        raise BadRequest(detail=f"this is no answer to {question.text!r}: {wrong}")
    return value


def is_secret(prompt: str) -> bool:
    """Whether a terminal's prompt asks for a password or the like."""
    return _SECRET.search(prompt) is not None


def fault(question: Question, value: object) -> str | None:
    """Why a value is no answer; `None` if it is one."""
    if question.form is Form.BOOLEAN:
        return None if isinstance(value, bool) else f"it must be true or false, not {value!r}"
    if question.form is Form.SELECT:
        return None if value in question.options else f"it must be one of {', '.join(question.options)}, not {value!r}"
    return None if isinstance(value, str) else f"it must be text, not {value!r}"


def by_policy(question: Question, policy: Policy) -> Value | None:
    """The answer where nobody can give one; `None` denies it. What only a person may answer is denied in any case."""
    if question.for_people or policy is Policy.DENY:
        return None
    if question.default is not None or policy is Policy.DEFAULTS:
        return question.default
    if question.form is Form.BOOLEAN:
        return True
    return question.options[0] if question.options else None
