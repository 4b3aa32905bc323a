"""What a command costs before it does anything."""

import os
import signal
import subprocess
import sys
from pathlib import Path

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


_WAITS_AT_THE_COMMAND_LINE = """
import os, sys, time
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "bide.cli.main":
            os.write(1, b"loading")
            time.sleep(60)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(("ignored", "status"), [(False, -signal.SIGINT), (True, -signal.SIGTERM)])
def test_an_interrupt_while_it_loads_ends_it_without_a_word(
    bide: Shell, tmp_path: Path, *, ignored: bool, status: int
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_WAITS_AT_THE_COMMAND_LINE)
    env = bide.env | {"PYTHONPATH": os.pathsep.join([str(tmp_path), bide.env.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "bide", "version"]
    prepared = ["env", f"--{'ignore' if ignored else 'default'}-signal=INT", *command]
    with subprocess.Popen(prepared, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as loading:
        assert loading.stdout is not None
        assert loading.stdout.read(7) == b"loading"
        loading.send_signal(signal.SIGINT)
        if ignored:
            with pytest.raises(subprocess.TimeoutExpired):
                loading.wait(0.2)
            loading.terminate()
        assert loading.wait(PATIENCE) == status
        assert loading.stderr is not None
        assert loading.stderr.read() == b""


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
