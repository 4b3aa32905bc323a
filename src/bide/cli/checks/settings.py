"""The settings of a home."""

import os
from importlib import import_module

from bide.cli.checks.finding import Finding
from bide.model.errors import BadSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bide.client.http1 import Json


def check_settings(home: str) -> Finding:
    """What is set, and whether a daemon can start with it."""
    # By its name, because only the doctor pays for it: it is slow to import.
    settings = import_module("bide.settings")
    path = os.path.join(home, settings.FILE)
    try:
        settings.load(home)
        given = settings.read(home)
    except BadSettings as error:
        advice = f"correct {path}; a daemon that runs keeps the settings it began with, the next one does not start"
        return Finding("fail", "settings", error.facts["detail"], advice)
    if given is None:
        return Finding("ok", "settings", f"all as usual; {path} would say otherwise")
    return Finding("ok", "settings", ", ".join(_lines(given, "")) or f"{path} says nothing")


def _lines(given: "Json", within: str) -> "Iterator[str]":
    for key, value in given.items():
        shown = "(not shown)" if key == "secret" else value
        yield from _lines(value, f"{within}{key}.") if _is_section(value) else [f"{within}{key} = {shown}"]


def _is_section(value: object) -> bool:
    return isinstance(value, dict)
