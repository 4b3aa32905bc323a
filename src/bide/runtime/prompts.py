"""A program's own prompt as a question: nothing of it is kept, because its folder and its terminal say it all."""

from __future__ import annotations

import contextlib
import os
import re
import termios
from datetime import UTC, datetime

from bide.keeper import told
from bide.model.job import Job, Taken
from bide.model.output import looks_like_prompt, tail_text
from bide.model.phase import Begun
from bide.model.plaintext import clean_line
from bide.model.question import Posed, Question, is_secret

SURE = 1
"""What the keeper calls a job of which the kernel says that it waits for input."""
_PROMPT_BYTES = 4096
_REPEATED = re.compile(r"\A(\S.{0,80}? )\1+\Z")
"""Prompts on one line: input that comes by a pipe is not shown, so no newline is between them."""
MARK = ":input:"
"""In the id of a prompt, between its job and the byte of the input that the answer begins at."""


def question(job: Job, prompt: str, taken: Taken | None, path: str, terminal: int) -> Posed | None:
    """What a job that waits for input asks; nothing while what was sent to it is on its way."""
    if taken is None or taken.taken < taken.size or told.is_closed(path):
        return None
    text = prompt.strip()
    asked = Question(text or "(it shows no prompt)", secret=is_secret(text) or _hides(terminal))
    return Posed(f"{job.id}{MARK}{taken.size}", job.id, asked, _moved_at(job, path), typed_at=taken.size)


def shown(path: str, waits: int) -> str | None:
    """Return the prompt of a job that waits for input, as its keeper says; of one that only may, what looks like a prompt."""
    if not waits:
        return None
    text = _REPEATED.sub(r"\1", _unfinished(path))
    if waits == SURE:
        return text
    text = clean_line(text)
    return text if looks_like_prompt(text) else None


def _unfinished(path: str) -> str:
    for stream in ("out", "err"):
        with contextlib.suppress(OSError), open(f"{path}/{stream}", "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _PROMPT_BYTES, 0))
            text = tail_text(file.read())
            if text.strip():
                return text
    return ""


def _hides(terminal: int) -> bool:
    """Whether what is typed is taken by lines and not shown, as passwords are; editors of lines and screens show it themselves."""
    with contextlib.suppress(termios.error, OSError):
        modes = termios.tcgetattr(terminal)[3] if terminal >= 0 else termios.ECHO
        return not modes & termios.ECHO and bool(modes & termios.ICANON)
    return False


def _moved_at(job: Job, path: str) -> datetime:
    """When it last wrote or was sent input, which is when it asked; when it started if there was neither."""
    times = [job.phase.started_at if isinstance(job.phase, Begun) and job.phase.started_at else job.created_at]
    for stream in ("out", "err", "in"):
        with contextlib.suppress(OSError):
            times.append(datetime.fromtimestamp(os.stat(f"{path}/{stream}").st_mtime, UTC))
    return max(times)
