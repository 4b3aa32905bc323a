"""The project a command is given in, and what every request of its commands has."""

import os

from bide import config
from bide.cli.exits import Usage
from bide.cli.run import here
from bide.project.file import FILE, Project, find
from bide.project.values import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json


def configure_file(parser: "Parser") -> None:
    """The option that says which bide.toml."""
    parser.add_argument("--file", metavar="PATH", help=f"use this file (default: {FILE} here or in a folder above)")


def project_of(args: "Namespace") -> Project:
    """The project; raises BadProject, or Usage if there is none."""
    found = maybe_project(args)
    if found is None:
        raise Usage(detail=f"there is no {FILE} in {here(None)!r} or above; write one, or name one with --file")
    return found


def maybe_project(args: "Namespace") -> Project | None:
    """The project, if there is one."""
    if args.file is not None:
        if not os.path.isfile(args.file):
            raise Usage(detail=f"there is no file {args.file!r}")
        return Project(os.path.abspath(args.file))
    path = find(here(None))
    return None if path is None else Project(path)


def check_names(wanted: "Iterable[str]", known: "Iterable[str]", what: str, path: str) -> None:
    """Refuse names that the file does not have."""
    names = list(known)
    for name in wanted:
        if name not in names:
            hint = nearest(name, names) if names else "it has none"
            raise Usage(detail=f"{path} has no {what} {name!r}; {hint}")


def caller() -> "Json":
    """What only this process knows: environment, umask and owner; and a key, so that nothing is started twice."""
    return {"base_env": dict(os.environ), "umask": config.umask(), "key": os.urandom(16).hex()} | owner()


def owner() -> "dict[str, str]":
    """Whose jobs these are, if it is said."""
    found = os.environ.get(config.DEFAULT_OWNER_VARIABLE)
    return {"owner": found} if found else {}


def newest(link: "Link", name: str) -> "Json | None":
    """The newest job of this name; the only one that can be active."""
    jobs: list[Json] = link.call("GET", "/v1/jobs", query={"name": name, "limit": 1} | owner())["jobs"]
    return jobs[0] if jobs else None
