"""Runs the conformance suite against a door with the suite's fixtures. `scripts/conformance` installs the suite first."""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from tests.conformance.verdict import Outcome, complaints, disagreements, failures, outcome, warnings

REVISIONS = ("2025-11-25", "2026-07-28")
_HERE = Path(__file__).parent
_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z\Z")
_SECONDS = 300


def main(node: str, suite: str) -> int:
    """Every scenario for servers: those of each revision, then what neither of them asks for."""
    command = [node, suite]
    with tempfile.TemporaryDirectory() as kept, _served() as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        checks: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for revision in REVISIONS:
            checks |= _run(command, url, Path(kept), revision, "--requirements", revision)
        for scenario in _scenarios(command) - {name for _, name in checks}:
            checks |= _run(command, url, Path(kept), "extension", "--scenario", scenario)
    results = {key: outcome(found) for key, found in checks.items()}
    listed = tomllib.loads((_HERE / "exceptions.toml").read_text())
    wrong = complaints(results, listed["scenarios"])
    wrong += disagreements({check for found in checks.values() for check in warnings(found)}, listed["warnings"])
    said: list[str] = []
    for (run, scenario), how in sorted(results.items()):
        if how is not Outcome.PASSED:
            said += [f"{scenario} ({run}) {how}", *failures(checks[run, scenario])]
    passed = sum(how is Outcome.PASSED for how in results.values())
    said.append(f"{passed} of {len(results)} scenarios passed; {'not ' if wrong else ''}as listed")
    sys.stdout.write("\n".join([*said, *wrong, ""]))
    return 1 if wrong else 0


def _served() -> "subprocess.Popen[str]":
    """The server, which ends when its stdin is closed."""
    words = [sys.executable, "-m", "tests.conformance.server"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _run(
    command: list[str], url: str, kept: Path, name: str, *which: str
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The checks of each scenario that was run."""
    into = kept / f"{name}-{len(list(kept.iterdir()))}"
    into.mkdir()
    words = [*command, "server", "--url", url, "-o", str(into), *which]
    done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for folder in into.iterdir():
        if match := _FOLDER.match(folder.name):
            found[name, match["scenario"]] = json.loads((folder / "checks.json").read_text())
    if not found:
        raise SystemExit(f"the suite ran nothing for {' '.join(which)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def _scenarios(command: list[str]) -> set[str]:
    """The names of all scenarios for servers."""
    done = subprocess.run([*command, "list"], capture_output=True, text=True, timeout=_SECONDS, check=True)
    servers = done.stdout.split("Client scenarios")[0]
    return set(re.findall(r"^  - (\S+)", servers, re.MULTILINE))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
