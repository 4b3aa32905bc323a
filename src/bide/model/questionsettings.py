"""What a home's settings say of questions."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct

from bide.model.question import Policy, Via

ASKED = (str(Via.PERSON), str(Via.CLIENT), str(Via.ASSISTANT))
"""Who can be asked, beside a command."""


class QuestionSettings(Struct, frozen=True):
    """Who answers what jobs ask, and what holds when nobody does."""

    ask: tuple[str, ...] = ASKED
    """Whose answer is taken."""
    command: str | tuple[str, ...] = ()
    """A program that is asked first: the question as JSON on its stdin, the answer as JSON on its stdout."""
    prompts: bool = False
    """It is also asked what programs ask with a prompt of their own."""
    policy: Policy = Policy.DENY
    """What holds when nobody can answer, unless the question says otherwise."""
    patience: timedelta = timedelta(0)
    """How long a question stays open, unless it says otherwise; for as long as its job goes on, if no time."""
