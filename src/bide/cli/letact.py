"""Let LLM command lines act without asking: the operator's word, asked for once and kept in the home's settings."""

import os
import re
import sys

from bide.cli.clients import read_file, write_file
from bide.client.start import prepare_home
from bide.model.errors import BadRequest

FILE = "config.toml"
_QUESTION = (
    "Requests of the toolset llm can let Claude, Gemini, Grok and Vibe act without asking anybody (approvalStrategy "
    "mcp_managed, which a gate checks first; Vibe by default). Allow that? [y/N] "
)
_ENABLED = re.compile(r"\s*enabled\s*=")
_SECTION = re.compile(r"\s*\[\s*llm\s*\]\s*(#.*)?$")


def settle(home: str, *, allowed: bool) -> bool | None:
    """Return what holds in a home: as it was set before, as it is set now, or `None` where nobody could be asked.

    Raises BadRequest if the settings cannot be read or written.
    """
    path = os.path.join(home, FILE)
    before = _said(path, read_file(path))
    if allowed or (before is None and os.isatty(0)):
        wanted = allowed or _asked()
        if wanted is not before:
            prepare_home(home)
            _write(path, wanted)
        return wanted
    return before


def _asked() -> bool:
    sys.stderr.write(_QUESTION)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _said(path: str, text: str) -> bool | None:
    import tomllib  # noqa: PLC0415 - only an install pays for it

    try:
        section: object = tomllib.loads(text).get("llm", {})
    except ValueError as error:
        raise BadRequest(detail=f"{path} is not TOML ({error}); correct it, then install again") from None
    found: object = section.get("enabled") if isinstance(section, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return found if isinstance(found, bool) else None


def _write(path: str, wanted: bool) -> None:  # noqa: FBT001 - it is the value
    text = read_file(path)
    changed = _changed(text, f"enabled = {str(wanted).lower()}\n")
    try:
        right = _said(path, changed) is wanted
    except BadRequest:
        right = False
    if not right:
        raise BadRequest(detail=f"{path} could not be changed; write enabled = {str(wanted).lower()} under [llm] there")
    write_file(path, changed)


def _changed(text: str, line: str) -> str:
    """Return the text with this line in its section `llm`; all else stays as it is."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    start = next((at for at, one in enumerate(lines) if _SECTION.match(one)), None)
    if start is None:
        return "".join([*lines, "\n" if lines else "", "[llm]\n", line])
    end = next((at for at in range(start + 1, len(lines)) if lines[at].lstrip().startswith("[")), len(lines))
    kept = [one for one in lines[start + 1 : end] if not _ENABLED.match(one)]
    return "".join([*lines[: start + 1], line, *kept, *lines[end:]])
