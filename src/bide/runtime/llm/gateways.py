"""The settings file of llm-cli-gateway, read for the user whose request it is, and again when it changes."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Any

from bide.model.errors import BadRequest
from bide.model.llm.choices import database_of, keep_days, over
from bide.model.llm.gateway import FILE, VARIABLE, Gateway, gateway_of, replaced
from bide.model.llm.kept import Kept
from bide.runtime.core import Core

_MOST = 1024 * 1024
"""A larger file is none of the gateway's."""


class Gateways:
    """Remembers what each file said when it was last written."""

    def __init__(self, core: Core) -> None:
        """Nothing was read yet."""
        self._core = core
        self._read: dict[str, tuple[tuple[int, int], Gateway]] = {}

    def kept(self, env: Mapping[str, str]) -> Kept:
        """Return what holds for the requests of a caller with this environment. Raises BadRequest.

        The environment goes before bide's settings, and those before the gateway's file.
        """
        gateway = self._gateway(env)
        chosen, notes = over(gateway.under(self._core.settings.llm), env)
        database = database_of(env)
        return Kept(
            chosen=chosen,
            recorded=gateway.recorded if database is None else database != "none",
            keep_days=keep_days(env) or gateway.keep_days,
            file=gateway.path,
            notes=(*gateway.notes, *notes, *replaced(env)),
        )

    def persistence(self, env: Mapping[str, str]) -> dict[str, Any]:
        """Return where and for how long answers are kept, in the gateway's words."""
        return self.kept(env).to_json(self._core.home.database, env)

    def _gateway(self, env: Mapping[str, str]) -> Gateway:
        path = env.get(VARIABLE) or (FILE.replace("~", env["HOME"], 1) if env.get("HOME") else "")
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return Gateway()
        stamp = status.st_mtime_ns, status.st_size
        before = self._read.get(path)
        if before is not None and before[0] == stamp:
            return before[1]
        found = _parsed(path)
        if len(self._read) > 100:
            self._read.clear()
        self._read[path] = stamp, found
        return found


def _parsed(path: str) -> Gateway:
    try:
        with open(path, "rb") as file:
            found = tomllib.loads(file.read(_MOST).decode())
    except OSError as error:
        detail = f"{path} cannot be read ({error.strerror}); mend that, or name another file in {VARIABLE}"
        raise BadRequest(detail=detail) from error
    except ValueError as error:
        raise BadRequest(
            detail=f"{path} is no TOML ({error}); correct it, or name another file in {VARIABLE}"
        ) from error
    return gateway_of(path, found)
