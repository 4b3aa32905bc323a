"""Run the checks and print a line for each: number, result, evidence.

python -m seeds [NUMBER | FROM-TO]... [-n JOBS] [--json] [--verbose]

The exit status is 1 if a check failed or held in part only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from seeds.registry import NUMBERS, Check, load
from seeds.trial import sweep

Json = dict[str, Any]
ROOT = Path(__file__).parent.parent
MARKS = {"pass": "pass   ", "partial": "PARTIAL", "fail": "FAIL   ", "skip": "skip   "}


def wanted(words: list[str]) -> Iterator[int]:
    """Return the numbers that the arguments name: all if there are none."""
    if not words:
        yield from NUMBERS
    for word in words:
        first, _, last = word.partition("-")
        yield from range(int(first), int(last or first) + 1)


def attempt(number: int, one: Check | None, base: Path) -> Json:
    """Run a check in a process and a folder of its own; both are gone when this returns."""
    found: Json = {"number": number, "says": one.says if one else ""}
    if one is None:
        return found | {"result": "skip", "evidence": "no check is written yet", "seconds": 0.0}
    folder = Path(tempfile.mkdtemp(prefix=f"{number}-", dir=base))
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-m", "seeds.one", str(number), str(folder)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=one.seconds)
        result = json.loads(out) if out.strip() else {"result": "fail", "evidence": err.decode()[-300:]}
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        result = {"result": "fail", "evidence": f"not done within {one.seconds:g} s"}
    found |= result
    found["seconds"] = round(time.monotonic() - began, 1)
    found["left"] = len(sweep(folder))
    return found


def base_folder() -> Path:
    """Return a new folder, in memory where there is room."""
    where = os.environ.get("TMPDIR")
    if not where and shutil.disk_usage("/dev/shm").free > 4 << 30:
        where = "/dev/shm"
    return Path(tempfile.mkdtemp(prefix="bide-seeds.", dir=where))


def show(found: Json, *, verbose: bool) -> None:
    """Print the line of a check."""
    evidence = " ".join(str(found["evidence"]).split())
    if not verbose and found["result"] in ("pass", "skip") and len(evidence) > 160:
        evidence = evidence[:159] + "…"
    print(f"{found['number']:>3}  {MARKS[found['result']]}  {evidence}", flush=True)
    if verbose:
        print(f"     {found['says']}  ({found['seconds']} s, {found.get('left', 0)} left behind)")
        for one in found.get("held", []):
            print(f"       + {one}")
        for one in found.get("broken", []):
            print(f"       - {one}")
        if found.get("trace"):
            print(found["trace"])


def summary(found: list[Json], seconds: float) -> str:
    """Return the last line."""
    counts = Counter(one["result"] for one in found)
    words = {"pass": "passed", "partial": "in part", "fail": "failed", "skip": "skipped"}
    return ", ".join(f"{counts[kind]} {word}" for kind, word in words.items()) + f"; {seconds:.0f} s"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="seeds", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("numbers", nargs="*", help="numbers, or ranges as 100-120 (all)")
    parser.add_argument("-n", type=int, default=6, help="how many checks run at once (6); most of them wait")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--verbose", "-v", action="store_true", help="print every claim")
    return parser.parse_intermixed_args()


def attempt_all(given: argparse.Namespace, base: Path) -> list[Json]:
    """Run what the arguments name, the checks with long limits first, and print each result as it comes."""
    checks = load()
    numbers = sorted(set(wanted(given.numbers)))
    found: dict[int, Json] = {}
    printing = threading.Lock()

    def work(number: int) -> None:
        one = attempt(number, checks.get(number), base)
        with printing:
            found[number] = one
            if not given.json:
                show(one, verbose=given.verbose)

    with ThreadPoolExecutor(max(1, given.n)) as pool:
        longest = sorted(numbers, key=lambda number: -(checks[number].seconds if number in checks else 0))
        list(pool.map(work, longest))
    return [found[number] for number in numbers]


def main() -> int:
    """Run the checks; return the exit status."""
    given = arguments()
    base = base_folder()
    began = time.monotonic()
    try:
        results = attempt_all(given, base)
    finally:
        sweep(base)
    last = summary(results, time.monotonic() - began)
    bad = [one for one in results if one["result"] in ("fail", "partial")]
    if given.json:
        print(json.dumps({"results": results, "summary": last}, indent=1))
    else:
        print()
        for one in bad:
            show(one, verbose=False)
        print(last)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
