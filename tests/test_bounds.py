"""No test can hang the suite: a test that does not end is reported, wherever it hangs, and the next one runs."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import processes

from bide.client.start import ensure_daemon

ROOT = Path(__file__).parents[1]

PLACES = {
    "call": "def test_hangs():\n    never.wait()\n",
    "fixture": "@pytest.fixture\ndef bad():\n    never.wait()\ndef test_hangs(bad):\n    pass\n",
    "teardown": "@pytest.fixture\ndef bad():\n    yield\n    never.wait()\ndef test_hangs(bad):\n    pass\n",
    "teardown of a failed test": (
        "@pytest.fixture\ndef bad():\n    yield\n    never.wait()\ndef test_hangs(bad):\n    assert False\n"
    ),
    "teardown of a test that hung": (
        "@pytest.fixture\ndef bad():\n    yield\n    never.wait()\ndef test_hangs(bad):\n    never.wait()\n"
    ),
}
DEAF = """
def test_hangs():
    while True:
        try:
            never.wait()
        except BaseException:
            pass
"""


def run(tmp_path: Path, test: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a test module with a time limit of a second and a half per test."""
    head = "import threading\nimport pytest\nnever = threading.Event()\n"
    (tmp_path / "test_it.py").write_text(f"{head}{test}\n\ndef test_the_next_one():\n    pass\n")
    options = [
        "-p",
        "tests.support.bounds",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--timeout",
        "1.5",
        "-c",
        "/dev/null",
    ]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), *words, str(tmp_path / "test_it.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("place", list(PLACES))
def test_a_test_that_hangs_fails_and_the_next_one_runs(tmp_path: Path, place: str) -> None:
    done = run(tmp_path, PLACES[place])
    assert done.returncode == 1
    assert "Timeout (>1.5s) from pytest-timeout" in done.stdout
    assert "1 error" in done.stdout or "1 failed" in done.stdout
    assert "passed" in done.stdout


def test_a_test_that_ignores_its_time_limit_ends_its_worker(tmp_path: Path) -> None:
    done = run(tmp_path, DEAF, "-n", "1")
    assert done.returncode == 1
    assert "in test_hangs" in done.stderr
    assert "crashed while running" in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_what_a_hung_worker_left_is_ended(home: Path, tmp_path: Path) -> None:
    ensure_daemon(str(home))
    subprocess.run([sys.executable, "-m", "tests.support.processes", tmp_path], cwd=ROOT, timeout=50, check=True)
    assert processes.left(tmp_path, 0, processes.children()) == {}


def test_ci_runs_no_failed_test_again() -> None:
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in commands if "||" in line or "failed" in line] == []
