"""`make mutate`: put each fault of faults.toml into a copy of the sources, one at a time, and run the tests of its area.

Arguments are parts of ids or areas: only those faults are tried. MUTATE_SECONDS (1800) bounds the whole run, MUTATE_WORKERS (2)
is how many faults are tried at once. The exit status is 0 only if all ran, at least 95 % were caught, and each survivor has a reason.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec
from tests.mutation.table import ROOT, Fault, read
from tests.support import processes

SECONDS = float(os.environ.get("MUTATE_SECONDS", "1800"))
WORKERS = int(os.environ.get("MUTATE_WORKERS", "2"))
ENOUGH = 0.95
EACH = 150.0
"""Seconds for the tests of one fault: a fault that makes them hang is caught."""
_BUILT = "src/bide/keeper/bide-keeper"
_USUAL = "not slow and not node and not chromium"


class How(StrEnum):
    """What became of a fault."""

    CAUGHT = "caught"
    SURVIVED = "SURVIVED"
    WRONG = "WRONG"
    """The table has to be put right: the text has changed, or the tests fail without the fault."""
    NOT_RUN = "not run"


class Result(msgspec.Struct, frozen=True):
    """How a fault was noticed, or not."""

    fault: Fault
    how: How
    detail: str = ""
    seconds: float = 0.0


class Copy:
    """A copy of the repository in which one fault at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self._homes = folder / "t"
        self._homes.mkdir(parents=True)
        listed = subprocess.run(
            ["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        )
        for name in [*os.fsdecode(listed.stdout).split("\0"), _BUILT]:
            if name and (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        self._env = {**os.environ, "PYTHONPATH": str(self.root / "src"), "TMPDIR": str(self._homes)}
        code = "import bide; print(bide.__file__)"
        found = subprocess.run(
            [sys.executable, "-c", code], cwd=self.root, env=self._env, capture_output=True, check=True
        )
        assert os.fsdecode(found.stdout).startswith(str(self.root)), "the tests would not use the copy"

    def pytest(self, words: Sequence[str], seconds: float, workers: int = 0) -> tuple[int, str]:
        """Run tests: the exit status (124: they did not end), and what was printed."""
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            "-n",
            str(workers),
            "--timeout",
            "60",
            "-rfE",
            "--tb=no",
            "-m",
            _USUAL,
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *words],
            cwd=self.root,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=max(seconds, 1))
            status = process.returncode
        except subprocess.TimeoutExpired:
            said, status = "", 124
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
            for pid in processes.of_folder(self._homes):
                processes.end(pid)
            shutil.rmtree(self._homes, ignore_errors=True)
            self._homes.mkdir(exist_ok=True)
        return status, said

    def build(self) -> bool:
        """Compile the keeper; whether that was possible."""
        words = [sys.executable, "setup.py", "-q", "build_keeper", "--inplace"]
        return subprocess.run(words, cwd=self.root, env=self._env, capture_output=True, check=False).returncode == 0

    def try_(self, fault: Fault, seconds: float) -> Result:
        """Apply a fault, run its tests, take it back."""
        path, began = self.root / fault.file, time.monotonic()
        whole, built = path.read_text(encoding="utf-8"), (self.root / _BUILT).read_bytes()
        try:
            self._write(path, whole.replace(fault.old, fault.new))
            if fault.is_c and not self.build():
                return Result(fault, How.WRONG, "it does not compile")
            status, said = self.pytest(["-x", *fault.tests], min(EACH, seconds))
        finally:
            self._write(path, whole)
            if fault.is_c:
                replacement = self.root / f"{_BUILT}.before"
                replacement.write_bytes(built)
                replacement.chmod(0o755)
                replacement.replace(self.root / _BUILT)
        took = time.monotonic() - began
        if status == 0:
            return Result(fault, How.SURVIVED, fault.survives, took)
        if status == 124 and seconds < EACH:
            return Result(fault, How.NOT_RUN, "no time", took)
        by = next(
            (line.split(" ")[1] for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))), f"exit {status}"
        )
        return Result(fault, How.CAUGHT, by, took)

    def _write(self, path: Path, text: str) -> None:
        """Change a source; what was compiled from it is not taken for the change, made within the same second."""
        path.write_text(text, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


class Run:
    """All faults of the table, tried by a few workers."""

    def __init__(self, faults: Sequence[Fault], folder: Path) -> None:
        self.results: list[Result] = []
        self._folder = folder
        self._until = time.monotonic() + SECONDS
        self._queue: SimpleQueue[Fault] = SimpleQueue()
        self._lock = threading.Lock()
        for fault in faults:
            if wrong := fault.wrong(ROOT):
                self._say(Result(fault, How.WRONG, wrong))
            else:
                self._queue.put(fault)

    def left(self) -> float:
        return self._until - time.monotonic()

    def baseline(self, copy: Copy, faults: Sequence[Fault]) -> set[str]:
        """Run all these tests without a fault; those that fail."""
        words = sorted({word for fault in faults for word in fault.tests})
        status, said = copy.pytest(words, self.left(), workers=WORKERS)
        failed = {line.split(" ")[1] for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))}
        if status not in (0, 1):
            raise SystemExit(f"the tests cannot be run without a fault (exit {status}):\n{said[-3000:]}")
        return failed

    def all(self, faults: Sequence[Fault]) -> None:
        copies = [Copy(self._folder / str(number)) for number in range(WORKERS)]
        failed = self.baseline(copies[0], faults)
        sys.stdout.write(
            f"without a fault, after {SECONDS - self.left():.0f} s: {sorted(failed) or 'all tests pass'}\n"
        )
        threads = [threading.Thread(target=self._work, args=(copy, failed)) for copy in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, copy: Copy, failed: set[str]) -> None:
        while True:
            try:
                fault = self._queue.get_nowait()
            except Empty:
                return
            if any(test.startswith(fault.tests) for test in failed):
                self._say(Result(fault, How.WRONG, "its tests fail without it"))
            elif self.left() < 1:
                self._say(Result(fault, How.NOT_RUN, "no time"))
            else:
                self._say(copy.try_(fault, self.left()))

    def _say(self, result: Result) -> None:
        with self._lock:
            self.results.append(result)
            fault = result.fault
            sys.stdout.write(f"{result.how:9} {fault.area:12} {fault.id:44} {result.seconds:5.1f} s  {result.detail}\n")
            sys.stdout.flush()


def verdict(results: Sequence[Result]) -> list[str]:
    """Return what is wrong with a run."""
    counts = {how: sum(result.how is how for result in results) for how in How}
    tried = counts[How.CAUGHT] + counts[How.SURVIVED]
    wrong = [f"{counts[How.WRONG]} entries of the table are wrong"] if counts[How.WRONG] else []
    wrong += [f"{counts[How.NOT_RUN]} faults were not tried: no time"] if counts[How.NOT_RUN] else []
    if tried and counts[How.CAUGHT] < ENOUGH * tried:
        wrong.append(f"fewer than {ENOUGH:.0%} were caught")
    for result in results:
        if result.how is How.SURVIVED and not result.fault.survives:
            wrong.append(f"{result.fault.id} survived, and has no reason")
        if result.how is How.CAUGHT and result.fault.survives:
            wrong.append(f"{result.fault.id} was caught; take its reason away")
    return wrong


def main(words: Sequence[str]) -> int:
    """Try the faults, and print what became of each."""
    faults = [fault for fault in read() if not words or any(word in f"{fault.area}/{fault.id}" for word in words)]
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="bm.", dir=where) as folder:
        run = Run(faults, Path(folder))
        run.all([fault for fault in faults if not fault.wrong(ROOT)])
    counts = {how: sum(result.how is how for result in run.results) for how in How}
    tried = counts[How.CAUGHT] + counts[How.SURVIVED]
    share = counts[How.CAUGHT] / tried if tried else 0.0
    wrong = verdict(run.results)
    sys.stdout.write(
        f"{len(faults)} faults: {counts[How.CAUGHT]} caught, {counts[How.SURVIVED]} survived ({share:.1%} caught), "
        f"{counts[How.WRONG]} wrong, {counts[How.NOT_RUN]} not run, in {SECONDS - run.left():.0f} s\n"
    )
    sys.stdout.write("".join(f"mutate: {one}\n" for one in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
