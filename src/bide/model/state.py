"""What a run in a session leaves behind, and what of it the session keeps.

A run leaves NUL-terminated records `key=value`: `cwd=PATH`, `env=NAME=VALUE` for every exported variable, `shell=KEY`
and on the next lines shell code that makes it so again, `vars=JSON`, and `end=1` last. `began=NAME=VALUE` says what the
code began with, where its interpreter was given something else. Instead of `env`, a record
`environ=` may be followed by the environment as the kernel has it. Only what the run changed is kept: two runs at once
do not undo each other's changes, and what was given for one run alone is gone after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from bide.model.errors import BadRequest

T = TypeVar("T")
Texts = Mapping[str, str]

_OURS = ("BIDE_JOB", "BIDE_PARENT", "BIDE_HOME", "BIDE_OWNER", "BIDE_SESSION", "BIDE_SESSION_FOLDER")
_NEVER = (*_OURS, "IFS", "PWD", "SHLVL", "_")
"""Variables that belong to one run and say nothing about the session."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_BASHS_OWN = frozenset(
    [
        "COMP_WORDBREAKS",
        "COPROC",
        "COPROC_PID",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HISTCMD",
        "HOSTNAME",
        "HOSTTYPE",
        "IFS",
        "LINENO",
        "MACHTYPE",
        "MAPFILE",
        "OLDPWD",
        "OPTARG",
        "OPTERR",
        "OPTIND",
        "OSTYPE",
        "PATH",
        "PIPESTATUS",
        "PPID",
        "PS4",
        "PWD",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHELL",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "TERM",
        "UID",
        "_",
    ]
)
_DECLARED = re.compile(r"declare -([A-Za-z-]+) ")
STRING_MAX = 128 * 1024 - 1
"""A longer `NAME=VALUE` cannot be given to a program."""
ENVIRONMENT_MAX = 1024 * 1024
SHELL_MAX = 1024 * 1024


class Left(Struct, frozen=True):
    """What a run had at its end."""

    cwd: str
    env: Texts
    shell: Texts | None = None
    """Shell code by what it restores; `None` if it was no shell of ours."""
    vars: Mapping[str, Any] | None = None
    began: Texts | None = None
    """The environment before the code ran; `None` if it is the one that the run was given."""


class Begun(Struct, frozen=True):
    """What it began with."""

    cwd: str
    env: Texts
    shell: Texts = field(default_factory=dict[str, str])
    vars: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Held(Struct, frozen=True):
    """What a session holds from run to run."""

    cwd: str
    base_env: Texts = field(default_factory=dict[str, str])
    env: Texts = field(default_factory=dict[str, str])
    unset: tuple[str, ...] = ()
    vars: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shell: Texts = field(default_factory=dict[str, str])
    note: str = ""
    """What could not be kept of its last run."""


def read_left(data: bytes) -> Left | None:
    """What a run left; `None` if it did not come to its end."""
    if not data.endswith(b"\0end=1\0"):
        return None
    records = [record.decode("utf-8", "surrogateescape") for record in data.split(b"\0")[:-2]]
    if "environ=" in records:
        at = records.index("environ=")
        records[at:] = [f"env={record}" for record in records[at + 1 :]]
    found: dict[str, dict[str, str]] = {"cwd": {}, "env": {}, "began": {}, "shell": {}, "vars": {}}
    for record in records:
        key, _, value = record.partition("=")
        name, _, text = value.partition("\n" if key == "shell" else "=")
        if key in ("cwd", "vars"):
            found[key][""] = value
        elif key in found and name:
            found[key][name] = text
    if not found["cwd"].get("", "").startswith("/"):
        return None
    shell = {key: code for key, code in found["shell"].items() if _is_kept(key, code)} if found["shell"] else None
    return Left(found["cwd"][""], found["env"], shell, _object(found["vars"].get("")), found["began"] or None)


def _object(text: str | None) -> Mapping[str, Any] | None:
    try:
        value: object = json.loads(text or "null")
    except ValueError:
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _is_kept(key: str, code: str) -> bool:
    """Of a shell's variables, those that code made: not bash's own, not exported (they are in `env`), not read-only."""
    kind, _, name = key.partition(" ")
    if kind != "variable":
        return bool(code)
    attributes = _DECLARED.match(code)
    return attributes is not None and not set(attributes[1]) & {"r", "x"} and name not in _BASHS_OWN


def merge(held: Held, begun: Begun, left: Left) -> Held:
    """The session after a run: with what the run changed, and nothing else."""
    env, unset = dict(held.env), set(held.unset)
    began = begun.env if left.began is None else left.began
    made = {name: value for name, value in left.env.items() if _flows(name) and began.get(name) != value}
    gone = {name for name in began if name not in left.env and _flows(name) and _NAME.match(name)}
    for name in gone:
        env.pop(name, None)
    unset = (unset | gone) - made.keys()
    notes = _drop_large(made, {**held.base_env, **env})
    env |= made
    shell = held.shell if left.shell is None else _merged(held.shell, begun.shell, left.shell)
    if sum(len(key) + len(code) for key, code in shell.items()) > SHELL_MAX:
        shell = held.shell
        notes.append(f"functions and variables of the shell were not kept: more than {SHELL_MAX} characters")
    return replace(
        held,
        cwd=left.cwd if left.cwd != begun.cwd else held.cwd,
        env=env,
        unset=tuple(sorted(unset)),
        vars=held.vars if left.vars is None else _merged(held.vars, begun.vars, left.vars),
        shell=shell,
        note="; ".join(notes),
    )


def _flows(name: str) -> bool:
    return bool(name) and name not in _NEVER and not name.startswith(("__bide_", "BASH_FUNC_"))


def _drop_large(made: dict[str, str], others: Texts) -> list[str]:
    """Take out what no program could be started with, the largest first; a sentence that says so."""
    dropped: list[str] = []
    sizes = {name: size_of(name, value) for name, value in made.items()}
    total = sum(sizes.values()) + sum(size_of(name, value) for name, value in others.items() if name not in made)
    for name in sorted(made, key=lambda name: -sizes[name]):
        if sizes[name] > STRING_MAX or total > ENVIRONMENT_MAX:
            total -= sizes[name]
            del made[name]
            dropped.append(name)
    return [f"too large to start a program with, and not kept: {', '.join(dropped)}"] if dropped else []


def check_size(held: Held) -> None:
    """Refuse an environment that no program could be started with."""
    for name, value in held.env.items():
        if size_of(name, value) > STRING_MAX:
            raise BadRequest(detail=f"environment variable {name!r} is too large: no program could be started with it")
    if sum(size_of(name, value) for name, value in {**held.base_env, **held.env}.items()) > ENVIRONMENT_MAX:
        raise BadRequest(detail=f"the environment is too large: together it may have {ENVIRONMENT_MAX} bytes")


def size_of(name: str, value: str) -> int:
    """How many bytes a variable takes in an environment."""
    return len(name.encode("utf-8", "surrogateescape")) + len(value.encode("utf-8", "surrogateescape")) + 2


def _merged(held: Mapping[str, T], begun: Mapping[str, T], left: Mapping[str, T]) -> dict[str, T]:
    """What is held, with what became other, new or gone from beginning to end."""
    found = {key: value for key, value in held.items() if key in left or key not in begun}
    return found | {key: value for key, value in left.items() if key not in begun or begun[key] != value}


_ORDER = ("set", "option", "variable", "function", "alias")
"""Aliases last: they would be expanded in what comes after them."""


def shell_code(shell: Texts) -> str:
    """Shell code that makes a shell what it was."""
    placed = ((_ORDER.index(kind), key) for key in shell if (kind := key.partition(" ")[0]) in _ORDER)
    return "".join(f"{shell[key].rstrip()}\n" for _, key in sorted(placed))
