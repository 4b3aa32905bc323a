"""What a command costs before it does anything."""

import subprocess
import sys

import pytest
from tests.cli.shell import PATIENCE, Shell

SLOW = {
    "anyio",
    "asyncio",
    "dataclasses",
    "datetime",
    "pathlib",
    "shutil",
    "socket",
    "subprocess",
    "typing",
    "inspect",
    "msgspec",
}


@pytest.mark.parametrize(
    "words", [("run", "--", "true"), ("run", "--bg", "--", "true"), ("show", "nobody", "--json"), ("wait", "nobody")]
)
def test_common_commands_import_nothing_slow(bide: Shell, words: tuple[str, ...]) -> None:
    # -I and -S leave out what this environment imports by itself; both leave out PYTHONPATH too.
    start = "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); from bide.cli.main import main; sys.exit(main())"
    path = ":".join(folder for folder in sys.path if folder)
    command = [sys.executable, "-I", "-S", "-X", "importtime", "-c", start, path, *words]
    done = subprocess.run(command, env=bide.env, capture_output=True, timeout=PATIENCE, check=False)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "bide.cli.main" in imported
    assert imported & SLOW == set()


def test_the_tour_works_twice(bide: Shell) -> None:
    for _ in range(2):
        done = bide("tour")
        assert done.returncode == 0
        text = done.stdout.decode()
        assert "exited with 3" in text
        assert "exited with 0" in text
        assert "steady: done" in text
        assert "What to do next:" in text
    answer = bide.json("tour")
    assert [job["exit_code"] for job in answer["all"]["jobs"]] == [3, 0]
