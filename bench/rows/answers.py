"""The first answer about a failed run: the share of the corpus whose decisive lines are all in it."""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from tests.support.corpus import CLASSES, CUTS, Log, cut, load

from bench.figures import Figure
from bench.place import Daemon, Place

_BIDE = str(Path(sys.executable).with_name("bide"))
_CHARACTERS = 8000
"""2,000 tokens, the default budget."""
_REACH = 95.0


async def measure(place: Place) -> list[Figure]:
    """Run every log of the corpus as a job, and look at the answer of `run`."""
    daemon = place.daemon("answers")
    logs = load()
    shown: dict[str, set[str]] = {way: set() for way in ("bide", *CUTS)}
    sizes: list[int] = []
    async with _client(daemon) as client:
        for number, log in enumerate(logs, start=1):
            place.tell(f"{log.name}, {number} of {len(logs)}")
            text = await _answered(client, log, place.root)
            sizes.append(len(text))
            if log.shown_by(text):
                shown["bide"].add(log.name)
            streams = log.streams()
            for way in CUTS:
                if log.shown_by(cut(way, streams, _CHARACTERS)):
                    shown[way].add(log.name)
    daemon.stop()
    return [*_classes(logs, shown["bide"]), *_others(logs, shown, sizes)]


def _client(daemon: Daemon) -> Client:
    env = os.environ | {"BIDE_HOME": str(daemon.home)}
    return Client(StdioServerParameters(command=_BIDE, args=["mcp", "--owner", "bench"], env=env), mode="legacy")


async def _answered(client: Client, log: Log, folder: Path) -> str:
    """Return what the model reads: a client shows it the text or the structured content, whichever has more."""
    answer = await client.call_tool("run", {"command": log.command(folder), "wait": 60})
    for kind in ("out", "err"):
        (folder / f"{log.name}.{kind}").unlink()
    text = "".join(getattr(block, "text", "") for block in answer.content)
    streams = (answer.structured_content or {}).values()
    data = "\n".join(str(each["text"]) for each in streams if isinstance(each, dict) and "text" in each)
    if answer.is_error:
        raise RuntimeError(f"{log.name}: {text} {json.dumps(answer.structured_content)}")
    return max(text, data, key=len)


def _classes(logs: list[Log], shown: set[str]) -> list[Figure]:
    missed = ", ".join(f"{log.name} ({log.cause})" for log in logs if log.name not in shown)
    figures = [_figure("decisive lines in the first answer, all logs", logs, shown, f"missed: {missed or 'none'}")]
    for name in CLASSES:
        members = [log for log in logs if log.size_class == name]
        figures.append(_figure(f"logs {name} ({len(members)})", members, shown))
    for where in ("start", "middle", "end"):
        members = [log for log in logs if log.cause == where and log.size > CLASSES["up to 16 KB"]]
        figures.append(_figure(f"larger logs, cause at the {where} ({len(members)})", members, shown))
    return figures


def _figure(what: str, logs: list[Log], shown: set[str], note: str = "") -> Figure:
    share = _share(logs, shown)
    against, ratio = "share that is wanted", share / _REACH
    return Figure("answers", what, against, "%", 1, at_most=False, ours=share, theirs=_REACH, ratio=ratio, note=note)


def _others(logs: list[Log], shown: dict[str, set[str]], sizes: list[int]) -> list[Figure]:
    share = _share(logs, shown["bide"])
    note = f"an answer has {statistics.median(sizes):,.0f} characters, {max(sizes):,} at most"
    figures: list[Figure] = []
    for way in CUTS:
        theirs = _share(logs, shown[way])
        what, against = "decisive lines in the first answer", f"{way}, {_CHARACTERS:,} characters"
        ratio = share / theirs
        figures.append(
            Figure("answers", what, against, "%", 1, at_most=False, ours=share, theirs=theirs, ratio=ratio, note=note)
        )
        note = ""
    return figures


def _share(logs: list[Log], shown: set[str]) -> float:
    return 100 * sum(log.name in shown for log in logs) / len(logs) if logs else 100.0
