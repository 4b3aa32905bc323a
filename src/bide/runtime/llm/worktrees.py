"""Working trees for requests: `<repository>/.worktrees/<name>`, on the branch `gateway/<name>`.

They stay when the request is over, because the work is in them: `git worktree remove` takes one away.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from datetime import timedelta

import anyio
from msgspec.structs import replace

from bide.model.errors import BadRequest
from bide.model.llm.ask import Ask
from bide.runtime.core import Core
from bide.runtime.llm.programs import Programs, Said

FOLDER = ".worktrees"
_PATIENCE = timedelta(seconds=10)
_GIT = ("sh", "-c", 'exec git "$@" 2>&1', "git")
"""Its complaints come by stderr, and are wanted."""


class Worktrees:
    """Makes them, one at a time: two requests may want the same."""

    def __init__(self, core: Core) -> None:
        """Nothing is made yet."""
        self._programs = Programs(core, _PATIENCE)
        self._making = anyio.Lock()

    async def placed(self, asked: Ask, env: Mapping[str, str]) -> tuple[Ask, str | None]:
        """The request in its own working tree, if it wants one, and where that is. Raises BadRequest."""
        if asked.worktree is None:
            return asked, None
        here = os.path.realpath(asked.cwd or os.getcwd())
        top = await self._git(here, env, "rev-parse", "--show-toplevel")
        name = asked.worktree.name or _name(asked)
        path = os.path.join(top, FOLDER, name)
        async with self._making:
            if not os.path.exists(os.path.join(path, ".git")):
                _hide(os.path.join(top, FOLDER))
                await self._make(top, env, path, f"gateway/{name}", asked.worktree.ref)
        within = os.path.join(path, os.path.relpath(here, top))
        return replace(asked, cwd=os.path.normpath(within) if os.path.isdir(within) else path), path

    async def _make(self, top: str, env: Mapping[str, str], path: str, branch: str, ref: str | None) -> None:
        known = await self._ask(top, env, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        wanted = [path, branch] if known.status == 0 else ["-b", branch, path, *([ref] if ref else [])]
        await self._git(top, env, "worktree", "add", *wanted)

    async def _git(self, folder: str, env: Mapping[str, str], *words: str) -> str:
        said = await self._ask(folder, env, *words)
        if said.status != 0:
            told = " ".join(said.text.split()) or f"git left with {said.status}"
            raise BadRequest(
                detail=f"no worktree can be made of {folder!r}: {told}; correct that, or leave worktree out"
            )
        return said.text.strip()

    async def _ask(self, folder: str, env: Mapping[str, str], *words: str) -> Said:
        return await self._programs.ask((*_GIT, "-C", folder, *words), env)


def _name(asked: Ask) -> str:
    """Of what makes requests equal; one that is to be made anew has a tree that nobody has worked in."""
    words = (asked.cli, asked.model or "", asked.conversation or "", asked.said().text)
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{asked.cli}-{secrets.token_hex(6) if asked.fresh else digest}"


def _hide(folder: str) -> None:
    """Keep git from taking what lies there for a part of the caller's work."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
        file.write("*\n")
