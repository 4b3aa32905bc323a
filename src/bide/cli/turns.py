"""The options of `bide run` that say when a job may start, and whether an equal one will do."""

from bide.cli.exits import Usage
from bide.cli.units import parse_ms, parse_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.http1 import Json

_POLICIES = {"running": "reuse_running", "recent": "reuse_recent"}


def configure(parser: "Parser") -> None:
    """Add them."""
    turn = parser.add_argument_group(
        "turn", "A job that may not start yet is queued; 'bide show' says what it waits for."
    )
    turn.add_argument("--group", metavar="G", help="share this group's limit (see: bide group)")
    turn.add_argument(
        "--priority", metavar="N", type=parse_whole, help="the greater goes first, -1000 to 1000 (default: 0)"
    )
    turn.add_argument("--after", metavar="ID", action="append", help="start when this job has succeeded; repeatable")
    turn.add_argument("--after-any", action="store_true", help="with --after: however it ended")
    turn.add_argument("--at", metavar="T", type=parse_start, help="not before: 2026-01-31T08:00, or +10m from now")
    reuse = parser.add_argument_group("reuse", "Join an equal job of yours that was also started with --reuse.")
    reuse.add_argument("--reuse", choices=tuple(_POLICIES), help="one that is queued or running; or one that succeeded")
    reuse.add_argument("--window", metavar="D", type=parse_ms, help="with --reuse recent: how long ago (default: 1h)")
    reuse.add_argument("--fresh", action="store_true", help="with --reuse: run it anew, for later ones to join")


def parse_start(text: str) -> str:
    """An instant given as ISO 8601 (local time unless it says otherwise), or as `+` and how long from now."""
    from argparse import ArgumentTypeError  # noqa: PLC0415 - only a run with --at pays for these
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415

    from bide.cli.units import parse_duration  # noqa: PLC0415

    try:
        if text.startswith("+"):
            at = datetime.now(UTC) + timedelta(seconds=parse_duration(text[1:]))
        else:
            at = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, ArgumentTypeError):
        example = "2026-01-31T08:00 or +10m (that long from now)"
        raise ArgumentTypeError(f"{text!r} is not a time to start at; write {example}") from None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def request_fields(args: "Namespace") -> "Json":
    """What they add to the body of the request."""
    fields: Json = {}
    turn = {key: value for key in ("group", "priority", "after", "after_any", "at") if (value := getattr(args, key))}
    if turn:
        fields["turn"] = turn
    if args.reuse:
        dedup: Json = {"policy": _POLICIES[args.reuse], "window_ms": args.window, "fresh": args.fresh}
        fields["dedup"] = dedup
    elif args.fresh or args.window is not None:
        raise Usage(detail="--fresh and --window say how to reuse; give --reuse running or --reuse recent as well")
    return fields


def told(answer: "Json") -> str | None:
    """What is to be said of the answer to a run: that it joined a job, or that it waits for its turn."""
    job = answer["job"]
    if answer.get("joined"):
        from bide.model.words import short_status  # noqa: PLC0415 - only a job that was joined pays for it

        return f"joined {job['id']}, which was asked for before ({short_status(job)})"
    if job["phase"] == "queued" and job.get("queue"):
        return f"job {job['id']} is queued{_place(job['queue'])}: {job['queue']['why']}"
    return None


def _place(queue: "Json") -> str:
    return f", place {queue['place']}" if queue["place"] else ""
