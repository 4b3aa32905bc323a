"""Finding, reading and checking a bide.toml. All of it is checked before anything is done; the first fault is told, with its line."""

import hashlib
import os
import re
import tomllib

from bide.model.errors import BadProject
from bide.project import values
from bide.project.lines import key_lines
from bide.project.order import in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Json = dict[str, Any]
    Kinds = Mapping[str, "values.Kind | Kinds"]
    Path = tuple[str, ...]

FILE = "bide.toml"

LIMITS: "Kinds" = {
    "timeout": values.lasting,
    "idle": values.lasting,
    "output": values.size,
    "memory": values.size,
    "cpus": values.positive,
    "pids": values.count,
    "grace": values.duration,
}
READY: "Kinds" = {
    "log": values.pattern,
    "port": values.port,
    "http": values.url,
    "command": values.text,
    "timeout": values.lasting,
}
_COMMON: "Kinds" = {"command": values.command, "cwd": values.text, "env": {}, "limits": LIMITS}
SERVICE: "Kinds" = {
    **_COMMON,
    "port": values.port,
    "ready": READY,
    "restart": values.one_of("no", "on-failure", "always"),
    "restarts": values.whole,
    "depends_on": values.words,
    "grace": values.duration,
}
TASK: "Kinds" = {**_COMMON, "after": values.words}
_CONDITIONS = ("log", "port", "http", "command")
_LIMIT_FIELDS = {
    "timeout": "timeout_ms",
    "idle": "idle_ms",
    "output": "output_bytes",
    "memory": "memory_bytes",
    "grace": "grace_ms",
}


class Project:
    """A bide.toml: its services and tasks, each in the order in which they may be started."""

    def __init__(self, path: str) -> None:
        """Read it. Raises BadProject."""
        self.path = path
        self.root = os.path.dirname(path)
        text = _read(path)
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _not_toml(path, text, str(error)) from error
        self._lines = key_lines(text)
        self._check_top(found)
        self.name = str(found.get("project") or _as_name(os.path.basename(self.root)))
        self.label = _label(self.root)
        self.services = self._entries("service", found.get("service", {}), SERVICE)
        self.tasks = self._entries("task", found.get("task", {}), TASK)
        self.services = self._ordered("service", self.services, "depends_on")
        self.tasks = self._ordered("task", self.tasks, "after")

    def full_name(self, name: str) -> str:
        """What the job of a service is called: two projects may both have a `web`."""
        return f"{self.name}.{name}"

    def request(self, entry: "Json") -> "Json":
        """What to ask `run` for, as far as the file says it."""
        body: Json = {"command": entry["command"], "cwd": os.path.join(self.root, entry.get("cwd", ""))}
        body |= {"env": entry.get("env", {}), "label": self.label}
        limits: Json = entry.get("limits", {})
        return body | {"limits": {_LIMIT_FIELDS.get(key, key): value for key, value in limits.items()}}

    def service_request(self, name: str) -> "Json":
        """What to ask `run` for, to have this service."""
        entry = self.services[name]
        ready: Json = entry.get("ready", {})
        service: Json = {
            "ready": {key: ready[key] for key in ("log", "port", "http") if key in ready},
            "ready_command": ready.get("command"),
            "ready_timeout_ms": ready.get("timeout"),
            **{key: entry[key] for key in ("port", "restart", "restarts") if key in entry},
        }
        if "port" in entry and not any(key in ready for key in _CONDITIONS):
            service["ready"] = {"port": entry["port"]}
        return self.request(entry) | {"name": self.full_name(name), "service": service}

    def _check_top(self, found: "Json") -> None:
        self._check_keys(found, ["project", "service", "task"], ())
        if "project" in found and not (isinstance(found["project"], str) and values.NAME.fullmatch(found["project"])):
            raise self._bad(("project",), "'project' must be a name of up to 30 letters, digits, '_' or '-'")

    def _entries(self, kind: str, found: object, kinds: "Kinds") -> "dict[str, Json]":
        entries: dict[str, Json] = {}
        for name, entry in self._section(found, (kind,), f"[{kind}.NAME]").items():
            path = (kind, name)
            if not values.NAME.fullmatch(name):
                detail = f"{name!r} cannot be the name of a {kind}; use up to 30 letters, digits, '_' or '-'"
                raise self._bad(path, detail)
            entries[name] = self._table(entry, kinds, path)
            self._check_entry(entries[name], path)
        return entries

    def _section(self, found: "Any", path: "Path", written: str) -> "Json":
        if not isinstance(found, dict):
            raise self._bad(path, f"{'.'.join(path)!r} is a section; write {written}")
        return found  # pyright: ignore[reportUnknownVariableType]

    def _check_entry(self, entry: "Json", path: "Path") -> None:
        if "command" not in entry:
            raise self._bad(path, f"{path[0]} {path[1]!r} has no command")
        given = [key for key in entry.get("ready", {}) if key in _CONDITIONS]
        if len(given) > 1:
            detail = f"a service is ready by one thing; choose between {' and '.join(given)}"
            raise self._bad((*path, "ready", given[1]), detail)
        folder = os.path.join(self.root, entry.get("cwd", ""))
        if path[0] == "service" and not os.path.isdir(folder):
            raise self._bad((*path, "cwd"), f"there is no folder {folder!r} to run {path[1]!r} in")

    def _table(self, found: object, kinds: "Kinds", path: "Path") -> "Json":
        """A table with every value checked; one without kinds is the environment, where every key is known."""
        table = self._section(found, path, f"[{'.'.join(path)}]")
        if kinds:
            self._check_keys(table, list(kinds), path)
        elif odd := [key for key in table if not key or "=" in key or "\0" in key]:
            raise self._bad((*path, odd[0]), f"{odd[0]!r} cannot be an environment variable")
        return {key: self._value(value, kinds.get(key, values.variable), (*path, key)) for key, value in table.items()}

    def _value(self, value: object, kind: "values.Kind | Kinds", path: "Path") -> object:
        if not callable(kind):
            return self._table(value, kind, path)
        try:
            return kind(value)
        except ValueError as error:
            raise self._bad(path, f"{'.'.join(path)!r} {error}") from error

    def _check_keys(self, table: "Json", known: list[str], path: "Path") -> None:
        for key in table:
            if key not in known:
                where = f"[{'.'.join(path)}]" if path else "bide.toml"
                raise self._bad((*path, key), f"{where} has no key {key!r}; {values.nearest(key, known)}")

    def _ordered(self, kind: str, entries: "dict[str, Json]", key: str) -> "dict[str, Json]":
        needs = {name: list[str](entry.get(key, [])) for name, entry in entries.items()}
        for name, others in needs.items():
            for other in others:
                if other not in entries:
                    detail = f"{kind} {name!r} needs {other!r}, and there is no such {kind}"
                    raise self._bad((kind, name, key), detail)
        order, cycle = in_order(needs)
        if cycle:
            raise self._bad((kind, cycle[0], key), f"these wait for each other: {' → '.join([*cycle, cycle[0]])}")
        return {name: entries[name] for name in order}

    def _bad(self, path: "Path", detail: str) -> BadProject:
        lines = (self._lines.get(path[:length]) for length in range(len(path), 0, -1))
        return BadProject(path=self.path, line=str(next((line for line in lines if line), 1)), detail=detail)


def find(start: str) -> str | None:
    """The bide.toml of this folder or of the nearest one above it."""
    folder = os.path.abspath(start)
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadProject(path=path, line="1", detail=f"it cannot be read: {error}") from error


def _not_toml(path: str, text: str, message: str) -> BadProject:
    match = re.search(r" \(at line (\d+), column \d+\)", message)
    last = str(text.rstrip().count("\n") + 1)
    line = match[1] if match else last
    return BadProject(path=path, line=line, detail=message.replace(match[0], "") if match else message)


def _as_name(folder: str) -> str:
    """A folder's name as the beginning of a job's."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", folder).strip("-_")[:20] or "project"


def _label(root: str) -> str:
    """What all jobs of a project have, and no others."""
    label = f"project {root}"
    if len(label) <= 200 and label.isprintable():
        return label
    return f"project {hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}"
