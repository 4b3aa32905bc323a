"""The code of `bide run --lang`: from the command line, from a file, or from stdin."""

import os

from bide.cli.exits import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK = 1024 * 1024


def read_code(language: str, given: str | None, words: "Sequence[str]", *, stdin: bool) -> str:
    """The code that is meant. Raises Usage."""
    if given is not None and words:
        raise Usage(detail="give the code with -c or in a file, not both; see 'bide run --help'")
    if given is not None:
        return given
    if not words:
        raise Usage(
            detail=f"there is no code to run; give it with -c, as a FILE, or with - on stdin: --lang {language} -"
        )
    if len(words) > 1:
        program = "python3" if language == "python" else "bash"
        raise Usage(
            detail=f"code takes no arguments; run the file as a command: bide run -- {program} {' '.join(words)}"
        )
    if words[0] == "-" and stdin:
        raise Usage(detail="stdin has the code, so it cannot be the job's stdin as well; put the code in a file")
    return _read(words[0])


def _read(name: str) -> str:
    """As bytes that text can carry: what is no UTF-8 comes out of it as it went in."""
    try:
        fd = 0 if name == "-" else os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        data = b""
        while piece := os.read(fd, _CHUNK):
            data += piece
    except OSError as error:
        raise Usage(
            detail=f"cannot read code from {name!r}: {error.strerror}; a file of code follows --lang"
        ) from error
    if not data.strip():
        raise Usage(detail=f"there is no code in {'stdin' if name == '-' else repr(name)}")
    if b"\0" in data:
        raise Usage(detail=f"{name!r} has NUL bytes in it, so it is not code")
    return data.decode("utf-8", "surrogateescape")
