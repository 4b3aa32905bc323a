"""Which CLIs are on this machine: where, which version, which flags. Each is asked once, in jobs that are forgotten at once."""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Mapping
from datetime import timedelta

import anyio
from msgspec import Struct

from bide.kinds.llm.base import Cli, Installed
from bide.model.errors import BideError
from bide.model.limits import Limits
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.request import Request
from bide.runtime import ending, starting
from bide.runtime.core import Core
from bide.runtime.reading import slice_at

OWNER = "bide"
PATIENCE = timedelta(seconds=30)
"""What a request waits for: its words depend on what the CLI says. Gemini CLI needs 8 s for that on a busy machine."""
PROBE = timedelta(seconds=5)
"""What whoever only wants to know waits for."""
_LATE = 124
_READ = 256 * 1024
_FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]+)")
_MORE = ("~/.local/bin", "~/.nvm/versions/node/*/bin", "/usr/local/bin", "/usr/bin")


Key = tuple[str, str, int, int]
"""A CLI, its program, and what changes when that is replaced."""


class Said(Struct, frozen=True):
    """What a program said when it was asked for something short."""

    status: int
    text: str


class Programs:
    """What was found so far. A program that is replaced is asked again, and so is one that did not answer in time."""

    def __init__(self, core: Core, patience: timedelta = PATIENCE) -> None:
        """Nothing was asked yet."""
        self._core = core
        self._patience = patience
        self._known: dict[Key, Installed] = {}
        self._late: dict[Key, Installed] = {}
        """What is known of those that did not answer in time."""
        self._looking: dict[Key, anyio.Event] = {}

    async def find(self, cli: Cli, env: Mapping[str, str], patience: timedelta | None = None) -> Installed:
        """The CLI as it is installed for somebody with this environment; without a version if it does not say in time.

        It is asked all the same when the caller's patience ends, for whoever comes next.
        """
        path = shutil.which(cli.program, path=search_path(env))
        if path is None:
            return Installed(cli.name)
        found = os.stat(path)
        key = (cli.name, path, found.st_mtime_ns, found.st_size)
        if key not in self._known:
            if key not in self._looking:
                self._looking[key] = anyio.Event()
                self._core.spawn(lambda: self._look(key, cli, path, env))
            with anyio.move_on_after(None if patience is None else patience.total_seconds()):
                await self._looking[key].wait()
        return self._known.get(key) or self._late.get(key) or Installed(cli.name, path)

    async def _look(self, key: Key, cli: Cli, path: str, env: Mapping[str, str]) -> None:
        """Find out what it says of itself, and whether it did in time."""
        said: dict[str, Said] = {}

        async def look(what: str, words: tuple[str, ...]) -> None:
            said[what] = await self.ask((path, *words), env)

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(look, "version", ("--version",))
                group.start_soon(look, "help", cli.help)
            in_time = all(one.status != _LATE for one in said.values())
            (self._known if in_time else self._late)[key] = _installed(cli.name, path, said)
        finally:
            self._looking.pop(key).set()

    async def ask(self, command: tuple[str, ...], env: Mapping[str, str], patience: timedelta | None = None) -> Said:
        """Run something short and take what it wrote to stdout."""
        core, most = self._core, patience or self._patience
        request = Request(
            command,
            cwd=core.home.path,
            base_env=env,
            env_defaults=False,
            owner=OWNER,
            label="llm",
            limits=Limits(timeout=most, output_bytes=_READ, grace=timedelta(seconds=1)),
            deadline=most * 2,
        )
        job = (await starting.run(core, request)).job
        try:
            if not isinstance(job.phase, Ended):
                await ending.kill(core, job.id, 9, timedelta(0), "it was to be short")
            text = slice_at(core, job, Stream.OUT, 0, _READ).data.decode("utf-8", "replace")
            return Said(job.phase.end.status if isinstance(job.phase, Ended) else -1, text)
        finally:
            with anyio.CancelScope(shield=True):
                await _forget(core, job.id)


def _installed(name: str, path: str, said: Mapping[str, Said]) -> Installed:
    version = next((line.strip() for line in said["version"].text.splitlines() if line.strip()), "")
    flags = frozenset(_FLAG.findall(said["help"].text)) if said["help"].status == 0 else frozenset[str]()
    return Installed(name, path, version if said["version"].status == 0 else "", flags)


async def _forget(core: Core, job: str) -> None:
    try:
        await ending.forget(core, job, "it only told of a program")
    except BideError:
        return  # something of it still runs; retention has it


def search_path(env: Mapping[str, str]) -> str:
    """The PATH, and where programs of this sort are put that a daemon's PATH seldom has."""
    home = env.get("HOME") or os.path.expanduser("~")
    given = [entry for entry in env.get("PATH", "").split(os.pathsep) if entry]
    more = [found for place in _MORE for found in sorted(glob.glob(place.replace("~", home, 1)), reverse=True)]
    return os.pathsep.join([*given, *(entry for entry in more if entry not in given)])


def login(cli: Cli, said: Said | None, env: Mapping[str, str]) -> str:
    """`authenticated`, `not_authenticated`, or `unknown` for one that cannot be asked, or did not say in time."""
    if any(env.get(key) for key in cli.keys):
        return "authenticated"
    if said is None or said.status == _LATE:
        return "unknown"
    return "authenticated" if said.status == 0 else "not_authenticated"


def unset(env: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """An environment for a CLI: without what says that it runs inside another, and without colours."""
    found = {key: value for key, value in env.items() if key not in names}
    return {**found, "PATH": search_path(env), "NO_COLOR": "1", "TERM": "dumb"}
