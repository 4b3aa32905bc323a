"""Notice that a program asked for input that nobody could give: its stdin was empty."""

from __future__ import annotations

import re

from bide.model.job import Job
from bide.model.output import looks_like_prompt
from bide.model.phase import Ended

ADVICE = 'Its stdin was empty. To answer what it asks, run it again with "pty": true.'
GIVE = "[Its stdin was empty. To answer what it asks, run it again with the answer piped in, as: echo y | COMMAND]"
"""The same where no call can send input."""

_ASKED = re.compile(
    r"[\[(](?:y(?:es)?/n(?:o)?)\b|\bEOFError\b|EOF when reading a line|(?:stdin|input device|input) is not a (?:tty|terminal)"
    r"|\bread:.*(?:end of file|EOF)|inappropriate ioctl for device",
    re.IGNORECASE,
)
_VAIN = re.compile(r"[?:>)\]]\s+(?:operation |user )?(?:abort|cancel)(?:l?ed|ing)?\W*$", re.IGNORECASE)
_FENCE = "--- "
_READS = re.compile(r"(?:^|[;&|({\s'\"])read\s+(?:-[a-zA-Z]+\s+)*-[a-zA-Z]*p")
"""The shell's own prompt: it is not even shown where stdin is no terminal."""


def is_met(job: Job, shown: str) -> bool:
    """Whether a job that ended without an input seems to have asked for some, by its command and what is shown of its output."""
    if job.spec.stdin or job.spec.pty or job.spec.ask is not None or not isinstance(job.phase, Ended):
        return False
    if _ASKED.search(shown) is not None or _READS.search(job.spec.command) is not None:
        return True
    lines = shown.split("\n")
    ends = [line for line, after in zip(lines, [*lines[1:], _FENCE], strict=True) if after.startswith(_FENCE)]
    return any(_VAIN.search(line) or (line.endswith(" ") and looks_like_prompt(line)) for line in ends)
