"""Plain commands: a string is given to a shell, a list of words is executed as it is."""

from __future__ import annotations

import os
import shlex
from functools import cache

NAME = "shell"


@cache
def path() -> str:
    """The shell of this machine: bash where there is one."""
    for candidate in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
        if os.access(candidate, os.X_OK):
            return candidate
    return "/bin/sh"


def argv(command: str | tuple[str, ...]) -> tuple[str, ...]:
    """What is executed."""
    return (path(), "-c", command) if isinstance(command, str) else command


def shown(command: str | tuple[str, ...]) -> str:
    """The command as a person would type it."""
    return command if isinstance(command, str) else shlex.join(command)
