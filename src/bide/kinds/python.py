"""Python code, run by the interpreter of the session or of the project. `inside/` is what that interpreter executes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from bide.model.errors import BadRequest

NAME = "python"
RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside", "start.py")

CODE_MAX = 1024 * 1024
_WORD = 32_000
"""Characters in one word of a command line: the kernel takes 128 KiB a word, and a character has up to four bytes."""


def argv(code: str, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The interpreter, the runner, and the code in as many words as it takes."""
    size = len(os.fsencode(code))
    if size > CODE_MAX:
        detail = (
            f"the code has {size} bytes, and {CODE_MAX} can be handed to an interpreter; put it in a file and run that"
        )
        raise BadRequest(detail=detail)
    return (interpreter(cwd, env), RUNNER, *(code[at : at + _WORD] for at in range(0, len(code), _WORD)))


def interpreter(cwd: str, env: Mapping[str, str]) -> str:
    """Which Python runs code here: that of VIRTUAL_ENV, of a .venv or venv from the folder upwards, on PATH, or our own."""
    for path in _candidates(cwd, env):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    detail = f"no Python was found for code in {cwd!r}; make a virtual environment there, or put python3 on PATH"
    raise BadRequest(detail=detail)


def _candidates(cwd: str, env: Mapping[str, str]) -> Iterator[str]:
    if env.get("VIRTUAL_ENV"):
        yield os.path.join(cwd, env["VIRTUAL_ENV"], "bin", "python")
    folder = cwd
    while True:
        for name in (".venv", "venv"):
            if _is_trusted(os.path.join(folder, name)):
                yield os.path.join(folder, name, "bin", "python")
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    for entry in env.get("PATH", "").split(os.pathsep):
        yield os.path.join(cwd, entry, "python3")
    yield sys.executable


def _is_trusted(folder: str) -> bool:
    """Whether it belongs to us or to root: anybody can make a folder of this name in /tmp."""
    try:
        return os.stat(folder).st_uid in (os.getuid(), 0)
    except OSError:
        return False
