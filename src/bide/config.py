"""Where the home is, whose client this is, and what else users set in the environment; the umask that a job takes over."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_OWNER_VARIABLE = "BIDE_OWNER"
_SPARES, _SPARES_MAX = 4, 64


def home(given: "str | os.PathLike[str] | None" = None, env: "Mapping[str, str] | None" = None) -> str:
    """The home folder: as given, else BIDE_HOME, else the XDG state folder."""
    env = os.environ if env is None else env
    chosen = os.fspath(given) if given else env.get("BIDE_HOME")
    if not chosen:
        state = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
        chosen = os.path.join(state, "bide")
    return os.path.abspath(chosen)


def owner(env: "Mapping[str, str] | None" = None) -> str:
    """Whose client this is: BIDE_OWNER, else nobody's in particular."""
    return (os.environ if env is None else env).get(DEFAULT_OWNER_VARIABLE, "")


def spares(env: "Mapping[str, str] | None" = None) -> int:
    """How many keepers wait for jobs to come: BIDE_SPARES, else 4."""
    given = (os.environ if env is None else env).get("BIDE_SPARES", "")
    return min(int(given), _SPARES_MAX) if given.isdecimal() else _SPARES


def umask() -> int:
    """The umask of this process. Setting it for a moment would show in files that another thread makes."""
    if len(sys._current_frames()) == 1:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - threading costs its import
        mask = os.umask(0o077)
        os.umask(mask)
        return mask
    with open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return 0o022
