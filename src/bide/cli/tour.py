"""A short tour: two background jobs, their output and their ends."""

from bide.cli.following import Follower
from bide.cli.run import request_body
from bide.cli.sinks import Sinks
from bide.cli.terminal import print_json
from bide.cli.wait import wait
from bide.client.http1 import ERR, OUT
from bide.model.units import show_duration
from bide.model.words import ended_how

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_QUICK = "for i in 1 2; do echo quick: step $i; sleep 0.5; done; echo quick: something is wrong >&2; exit 3"
_STEADY = "for i in 1 2 3 4; do echo steady: step $i; sleep 0.5; done; echo steady: done"
_NEXT = """\
What to do next:
  bide run -- make test                     run something of yours
  bide run --bg --name build -- make        leave it running; close the terminal if you like
  bide wait build                           come back: its exit status is yours
  bide logs -f build                        see what it writes
  bide ls                                   see all jobs
  bide --help                               everything else"""


def configure(parser: "Parser") -> None:
    """It has no options of its own."""
    parser.examples("bide tour")


def execute(args: "Namespace", link: "Link") -> int:
    """Start two jobs, wait for any and for all, show what they wrote and how they ended."""
    quick, steady = (_start(link, script) for script in (_QUICK, _STEADY))
    ids = [quick["id"], steady["id"]]
    if args.json:
        first = wait(link, {"jobs": ids, "mode": "any"}, None)
        print_json({"any": first, "all": wait(link, {"jobs": ids, "mode": "all"}, None)})
        return 0
    print(f"Two jobs run in the background of bide's home, {link.home}:")
    print(f"  {quick['id']}  fails after about a second\n  {steady['id']}  succeeds after about two\n")
    print(f"Waiting for any of them (bide wait --any {' '.join(ids)}) ...")
    _tell([job for job in wait(link, {"jobs": ids, "mode": "any"}, None)["jobs"] if job["phase"] == "ended"])
    print("The other goes on. Waiting for all of them (bide wait ...) ...")
    ended = wait(link, {"jobs": ids, "mode": "all"}, None)["jobs"]
    _tell(ended)
    for job in ended:
        print(f"\nWhat {job['id']} wrote (bide logs {job['id']}):", flush=True)
        _show(link, job)
    print(f"\n{_NEXT}")
    return 0


def _start(link: "Link", script: str) -> "Json":
    from bide.cli.main import load  # noqa: PLC0415 - the options of `run`, from the one place that knows them

    args = load("run")[0].read(["--bg", "--label", "tour", "-c", script])
    return link.call("POST", "/v1/jobs", request_body(args) | {"background": True})["job"]


def _tell(jobs: "list[Json]") -> None:
    for job in jobs:
        print(f"  {job['id']}  {ended_how(job)}, ran {show_duration(job['duration_ms'])}", flush=True)


def _show(link: "Link", job: "Json") -> None:
    follower = Follower(link, Sinks(raw=False, streams=(OUT, ERR)))
    follower.job = job
    while not follower.ended:
        follower.pump()
