"""Run a task of this project's bide.toml, after the tasks that it says must come first.

Its output is passed through and its exit status is yours, as with 'bide run'. If
one of the tasks before it fails, that is the end. Without a name, lists the tasks.
"""

from bide.cli.projects import caller, check_names, configure_file, project_of
from bide.cli.terminal import complain, print_json
from bide.model.sanitize import one_line
from bide.project.order import with_needs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json
    from bide.project.file import Project


def configure(parser: "Parser") -> None:
    """The options of `bide task`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the task")
    configure_file(parser)
    parser.add_argument("--raw", action="store_true", help="pass escape sequences through to the terminal")
    parser.examples("bide task", "bide task test", "bide task --json build")


def execute(args: "Namespace", link: "Link") -> int:
    """Run it, and what comes before it; the first status that is not 0."""
    project = project_of(args)
    if args.name is None:
        return _list(args, project)
    check_names([args.name], project.tasks, "task", project.path)
    order = with_needs([args.name], {name: entry.get("after", []) for name, entry in project.tasks.items()})
    answers: list[Json] = []
    status = 0
    for name in order:
        body = caller() | project.request(project.tasks[name])
        status = _run_json(link, body, answers) if args.json else _run(link, body, raw=args.raw)
        if status:
            if name != args.name and not args.json:
                complain(f"task {args.name!r} was not run, because {name!r} before it ended with {status}")
            break
    if args.json:
        print_json({"tasks": [{"task": name, **answer} for name, answer in zip(order, answers, strict=False)]})
    return status


def _list(args: "Namespace", project: "Project") -> int:
    tasks = project.tasks
    if args.json:
        print_json({"tasks": [{"task": name, "command": entry["command"]} for name, entry in tasks.items()]})
    elif not tasks:
        complain(f"{project.path} has no tasks; write a section [task.NAME]")
    else:
        for name, entry in tasks.items():
            command = entry["command"]
            print(f"{name:<16}{one_line(command if isinstance(command, str) else ' '.join(command))}")
    return 0


def _run(link: "Link", body: "Json", *, raw: bool) -> int:
    from bide.cli.foreground import Foreground  # noqa: PLC0415 - only a run that is seen pays for it

    return Foreground(link, body | {"stdin": False}, raw=raw, deadline_ms=None).run()


def _run_json(link: "Link", body: "Json", answers: "list[Json]") -> int:
    answers.append(link.call("POST", "/v1/jobs", body | {"deadline_ms": None}))
    return int(answers[-1]["job"]["status"])
