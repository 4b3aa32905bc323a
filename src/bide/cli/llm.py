"""LLM command lines: which there are, and how they do.

'versions' tells what is installed and whether somebody is logged in, 'models' which
models are known by name, 'upgrade' shows what brings one to the newest version and
does it with --run, 'cache' how well providers' caches served in the last day,
'approvals' what the gate decided, and 'doctor' all of it that needs attention.
"""

import os

from bide import config
from bide.cli.checks.vibe import ADVICE, vibe_logging
from bide.cli.exits import Usage
from bide.cli.table import lines
from bide.cli.terminal import print_json
from bide.model.sanitize import one_line
from bide.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json


def configure(parser: "Parser") -> None:
    """The options of `bide llm`."""
    parser.add_argument("what", choices=tuple(_ACTIONS), metavar="WHAT", help=", ".join(_ACTIONS))
    parser.add_argument("cli", nargs="?", metavar="CLI", help="only this one")
    parser.add_argument("--to", metavar="VERSION", help="with upgrade: this version instead of the newest")
    parser.add_argument("--run", action="store_true", help="with upgrade: do it, as a job")
    parser.examples("bide llm versions", "bide llm upgrade claude --run", "bide llm doctor --json")


def execute(args: "Namespace", link: "Link") -> int:
    """Find out, and tell."""
    found = _ACTIONS[args.what][0](args, link)
    if args.json:
        print_json(found)
    else:
        _ACTIONS[args.what][1](found)
    return 0 if found.get("ok", True) else 1


def _programs(args: "Namespace", link: "Link") -> "Json":
    body = {"cli": args.cli, "login": True, "env": dict(os.environ)}
    return link.call("POST", "/v1/llm/programs", body)


def _show_programs(found: "Json") -> None:
    rows = [
        [one["cli"], one_line(one["version"]) or ("unknown" if one["installed"] else "not installed"), _login(one)]
        for one in found["programs"]
    ]
    _print(["CLI", "VERSION", "LOGIN"], rows)


def _print(head: list[str], rows: list[list[str]]) -> None:
    print("\n".join(lines(head, rows, lambda _row, _column: None, limited=False)))


def _login(one: "Json") -> str:
    told = [one["login"]] if one["installed"] else []
    return "; ".join([*told, *([one["hint"]] if one["hint"] else [])])


def _models(args: "Namespace", link: "Link") -> "Json":
    return link.call("GET", "/v1/llm/models", query={"cli": args.cli})


def _show_models(found: "Json") -> None:
    rows = [[one["cli"], one["default"] or "its own", ", ".join(one["models"])] for one in found["models"]]
    _print(["CLI", "DEFAULT", "KNOWN"], rows)


def _upgrade(args: "Namespace", link: "Link") -> "Json":
    if args.cli is None:
        raise Usage(detail="say which one to upgrade, as in: bide llm upgrade claude")
    body = {"cli": args.cli, "target": args.to, "dry_run": not args.run, "env": dict(os.environ)}
    body["owner"] = os.environ.get(config.DEFAULT_OWNER_VARIABLE) or None
    return link.call("POST", "/v1/llm/upgrade", body)


def _show_upgrade(found: "Json") -> None:
    command = " ".join(found["command"])
    if found["dry_run"]:
        print(f"{command}\n(only shown; --run does it)")
    else:
        print(f"{command}\n(job {found['job']}; 'bide wait {found['job']}' waits for it)")


def _cache(_: "Namespace", link: "Link") -> "Json":
    return link.call("POST", "/v1/llm/cache", {"env": dict(os.environ)})


def _show_cache(found: "Json") -> None:
    print(
        f"last {found['windowHours']} h: {found['totalRequests']} requests, {found['totalHits']} of them read from a cache; "
        f"about ${found['estimatedSavingsUsd']:.4f} saved"
    )


def _approvals(_: "Namespace", link: "Link") -> "Json":
    return link.call("GET", "/v1/llm/approvals")


def _show_approvals(found: "Json") -> None:
    rows = [
        [one["ts"], one["cli"], one["status"], str(one["score"]), one_line("; ".join(one["reasons"]))]
        for one in found["approvals"]
    ]
    _print(["WHEN", "CLI", "DECISION", "SCORE", "WHY"], rows)


def _doctor(args: "Namespace", link: "Link") -> "Json":
    """What a program can act on; `next_actions` always says something."""
    programs = _programs(args, link)["programs"]
    logging = vibe_logging()
    actions = [f"{one['cli']}: {one['hint']}" for one in programs if one["hint"]]
    actions += [f"log in to {one['cli']}" for one in programs if one["login"] == "not_authenticated"]
    if logging is False:
        actions.append(ADVICE)
    cache = _cache(args, link)
    health = {one["cli"]: one for one in link.call("GET", "/v1/llm/health")["clis"]}
    actions += [_resting(one) for one in health.values() if one["breaker"] != "closed"]
    return {
        "schema_version": "1.0",
        "ok": any(one["installed"] for one in programs) and logging is not False,
        "gateway": {"name": "bide", "version": VERSION},
        "providers": {
            one["cli"]: {
                "cli_available": one["installed"],
                "version": one["version"] or None,
                "login_status": one["login"],
                "guidance": one["hint"] or None,
                "circuit_breaker": health[one["cli"]]["breaker"],
                "failures_in_a_row": health[one["cli"]]["failures"],
            }
            for one in programs
        },
        "client_config": {"vibe_session_logging": logging},
        "cache_awareness": {
            "enabled_features": cache["enabledFeatures"],
            "last_24h": cache,
            "per_cli": cache["perCli"],
        },
        "next_actions": actions or ["nothing to do: ask away, as in: bide ask claude 'hello'"],
    }


def _resting(one: "Json") -> str:
    when = f"in {one['rest_ms'] / 1000:.0f} s" if one["rest_ms"] else "by the next request"
    return f"{one['cli']} failed {one['failures']} times in a row (last: {one['error']}); it is tried again {when}"


def _show_doctor(found: "Json") -> None:
    for name, one in found["providers"].items():
        rest = "" if one["circuit_breaker"] == "closed" else f", {one['circuit_breaker']} after failures"
        print(
            f"{name}: {one_line(one['version'] or ('version unknown' if one['cli_available'] else 'not installed'))}, {one['login_status']}{rest}"
        )
    for action in found["next_actions"]:
        print(f"next: {one_line(action)}")


_ACTIONS = {
    "versions": (_programs, _show_programs),
    "models": (_models, _show_models),
    "upgrade": (_upgrade, _show_upgrade),
    "cache": (_cache, _show_cache),
    "approvals": (_approvals, _show_approvals),
    "doctor": (_doctor, _show_doctor),
}
