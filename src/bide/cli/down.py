"""Stop the services of this project's bide.toml, and wait until nothing of them is left.

Those that depend on others go first. The exit status is 1 if something survives.
"""

from bide.cli.projects import check_names, configure_file, newest, project_of
from bide.cli.terminal import print_json, to_the_end
from bide.client.http1 import quote
from bide.model.words import ended_how, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json
    from bide.project.file import Project

SURVIVED = 1


def configure(parser: "Parser") -> None:
    """The options of `bide down`."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these services (default: all)")
    configure_file(parser)
    parser.examples("bide down", "bide down web")


@to_the_end
def execute(args: "Namespace", link: "Link") -> int:
    """Stop what runs, and say what became of it."""
    project = project_of(args)
    check_names(args.names, project.services, "service", project.path)
    wanted = [name for name in reversed(project.services) if not args.names or name in args.names]
    told = [_stop(link, project, name, as_json=args.json) for name in wanted]
    if args.json:
        print_json({"services": told})
    return 0 if all(one["verified_empty"] for one in told) else SURVIVED


def _stop(link: "Link", project: "Project", name: str, *, as_json: bool) -> "Json":
    full = project.full_name(name)
    job = newest(link, full)
    told: Json = {"service": name, "name": full, "stopped": False, "verified_empty": True, "survivors": [], "job": None}
    if job is not None and job["label"] == project.label and (job["phase"] != "ended" or job["alive"]):
        killed = stop(link, full, project.services[name].get("grace"))
        told |= {key: killed[key] for key in ("verified_empty", "survivors", "job")}
        told["stopped"] = killed["verified_empty"]
    if not as_json:
        print(f"{name}: {stopped_how(told)}", flush=True)
    return told


def stop(link: "Link", name: str, grace_ms: int | None) -> "Json":
    """Kill a service by its name and wait until it is gone: what `kill` answers."""
    body: Json = {"by": "user"} if grace_ms is None else {"by": "user", "grace_ms": grace_ms}
    return link.call("POST", f"/v1/jobs/{quote(name)}/kill", body)


def stopped_how(told: "Json") -> str:
    """What became of a service that should stop, as what follows its name."""
    job: Json | None = told["job"]
    if job is None:
        return "was not running"
    if told["verified_empty"]:
        return f"stopped; {job['id']} {ended_how(job)}, nothing of it is left"
    return f"did not stop; {job['id']} still has {processes(told['survivors']) or 'processes'}"
