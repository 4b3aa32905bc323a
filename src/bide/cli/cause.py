"""Print what is worth reading of an output: what went wrong, and the end. What is left out is named with the command that prints it."""

from bide.cli.terminal import print_json, write_all
from bide.client.http1 import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from bide.client.blocking import Link
    from bide.client.http1 import Json


def show_cause(args: "Namespace", link: "Link", job: "Json") -> int:
    """Print the excerpt of one stream or both, all of it to stdout."""
    query = {"stream": None if args.stream == "both" else args.stream}
    if args.since is not None:
        query[args.stream] = args.since
    found = link.call("GET", f"/v1/jobs/{quote(job['id'])}/excerpt", query=query)
    if args.json:
        print_json({"job": job["id"], **found})
        return 0
    parts = [part for part in found["parts"] if part["pieces"]]
    for part in parts:
        heading = f"-- {'stdout' if part['stream'] == 'out' else 'stderr'} --\n" if len(parts) > 1 else ""
        write_all(1, (heading + "".join(_lines(part, job["id"]))).encode("utf-8", "replace"))
    return 0


def _lines(part: "Json", job: str) -> "Iterator[str]":
    begins = {end: start for start, end in part["omitted"]}
    for piece in part["pieces"]:
        if piece["start"] in begins:
            yield _left_out(part, job, begins[piece["start"]], piece["start"])
        text = piece["text"]
        yield text if text.endswith("\n") else f"{text}\n"
        if piece["times"] > 1:
            yield f"   [{piece['times']} lines like this]\n"
    if part["pieces"] and part["next"] > part["pieces"][-1]["end"]:
        yield _left_out(part, job, part["pieces"][-1]["end"], part["next"])


def _left_out(part: "Json", job: str, start: int, end: int) -> str:
    return f"   [{end - start} bytes left out: bide logs --stream {part['stream']} --since {start} {job}]\n"
