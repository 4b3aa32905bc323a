"""Runs the conformance suite against a door with the suite's fixtures. `scripts/conformance` installs the suite first."""

import json
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conformance.verdict import (
    Outcome,
    Run,
    complaints,
    disagreements,
    failures,
    read,
    result,
    status_complaints,
    warnings,
)

REVISIONS = ("2025-11-25", "2026-07-28")
_HERE = Path(__file__).parent
_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z\Z")
_SECONDS = 300
_SERVER_SECONDS = 30
_NOT_RUN = {"id": "scenario-not-run", "status": "FAILURE", "errorMessage": "the suite left no checks of this scenario"}

Checks = dict[Run, list[dict[str, Any]]]


class Suite:
    """The suite, and what came of it."""

    def __init__(self, command: list[str], url: str, kept: Path) -> None:
        self.checks: Checks = {}
        self.wrong: list[str] = []
        self._command = command
        self._url = url
        self._kept = kept

    def run(self, name: str, *which: str) -> None:
        """Run some scenarios, and keep the checks of each."""
        into = self._kept / f"{name}-{len(list(self._kept.iterdir()))}"
        into.mkdir()
        words = [*self._command, "server", "--url", self._url, "-o", str(into), *which]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
        found: Checks = {}
        for folder in into.iterdir():
            if match := _FOLDER.match(folder.name):
                file = folder / "checks.json"
                found[name, match["scenario"]] = json.loads(file.read_text()) if file.exists() else [_NOT_RUN]
        output = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        if not found:
            raise SystemExit(f"the suite ran nothing for {' '.join(which)}:\n{output}")
        wrong = status_complaints(f"{name}: {' '.join(which)}", done.returncode, map(result, found.values()))
        self.wrong += [f"{one}\n{output}" for one in wrong]
        self.checks |= found

    def scenarios(self) -> set[str]:
        """Return the names of all scenarios for servers."""
        words = [*self._command, "list", "--server"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=True)
        return set(re.findall(r"^  - (\S+)", done.stdout, re.MULTILINE))


def main(node: str, suite: str) -> int:
    """Run every scenario for servers: those of each revision, then what neither of them asks for."""
    with tempfile.TemporaryDirectory() as kept, _served() as server:
        run = Suite([node, suite], _line(server), Path(kept))
        for revision in REVISIONS:
            run.run(revision, "--requirements", revision)
        for scenario in sorted(run.scenarios() - {name for _, name in run.checks}):
            run.run("extension", "--scenario", scenario)
        assert server.stdin is not None
        server.stdin.close()
        answered = json.loads(_line(server))
    results = {key: result(found) for key, found in run.checks.items()}
    listed = read((_HERE / "exceptions.toml").read_bytes())
    wrong = run.wrong + complaints(results, listed.scenarios)
    wrong += disagreements({check for found in run.checks.values() for check in warnings(found)}, listed.warnings)
    said: list[str] = []
    for key, how in sorted(results.items(), key=lambda item: item[0]):
        if how.outcome is not Outcome.PASSED:
            said += [f"{key[1]} ({key[0]}) {how}", *failures(run.checks[key])]
    passed = sum(how.outcome is Outcome.PASSED for how in results.values())
    by_fixtures, total = answered["fixtures"], answered["fixtures"] + answered["door"]
    said.append(
        f"{by_fixtures} of {total} calls, lists and reads were answered by fixtures, whose names the suite asks for"
    )
    said.append(f"{passed} of {len(results)} scenarios passed; {'not ' if wrong else ''}as listed")
    sys.stdout.write("\n".join([*said, *wrong, ""]))
    return 1 if wrong else 0


@contextmanager
def _served() -> "Generator[subprocess.Popen[str]]":
    """The server, which ends when its stdin is closed, or is killed if it does not."""
    words = [sys.executable, "-m", "tests.conformance.server"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server
            server.wait(_SERVER_SECONDS)
        finally:
            server.kill()


def _line(server: "subprocess.Popen[str]") -> str:
    """Return what the server says next."""
    assert server.stdout is not None
    if not select.select([server.stdout], [], [], _SERVER_SECONDS)[0]:
        raise SystemExit("the server of the fixtures does not answer")
    return server.stdout.readline().strip()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
