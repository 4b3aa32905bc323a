"""Settings: where the home is. The one place that reads bide's own environment variables."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_OWNER_VARIABLE = "BIDE_OWNER"


def home(given: "str | os.PathLike[str] | None" = None, env: "Mapping[str, str] | None" = None) -> str:
    """The home folder: as given, else BIDE_HOME, else the XDG state folder."""
    env = os.environ if env is None else env
    chosen = os.fspath(given) if given else env.get("BIDE_HOME")
    if not chosen:
        state = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
        chosen = os.path.join(state, "bide")
    return os.path.abspath(chosen)
