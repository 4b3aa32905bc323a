"""What a job asks: what can be asked, what answers it, who may, and what holds when nobody can. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from bide.model.errors import BadRequest
from bide.model.schema import Json

_SECRET = re.compile(r"pass(word|phrase|code)|\bpin\b|secret|one.time.code|\botp\b|token\b", re.IGNORECASE)


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


@dataclass(frozen=True, slots=True)
class Question:
    """One question."""

    text: str
    form: Form = Form.TEXT
    options: tuple[str, ...] = ()
    """What a `select` offers."""
    default: str | bool | None = None
    exclusive: bool = False
    """Only a person may answer."""
    secret: bool = False
    """The answer is a password or the like: it never goes through a model."""
    id: str = "question"

    def __post_init__(self) -> None:
        """Checked."""
        if not self.text.strip():
            raise BadRequest(detail="a question needs a text")
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


def by_policy(question: Question, policy: Policy) -> str | bool | None:
    """The answer where nobody can give one; `None` denies it. What only a person may answer is denied in any case."""
    if question.for_people or policy is Policy.DENY:
        return None
    if question.default is not None or policy is Policy.DEFAULTS:
        return question.default
    if question.form is Form.BOOLEAN:
        return True
    return question.options[0] if question.options else None
