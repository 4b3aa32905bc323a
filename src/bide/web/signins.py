"""Who has signed in from a browser: with a secret that is good once, and from then on with a cookie.

Nothing of it is written down: when the daemon ends, everybody is signed out.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

SECRET_LASTS = 10 * 60.0
"""Seconds in which an address that was given out can be used."""
LASTS = 12 * 3600.0
"""Seconds after which one has to sign in again."""


def _random() -> str:
    return secrets.token_urlsafe(32)


@dataclass(slots=True)
class SignIn:
    """One browser that was let in."""

    until: float
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """In the path of everything it asks for, so that its cookie goes to no other server of this address."""
    cookie: str = field(default_factory=_random)
    token: str = field(default_factory=_random)
    """In every form, so that only a page of ours can send one."""

    def sent_by(self, token: str) -> bool:
        """Whether a form with this token is ours."""
        return hmac.compare_digest(token.encode(), self.token.encode())


class SignIns:
    """Those who were let in, and the secrets that let in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody was, yet."""
        self._clock = clock
        self._secrets: dict[str, float] = {}
        self._known: dict[str, SignIn] = {}

    def invite(self) -> str:
        """A secret that lets in whoever has it, once."""
        now = self._clock()
        self._secrets = {secret: until for secret, until in self._secrets.items() if until > now}
        self._known = {id_: one for id_, one in self._known.items() if one.until > now}
        secret = _random()
        self._secrets[secret] = now + SECRET_LASTS
        return secret

    def enter(self, secret: str) -> SignIn | None:
        """Let in who has a secret that is still good; from now on it is not."""
        if self._secrets.pop(secret, 0.0) <= self._clock():
            return None
        one = SignIn(self._clock() + LASTS)
        self._known[one.id] = one
        return one

    def find(self, id_: str, cookie: str) -> SignIn | None:
        """Whose cookie this is."""
        one = self._known.get(id_)
        if one is None or not self.lasts(one) or not hmac.compare_digest(cookie.encode(), one.cookie.encode()):
            return None
        return one

    def lasts(self, one: SignIn) -> bool:
        """Whether it is still let in."""
        return one.id in self._known and one.until > self._clock()

    def leave(self, one: SignIn) -> None:
        """Let it in no longer."""
        self._known.pop(one.id, None)
