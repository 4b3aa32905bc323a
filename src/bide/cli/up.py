"""Start the services of this project's bide.toml, and wait until they are ready.

What runs already is left alone. A service is started when those it depends on are
ready. The exit status is 1 if one is not ready; the others go on all the same.
"""

from bide.cli.awaiting import show_tail, until_ready, why_not
from bide.cli.exits import Usage
from bide.cli.projects import caller, check_names, configure_file, newest, project_of
from bide.cli.table import paint
from bide.cli.terminal import complain, print_json, to_the_end
from bide.cli.times import seconds_between
from bide.model.errors import BideError
from bide.model.units import show_duration
from bide.model.words import listens_on
from bide.project.order import with_needs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json
    from bide.project.file import Project

NOT_READY = 1


def configure(parser: "Parser") -> None:
    """The options of `bide up`."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="these services and what they depend on (default: all)"
    )
    configure_file(parser)
    parser.examples("bide up", "bide up web", "bide up --json | jq '.services[].ports'", "bide down")


@to_the_end
def execute(args: "Namespace", link: "Link") -> int:
    """Start what is not running, wait for all of it, and say so."""
    project = project_of(args)
    check_names(args.names, project.services, "service", project.path)
    return raise_all(link, project, args.names or list(project.services), as_json=args.json)


def raise_all(link: "Link", project: "Project", names: list[str], *, as_json: bool) -> int:
    """Start these services and what they need; the exit status."""
    needs: dict[str, list[str]] = {name: entry.get("depends_on", []) for name, entry in project.services.items()}
    raising = _Raising(link, project, as_json=as_json)
    order = with_needs(names, needs)
    raising.look(order)
    for name in order:
        if all(raising.is_ready(other) for other in needs[name]):
            raising.start(name)
        else:
            raising.skip(name, next(other for other in needs[name] if not raising.is_ready(other)))
    ready = [raising.is_ready(name) for name in order]
    if as_json:
        print_json({"services": [raising.told[name] for name in order]})
    elif not order:
        complain(f"{project.path} has no services; write a section [service.NAME]")
    return 0 if all(ready) else NOT_READY


class _Raising:
    """Services on their way up."""

    def __init__(self, link: "Link", project: "Project", *, as_json: bool) -> None:
        self._link = link
        self._project = project
        self._as_json = as_json
        self._before: dict[str, Json] = {}
        self.told: dict[str, Json] = {}
        """What is known of each, as --json shows it."""

    def look(self, names: list[str]) -> None:
        """What runs already. Raises Usage, before anything is started, if a name belongs to another project."""
        for name in names:
            full = self._project.full_name(name)
            job = newest(self._link, full)
            if job is None or job["phase"] == "ended":
                continue
            if job["label"] != self._project.label:
                whose = job["label"].removeprefix("project ") or f"job {job['id']}"
                raise Usage(
                    detail=f"{full!r} runs for {whose}; give this project another name, with 'project = \"NAME\"' at the"
                    f" top of {self._project.path}"
                )
            self._before[name] = job

    def start(self, name: str) -> None:
        """Start one, unless it runs."""
        started, job, error = False, self._before.get(name), None
        if job is None:
            body = caller() | self._project.service_request(name) | {"background": True}
            try:
                job = self._link.call("POST", "/v1/jobs", body)["job"]
                started = True
            except BideError as refused:
                error = str(refused)
        self.told[name] = {
            "service": name,
            "name": self._project.full_name(name),
            "started": started,
            "ready": None if error is None else False,
            "error": error,
            "job": job,
        }
        if error is not None and not self._as_json:
            complain(f"{name}: {error}")

    def skip(self, name: str, other: str) -> None:
        """Do not start one whose need is not met."""
        error = f"not started, because {other} is not ready"
        full = self._project.full_name(name)
        self.told[name] = {"service": name, "name": full, "started": False, "ready": False, "error": error, "job": None}
        if not self._as_json:
            complain(f"{name}: {error}")

    def is_ready(self, name: str) -> bool:
        """Whether it is ready, once that is known; told the first time."""
        one = self.told[name]
        if one["ready"] is None:
            one["job"] = until_ready(self._link, one["job"], quiet=self._as_json)
            one["ready"] = bool(one["job"]["ready"])
            one["error"] = None if one["ready"] else why_not(one["job"])
            self._tell(one)
        return bool(one["ready"])

    def _tell(self, one: "Json") -> None:
        job: Json = one["job"]
        if self._as_json:
            return
        if not one["ready"]:
            complain(f"{one['service']}: {job['id']} {one['error']}")
            show_tail(self._link, job)
            return
        how = f"ready in {_time(job)}" if one["started"] else "was running already, and is ready"
        where = f", listens on {listens_on(job)}" if job.get("ports") else ""
        print(f"{one['service']}: {paint(how, 'green')}{where} ({job['id']})", flush=True)


def _time(job: "Json") -> str:
    return show_duration(max(0.0, 1000 * seconds_between(job["created_at"], job["ready_at"])))
