"""Labels and errors in the words of seed 000."""

from __future__ import annotations

import re

from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.phase import Ended, Reason
from bide.model.words import ended_how

LABEL_MAX = 120


def label_of(command: str) -> str:
    """The command on one line, at most 120 characters."""
    line = " ".join(command.split())
    return line if len(line) <= LABEL_MAX else f"{line[: LABEL_MAX - 3]}..."


def fenced(text: str) -> list[str]:
    """What a job wrote, as lines between fences longer than any that it wrote: it cannot pose as a section of ours."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return [fence, text.rstrip("\n"), fence]


def error_text(job: Job, output: str) -> str:
    """What a job that failed wrote, and how it ended."""
    assert isinstance(job.phase, Ended)  # noqa: S101 - only what ended can have failed
    end = job.phase.end
    how = (
        f"Command exited with code {end.exit_code}"
        if end.reason is Reason.EXITED
        else f"Command {ended_how(job_to_json(job))}"
    )
    return f"{output.rstrip(chr(10))}\n\n{how}" if output.strip() else how
