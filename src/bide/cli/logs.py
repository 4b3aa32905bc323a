"""Print what a job wrote, and nothing else: its stdout to stdout, its stderr to stderr.

On a terminal escape sequences other than colours are left out, unless --raw.
"""

from bide.cli.exits import Usage
from bide.cli.sinks import NAMES, JsonSinks, Sinks, as_json
from bide.cli.terminal import complain, print_json
from bide.cli.units import parse_whole
from bide.client.http1 import ERR, OUT, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from bide.cli.following import Follower
    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Answer, Json

STREAMS = {"out": (OUT,), "err": (ERR,), "both": (OUT, ERR)}
_READ = 1024 * 1024


def configure(parser: "Parser") -> None:
    """The options of `bide logs`."""
    parser.add_argument("job", metavar="ID", help="an id or a name")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the job ends")
    parser.add_argument("--stream", choices=tuple(STREAMS), default="both", help="which output (default: both)")
    parser.add_argument("--tail", metavar="N", type=parse_whole, help="only the last N lines of each stream")
    parser.add_argument(
        "--since", metavar="OFFSET", type=parse_whole, help="from this byte of the stream on; needs --stream"
    )
    parser.add_argument("--grep", metavar="RE", help="only lines that match")
    parser.add_argument(
        "--cause", action="store_true", help="what is worth reading: lines that say what went wrong, and the end"
    )
    parser.add_argument("--raw", action="store_true", help="pass escape sequences through to the terminal")
    parser.examples(
        "bide logs build",
        "bide logs --cause build",
        "bide logs -f server",
        "bide logs --tail 20 --stream err build",
        "bide logs --grep 'error|warning' build",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Print it."""
    _check(args)
    job = link.call("GET", f"/v1/jobs/{quote(args.job)}")
    if job["output_dropped_at"]:
        complain(
            f"the output of {job['id']} was dropped at {job['output_dropped_at']} to make room (see 'bide gc --help')"
        )
    if args.cause:
        from bide.cli.cause import show_cause  # noqa: PLC0415 - only --cause pays for it

        return show_cause(args, link, job)
    if args.grep is not None:
        return _grep(args, link, job["id"])
    if args.json and not args.follow:
        return _as_json(args, link, job)
    sinks = (JsonSinks if args.json else Sinks)(raw=args.raw, streams=STREAMS[args.stream])
    follower = _follower(link, sinks) if args.follow else None
    try:
        ends = {stream: _copy(args, link, job, stream, sinks) for stream in STREAMS[args.stream]}
        if follower is not None:
            job = _follow(follower, job, ends)
    finally:
        sinks.finish()
    if args.json:
        print_json({"event": "ended", "job": job})
    return 0


def _check(args: "Namespace") -> None:
    if args.since is not None and args.stream == "both":
        raise Usage(detail="--since is an offset in one stream; say which with --stream out or --stream err")
    if args.since is not None and args.tail is not None:
        raise Usage(detail="--since and --tail both say where to begin; give one of them")
    if args.cause and (args.follow or args.grep is not None or args.tail is not None):
        raise Usage(detail="--cause chooses the lines by itself; give it without --follow, --grep and --tail")
    if args.follow and args.grep is not None:
        raise Usage(detail="--grep reads what is there; to follow, use: bide logs -f ID | grep RE")
    if (args.since is not None and args.since < 0) or (args.tail is not None and args.tail < 0):
        raise Usage(detail="--since and --tail cannot be negative")


def slices(link: "Link", job: str, stream: int, *, since: int = 0, tail: int | None = None) -> "Iterator[Answer]":
    """What a stream holds at this moment, piece by piece."""
    path = f"/v1/jobs/{quote(job)}/output"
    query: dict[str, str | int | None] = {"stream": NAMES[stream], "limit": _READ}
    answer = _read(link, path, query | ({"offset": since} if tail is None else {"tail": tail}))
    end, at = int(answer.headers["bide-size"]), int(answer.headers["bide-next"])
    begins = int(answer.headers["bide-offset"])
    if tail and at - begins == _READ and begins > int(answer.headers["bide-head"]):
        at = _tail_begins(link, path, query, tail, end)
    else:
        yield answer
    while at < end:
        answer = _read(link, path, query | {"offset": at, "limit": min(_READ, end - at)})
        yield answer
        if int(answer.headers["bide-next"]) <= at:
            break
        at = int(answer.headers["bide-next"])


def _tail_begins(link: "Link", path: str, query: "dict[str, str | int | None]", lines: int, end: int) -> int:
    """Where the last lines begin that are too long for one answer: looked for from the end."""
    at, last = end, True
    while True:
        answer = _read(link, path, query | {"offset": max(0, at - _READ), "limit": min(_READ, at)})
        begins, head = int(answer.headers["bide-offset"]), int(answer.headers["bide-head"])
        data = answer.take()[: max(0, at - begins)]
        if last:
            data = data.removesuffix(b"\n")
            last = False
        lines -= data.count(b"\n")
        if lines <= 0:
            cut = -1
            for _ in range(1 - lines):
                cut = data.index(b"\n", cut + 1)
            return begins + cut + 1
        if begins <= head:
            return begins
        at = begins


def _read(link: "Link", path: str, query: "dict[str, str | int | None]") -> "Answer":
    answer = link.raw("GET", path, query=query)
    if answer.status >= 400:
        answer.json()
    return answer


def _copy(args: "Namespace", link: "Link", job: "Json", stream: int, sinks: Sinks) -> int:
    """Write what there is of a stream; where it ends."""
    dropped = job["output_dropped_at"] and not args.json
    at = args.since or 0
    for number, answer in enumerate(slices(link, job["id"], stream, since=at, tail=args.tail)):
        start = int(answer.headers["bide-offset"])
        if start > at and not (number == 0 and args.tail is not None) and not dropped:
            sinks.dropped(stream, at, start)
        sinks.write(stream, answer.take(), start)
        at = int(answer.headers["bide-next"])
    return at


def _follower(link: "Link", sinks: Sinks) -> "Follower":
    from bide.cli.following import Follower  # noqa: PLC0415 - only -f pays for it

    return Follower(link, sinks)


def _follow(follower: "Follower", job: "Json", ends: dict[int, int]) -> "Json":
    follower.job = job
    follower.offsets.update(ends)
    while not follower.ended:
        follower.pump()
    return follower.job


def _grep(args: "Namespace", link: "Link", job: str) -> int:
    found: Json = {"job": job}
    sinks = Sinks(raw=args.raw, streams=STREAMS[args.stream])
    for stream in STREAMS[args.stream]:
        matches = _matches(link, job, NAMES[stream], args.grep, args.since or 0)
        if args.tail is not None:
            matches = matches[max(0, len(matches) - args.tail) :]
        found[NAMES[stream]] = {"matches": matches}
        if not args.json:
            text = "".join(match["line"].removesuffix("\n") + "\n" for match in matches)
            sinks.write(stream, text.encode("utf-8", "replace"))
    sinks.finish()
    if args.json:
        print_json(found)
    return 0


def _matches(link: "Link", job: str, stream: str, pattern: str, since: int) -> "list[Json]":
    matches: list[Json] = []
    at = since
    while True:
        query = {"stream": stream, "grep": pattern, "offset": at}
        answer = link.call("GET", f"/v1/jobs/{quote(job)}/output", query=query)
        matches += answer["matches"]
        if answer["next"] <= at or answer["next"] >= answer["size"]:
            return matches
        at = answer["next"]


def _as_json(args: "Namespace", link: "Link", job: "Json") -> int:
    answer: Json = {"job": job["id"], "phase": job["phase"]}
    for stream in STREAMS[args.stream]:
        pieces = list(slices(link, job["id"], stream, since=args.since or 0, tail=args.tail))
        first, last = pieces[0].headers, pieces[-1].headers
        answer[NAMES[stream]] = {
            **as_json(b"".join(piece.take() for piece in pieces)),
            "offset": int(first["bide-offset"]),
            **{key: int(last[f"bide-{key}"]) for key in ("next", "size", "head")},
        }
    print_json(answer)
    return 0
