"""What Python code sees as `session`: folder, environment and variables. What it leaves of them is written at the end."""

import os
import sys

from .aside import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    Dict = dict[str, Any]
else:
    Dict = dict

HOME = os.environ.get("BIDE_HOME", "")
JOB = os.environ.get("BIDE_JOB", "")
"""Of this job, whatever the code makes of its environment."""
_ID = os.environ.get("BIDE_SESSION") or None
_FOLDER = os.environ.get("BIDE_SESSION_FOLDER", "")
_BEGAN = dict(os.environb) if _FOLDER else {}
"""The environment before the code ran. What started the interpreter may have added to it: a version manager, Python itself."""


class CannotKeep(ValueError):
    """A variable that JSON cannot say."""


class Vars(Dict):
    """Variables that are kept between runs, as items or as attributes."""

    def __getattr__(self, name: str) -> object:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"session.vars has no {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(dict, name):
            raise AttributeError(f"a dict has a method {name!r}; say session.vars[{name!r}] = ...")
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(f"session.vars has no {name!r}")
        del self[name]


class Session:
    """The place the code runs in."""

    def __init__(self) -> None:
        """Nothing is read before it is asked for; outside a session nothing is written."""
        self._vars: Vars | None = None
        self._pid = os.getpid()
        self.failed = False
        if _FOLDER:
            import atexit  # noqa: PLC0415 - only a run in a session pays for it

            # Registered before everything else, so called after everything else: threads and handlers of the code.
            atexit.register(self._leave)

    def __repr__(self) -> str:
        return f"<session {_ID or 'of this run'} in {os.getcwd()}>"

    @property
    def id(self) -> "str | None":
        """Its id, if it has one."""
        return _ID

    @property
    def cwd(self) -> str:
        """The folder; setting it goes there."""
        return os.getcwd()

    @cwd.setter
    def cwd(self, folder: str) -> None:
        os.chdir(folder)

    @property
    def env(self) -> "MutableMapping[str, str]":
        """The environment, `os.environ`."""
        return os.environ

    @property
    def vars(self) -> Vars:
        """Variables; what JSON can say is kept for the next run in the session."""
        if self._vars is None:
            self._vars = Vars(_kept())
        return self._vars

    @vars.setter  # noqa: A003 - the setter of this property, not the builtin
    def vars(self, given: Vars) -> None:
        self._vars = Vars(given)

    def _leave(self) -> None:
        if os.getpid() != self._pid:
            return  # a fork of the code has no say
        try:
            records = [b"cwd=" + folder for folder in _here()]
            records += [b"env=" + name + b"=" + value for name, value in os.environb.items()]
            records += [b"began=" + name + b"=" + value for name, value in _BEGAN.items()]
            if self._vars is not None:
                records.append(b"vars=" + _said(self._vars))
            _write([*records, b"end=1"])
        except (CannotKeep, OSError) as error:
            sys.stderr.write(f"bide: {error}; nothing of the session was changed\n")
            sys.stderr.flush()
            if not self.failed:
                sys.stdout.flush()
                os._exit(1)


def _here() -> "list[bytes]":
    """The folder, unless it was removed."""
    try:
        return [os.getcwdb()]
    except FileNotFoundError:
        return []


def _kept() -> Dict:
    if not _FOLDER:
        return {}
    with open(os.path.join(_FOLDER, "session.json"), encoding="utf-8") as file:
        return load("json").load(file).get("vars") or {}


def _said(found: Vars) -> bytes:
    """All variables as JSON. Raises CannotKeep, which names the one that cannot be said."""
    json = load("json")
    names: Any = found
    for name, value in names.items():
        if not isinstance(name, str):
            raise CannotKeep(f"session.vars[{name!r}] cannot be kept: names are text")
        try:
            _check(value)
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise CannotKeep(f"session.vars[{name!r}] cannot be kept: {error}") from None
    return json.dumps(found).encode("ascii")


def _check(value: "Any") -> None:
    """Refuse keys that JSON would make into text without a word."""
    held: Any = value
    if isinstance(value, dict):
        for key, inner in held.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not text, which JSON asks of keys")
            _check(inner)
    elif isinstance(value, (list, tuple)):
        for inner in held:
            _check(inner)


def _write(records: "list[bytes]") -> None:
    temporary = os.path.join(_FOLDER, f".leaving.{JOB}")
    try:
        with open(temporary, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(b"\0".join(records) + b"\0")
        os.rename(temporary, os.path.join(_FOLDER, f"state.{JOB}"))
    except OSError as error:
        raise OSError(f"what the run left cannot be written to {_FOLDER}: {error.strerror}") from error
