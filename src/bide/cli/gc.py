"""Remove what is over and no longer kept: the daemon does it by itself, this does it now.

Records go 30 days after a job's end, 90 if nobody has seen it; outputs go, the oldest
first and the unseen last, when all together hold more than 5 GiB. Answers of LLMs go 30
days after they came, and their outputs last. A home's config.toml says otherwise
([retention]: keep, keep_unseen, bytes; [llm]: keep).
"""

from bide.cli.terminal import print_json, to_the_end
from bide.model.sanitize import one_line
from bide.model.units import show_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_SHOWN = 20


def configure(parser: "Parser") -> None:
    """The options of `bide gc`."""
    parser.add_argument("-n", "--dry-run", action="store_true", help="only show what would go")
    parser.examples("bide gc --dry-run", "bide gc --json", "bide forget --older-than 7d   # whatever retention says")


@to_the_end
def execute(args: "Namespace", link: "Link") -> int:
    """Do it, and say what went."""
    found = link.call("POST", "/v1/gc", {"dry_run": args.dry_run})
    if args.json:
        print_json(found)
    else:
        print("\n".join(told(found)))
    return 0


def told(found: "Json") -> "Iterator[str]":
    """What went, or would go, and what is kept and why."""
    would = "would be " if found["dry_run"] else ""
    yield from _named(found["gone"], found["forgotten"], f"{would}forgotten")
    yield from _named(found["emptied"], found["dropped"], f"{would}emptied")
    if found["forgotten"] or found["dropped"]:
        yield (
            f"{_count(found['forgotten'], 'job')} {would}forgotten, {_count(found['dropped'], 'output')} {would}dropped: "
            f"{show_size(found['freed_bytes'])} {'would be free' if would else 'freed'}"
        )
    else:
        yield "nothing is due to go"
    quota = found["quota_bytes"]
    of = "" if quota is None else f" of {show_size(quota)}"
    yield f"kept: {_count(found['kept'], 'ended job')}; all outputs hold {show_size(found['held_bytes'])}{of}"
    if found["unseen"]:
        yield f"{found['unseen']} of them nobody has seen ({show_size(found['unseen_bytes'])}); they are kept longest"
    if found["alive"]:
        yield f"kept beyond their time, because descendants still run: {', '.join(found['alive'][:_SHOWN])}"


def _named(jobs: "list[Json]", total: int, what: str) -> "Iterator[str]":
    for job in jobs[:_SHOWN]:
        name = f" ({one_line(job['name'])})" if job["name"] else ""
        unseen = "" if job["seen"] else ", nobody has seen it"
        yield f"{what}: {job['id']}{name}, {show_size(job['bytes'])}{unseen}"
    if total > min(len(jobs), _SHOWN):
        yield f"… and {total - min(len(jobs), _SHOWN)} more"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
