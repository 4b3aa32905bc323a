"""What the load asks for: jobs whose whole output and exit code are known beforehand."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

MARKS = "/var/marks"
"""Over there: a file for each job that marks its own start, one line a start, synced before the job goes on."""
LINE = "line"
"""The group in which one job runs at a time."""
_PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@dataclass(slots=True)
class Ask:
    """One request, and what was answered to it before the power was cut."""

    token: str
    """Names it over there, as the job's label."""
    kind: str
    script: str
    out: bytes
    err: bytes = b""
    code: int | None = None
    """What it exits with; None if it never ends by itself."""
    foreground: bool = False
    key: str | None = None
    fields: Json = field(default_factory=dict[str, Any])
    marks: bool = False
    killed: bool = False
    """Somebody asks to kill it."""
    id: str | None = None
    """The id that was given out."""
    end: Json | None = None
    """The job as it was when its end was reported."""

    @property
    def body(self) -> Json:
        """The request."""
        whole: Json = {"command": self.script, "label": self.token, "cwd": "/", "base_env": _PATH}
        whole["background"] = not self.foreground
        return whole | self.fields | ({"key": self.key} if self.key else {})


def _lines(token: str, count: int) -> bytes:
    return b"".join(b"%s %d\n" % (token.encode(), number) for number in range(1, count + 1))


def _mark(token: str) -> str:
    place = f"{MARKS}/{token}"
    return f"echo $BIDE_JOB >> {place}; sync {place} {MARKS}; "


def short(token: str, choice: random.Random) -> Ask:
    """Some lines on both streams, and an exit code."""
    count, code = choice.randint(1, 30), choice.choice((0, 0, 1, 3, 77))
    script = f"for i in $(seq {count}); do echo {token} $i; done; echo {token} done >&2; exit {code}"
    return Ask(
        token, "short", script, _lines(token, count), f"{token} done\n".encode(), code, foreground=choice.random() < 0.5
    )


def bulk(token: str, choice: random.Random) -> Ask:
    """Up to 300 kB at once."""
    count = choice.randint(2_000, 15_000)
    return Ask(
        token, "bulk", f"seq -f '{token} %.0f' {count}", _lines(token, count), code=0, foreground=choice.random() < 0.5
    )


def keyed(token: str, choice: random.Random) -> Ask:
    """Marks that it ran; asked for under a key, and once more after the cut."""
    count = choice.randint(1, 5)
    script = f"{_mark(token)}seq -f '{token} %.0f' {count}"
    return Ask(token, "keyed", script, _lines(token, count), code=0, key=f"key-{token}", marks=True)


def queued(token: str, choice: random.Random) -> Ask:
    """Waits in line, marks that it ran."""
    count = choice.randint(1, 5)
    script = f"{_mark(token)}seq -f '{token} %.0f' {count}"
    return Ask(token, "queued", script, _lines(token, count), code=0, marks=True, fields={"turn": {"group": LINE}})


def blocker(token: str, _choice: random.Random) -> Ask:
    """Takes the one place in line, and keeps it."""
    return Ask(token, "long", f"echo {token} 1; exec sleep 100000", _lines(token, 1), fields={"turn": {"group": LINE}})


def long(token: str, _choice: random.Random) -> Ask:
    """Says something, and stays."""
    return Ask(token, "long", f"echo {token} 1; exec sleep 100000", _lines(token, 1))


def dribble(token: str, _choice: random.Random) -> Ask:
    """Says something every 300 ms, for ever."""
    script = f"i=1; while :; do echo {token} $i; i=$((i+1)); sleep 0.3; done"
    return Ask(token, "dribble", script, _lines(token, 3_000))


def killed(token: str, _choice: random.Random) -> Ask:
    """Is killed."""
    return Ask(token, "killed", f"echo {token} 1; exec sleep 100000", _lines(token, 1), killed=True)


def timed(token: str, choice: random.Random) -> Ask:
    """Runs into its time limit."""
    limits = {"timeout_ms": choice.randint(300, 1500), "grace_ms": 500}
    return Ask(token, "timed", f"echo {token} 1; exec sleep 100000", _lines(token, 1), fields={"limits": limits})


Make = Callable[[str, random.Random], Ask]

KINDS: tuple[tuple[Make, int], ...] = (
    (short, 6), (bulk, 3), (keyed, 4), (queued, 2), (long, 1), (dribble, 1), (killed, 1), (timed, 1),
)  # fmt: skip
"""How often each is asked for, of 19."""


def draw(token: str, choice: random.Random) -> Ask:
    """One of any kind."""
    make = choice.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])[0]
    return make(token, choice)
