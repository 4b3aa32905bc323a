"""What llm-cli-gateway's own settings mean here: its config.toml, whose tables are read as they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from bide.model.errors import BadRequest
from bide.model.llm.answer import Note
from bide.model.llm.choices import KEPT_MOST, CacheSettings, LlmSettings

FILE = "~/.llm-cli-gateway/config.toml"
VARIABLE = "LLM_GATEWAY_CONFIG"
_BACKENDS = ("sqlite", "postgres", "memory", "none")
_TTLS = (300, 3600)
_FAMILIES = ("sonnet", "opus", "haiku", "default")
Table = dict[str, Any]


class Gateway(Struct, frozen=True):
    """The gateway's settings as far as its file names them; a file that is not there names none."""

    path: str | None = None
    recorded: bool = True
    """Whether requests are on record on disk: not with the backends memory and none."""
    keep_days: int = 0
    dedup_window: timedelta | None = None
    cache: Table = {}
    """Fields of CacheSettings."""
    notes: tuple[Note, ...] = ()

    def under(self, chosen: LlmSettings) -> LlmSettings:
        """Return settings with these in place of those that are as bide ships them."""
        usual, given = LlmSettings(), dict[str, Any]()
        if self.dedup_window is not None and chosen.dedup_window == usual.dedup_window:
            given["dedup_window"] = self.dedup_window
        cache = {
            name: value
            for name, value in self.cache.items()
            if getattr(chosen.cache, name) == getattr(usual.cache, name)
        }
        return replace(chosen, **given, cache=replace(chosen.cache, **cache))


def gateway_of(path: str, found: Mapping[str, object]) -> Gateway:
    """Return what a file says. Raises BadRequest with the file and the key that is wrong."""
    kept = _checked(path, "persistence", found, _PERSISTENCE)
    cache = _checked(path, "cache_awareness", found, _CACHE)
    days, window, backend = kept.get("retentionDays", 0), kept.get("dedupWindowMs"), kept.get("backend", "sqlite")
    notes = [
        _note(path, f"[{name}]", _INSTEAD.get(name, "bide's own config.toml")) for name in found if name not in _TABLES
    ]
    if backend == "postgres" or kept.get("path"):
        notes.append(
            _note(
                path,
                "[persistence] " + ("backend" if backend == "postgres" else "path"),
                "BIDE_HOME, since bide has one store, in its home",
            )
        )
    least = cache.pop("min_stable_tokens_for_cache_control", None)
    settings: Table = {name: value for name, value in cache.items() if name != "anthropic_ttl_seconds"}
    if "anthropic_ttl_seconds" in cache:
        settings["anthropic_ttl"] = timedelta(seconds=cache["anthropic_ttl_seconds"])
    if least is not None:
        settings["min_stable_tokens"] = {**CacheSettings().min_stable_tokens, **least}
    return Gateway(
        path=path,
        recorded=backend not in ("memory", "none"),
        keep_days=int(days),
        dedup_window=None if window is None else timedelta(milliseconds=window),
        cache=settings,
        notes=tuple(notes),
    )


def _note(path: str, what: str, instead: str) -> Note:
    return Note("setting_ignored", f"{path}: {what} has no effect here; use {instead}.")


def _checked(
    path: str, name: str, found: Mapping[str, object], known: Mapping[str, tuple[Callable[[Any], bool], str]]
) -> Table:
    table = found.get(name, {})
    if not isinstance(table, dict):
        raise BadRequest(detail=f"{path}: {name} is a table, [{name}]; correct it")
    given = cast("Table", table)
    for key, value in given.items():
        if key not in known:
            raise BadRequest(detail=f"{path}: [{name}] has no key {key!r}; known are {', '.join(known)}")
        fits, what = known[key]
        if not fits(value):
            raise BadRequest(detail=f"{path}: [{name}] {key} is {what}, not {value!r}; correct it")
    return dict(given)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_days(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= KEPT_MOST


def _is_ms(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12


def _is_least(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    given = cast("dict[str, object]", value)
    return all(name in _FAMILIES and isinstance(least, int) and least > 0 for name, least in given.items())


_PERSISTENCE: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "backend": (lambda value: value in _BACKENDS, f"one of {', '.join(_BACKENDS)}"),
    "path": (_is_text, "text"),
    "dsn": (_is_text, "text"),
    "retentionDays": (_is_days, f"a number of days from 1 to {KEPT_MOST}"),
    "dedupWindowMs": (_is_ms, "a number of milliseconds"),
    "acknowledgeEphemeral": (_is_flag, "true or false"),
}
_CACHE: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "emit_anthropic_cache_control": (_is_flag, "true or false"),
    "warn_on_ttl_expiry": (_is_flag, "true or false"),
    "anthropic_ttl_seconds": (lambda value: value in _TTLS, "300 or 3600"),
    "min_stable_tokens_for_cache_control": (_is_least, f"a table of token counts by {', '.join(_FAMILIES)}"),
}
_TABLES = ("persistence", "cache_awareness")
_INSTEAD = {
    "limits": "[llm] running, running_per_cli, waiting and queue_timeout in bide's config.toml",
    "http": "mcp.port in bide's config.toml, and the token in the home's mcp-token",
}
"""What stands for other tables, by their names."""
_REPLACED = re.compile(r"LLM_GATEWAY_(?:TRANSPORT|HTTP_\w+|AUTH_\w+)\Z")


def replaced(env: Mapping[str, str]) -> list[Note]:
    """Return notes on variables of the gateway's own server, which a client of bide sets in vain."""
    return [
        Note("setting_ignored", f"{name} has no effect here; use {_INSTEAD['http']}.")
        for name in sorted(env)
        if env[name] and _REPLACED.match(name)
    ]
