"""Python code runs as `python -c` would run it: compared with it, where it can be."""

import re
import signal
import subprocess
import sys
from glob import glob
from pathlib import Path

import pytest
from tests.support.code import HERE, err, out, printed, python
from tests.support.patience import end_of, ended

from bide import Reason
from bide.api import Jobs
from bide.kinds.python import RUNNER

SAME = {
    "what it is called": "import sys; print(__name__, sys.argv, sys.path[0] == '', '__file__' in globals(), __spec__)",
    "an exit code": "import sys; sys.exit(7)",
    "an exit with a word": "raise SystemExit('leaving')",
    "the main module": "import sys; print(sys.modules['__main__'].__dict__ is globals(), __builtins__.__name__)",
    "a last expression is not shown": "6 * 7",
    "a class that can be pickled": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))))",
    "a hook of its own": "import sys\nsys.excepthook = lambda k, e, t: print(k, e, t.tb_lineno, t.tb_next)\n\n1/0",
    "a future": "from __future__ import annotations\ndef f(x: nothing): pass\nprint(f.__annotations__)",
    "its threads": "import threading, sys\nthreading.Thread(target=lambda: print('after')).start()",
    "its handlers": "import atexit, sys\natexit.register(print, 'bye')\nsys.exit(3)",
    "a module of the folder": "import there; print(there.__file__.endswith('there.py'))",
    "a module that hides one of Python's": "import json; print(json.MINE)",
    "children that are spawned": (
        "import multiprocessing as m\nm.set_start_method('spawn')\nwith m.Pool(1) as p: print(p.map(len, ['abc']))"
    ),
}


def by_python(code: str, folder: Path) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


UNCOUNTED = ("a module that hides one of Python's",)
"""Under coverage such a job has loaded the module before its code runs."""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, marks=pytest.mark.uncounted if name in UNCOUNTED else (), id=name)
        for name, code in SAME.items()
    ],
)
async def test_it_is_as_if_python_had_run_it(local: Jobs, tmp_path: Path, code: str) -> None:
    (tmp_path / "there.py").touch()
    (tmp_path / "json.py").write_text("MINE = True")
    ran = await python(local, code, cwd=str(tmp_path))
    assert (ended(ran.job).end.exit_code, out(ran), err(ran)) == by_python(code, tmp_path)


@pytest.mark.parametrize(
    "code", ["x = 1\nif x\n  pass", "print('begun')\nx = (", "await = 1", "\tx\n y", "'\\ud800'.x y"]
)
async def test_a_syntax_error_is_shown_as_pythons_own_and_nothing_runs(jobs: Jobs, tmp_path: Path, code: str) -> None:
    ran = await python(jobs, code)
    assert (ended(ran.job).end.exit_code, out(ran), err(ran)) == by_python(code, tmp_path)
    assert "SyntaxError" in err(ran) or "IndentationError" in err(ran)


async def test_a_traceback_shows_the_codes_own_lines_and_none_of_ours(jobs: Jobs) -> None:
    ran = await python(jobs, "def divide(a):\n    return a / 0\n\ndivide(1)")
    assert ended(ran.job).end.exit_code == 1
    shown = re.sub(r"\n +[~^]+", "", err(ran))
    assert shown == (
        'Traceback (most recent call last):\n  File "<string>", line 4, in <module>\n    divide(1)\n'
        '  File "<string>", line 2, in divide\n    return a / 0\nZeroDivisionError: division by zero\n'
    )


@pytest.mark.parametrize("first", ["import asyncio", "import linecache, asyncio"])
async def test_a_traceback_of_code_that_awaits_is_as_short(jobs: Jobs, first: str) -> None:
    ran = await python(jobs, f"{first}\nawait asyncio.sleep(0)\nraise ValueError('no')")
    assert re.sub(r"\n +[~^]+", "", err(ran)) == (
        "Traceback (most recent call last):\n  File \"<string>\", line 3, in <module>\n    raise ValueError('no')\n"
        "ValueError: no\n"
    )


async def test_code_that_prints_a_traceback_itself_has_the_lines_too(jobs: Jobs) -> None:
    shown = await printed(jobs, "import traceback\ntry: 1/0\nexcept ArithmeticError: print(traceback.format_exc())")
    assert "    try: 1/0\n" in shown


async def test_lines_are_shown_also_where_something_else_had_python_look_at_lines_before(
    local: Jobs, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import linecache")
    ran = await python(local, "1/0", env={"PYTHONPATH": str(tmp_path)})
    assert "\n    1/0\n" in err(ran)


async def test_await_at_the_top_needs_nothing_around_it(jobs: Jobs) -> None:
    code = """
import asyncio
async def double(x):
    await asyncio.sleep(0)
    return 2 * x
async def letters():
    yield 'a'
    yield 'b'
print(await asyncio.gather(*[double(n) for n in range(3)]))
async for letter in letters():
    print(letter)
"""
    assert await printed(jobs, code) == "[0, 2, 4]\na\nb\n"


@pytest.mark.uncounted
async def test_asyncio_is_not_imported_for_code_that_does_not_await(jobs: Jobs) -> None:
    loaded = await printed(jobs, "import sys; print(*sys.modules)")
    assert {"asyncio", "json", "socket", "traceback", "linecache", "threading", "bide"} & set(loaded.split()) == set()


async def test_stdin_belongs_to_the_code(jobs: Jobs) -> None:
    started = await python(jobs, "print(input() + '!')", stdin=True, background=True)
    await jobs.send(started.job.id, data=b"hello\n")
    assert (await end_of(jobs, started.job.id)).end.success
    assert (await jobs.read(started.job.id)).data == b"hello!\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_as_it_would_end_python(jobs: Jobs, number: int) -> None:
    code = f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(60)"
    end = ended((await python(jobs, code)).job).end
    assert (end.reason, end.signal) == (Reason.SIGNALED, number)


async def test_an_interrupt_reaches_code_that_awaits(jobs: Jobs) -> None:
    code = "import asyncio, os\nasyncio.get_running_loop().call_soon(os.kill, os.getpid(), 2)\nawait asyncio.sleep(60)"
    ran = await python(jobs, code)
    assert ended(ran.job).end.signal == signal.SIGINT
    assert err(ran).endswith("KeyboardInterrupt\n")


async def test_a_coding_line_counts_and_no_locale_changes_the_code(jobs: Jobs) -> None:
    latin = b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))".decode("utf-8", "surrogateescape")
    assert await printed(jobs, latin) == "'\\xe9'\n"
    odd = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert await printed(jobs, "print(ascii('é'))", env=odd) == "'\\xe9'\n"


async def test_a_safe_path_stays_safe(jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('mine')")
    env = {"PYTHONSAFEPATH": "1"}
    assert await printed(jobs, "import json; print('theirs')", cwd=str(tmp_path), env=env) == "theirs\n"


PYTHONS = sorted({sys.executable, *glob(str(Path.home() / ".pyenv/versions/3.*/bin/python3"))})


@pytest.mark.parametrize("program", PYTHONS, ids=lambda path: Path(path).parent.parent.name)
def test_the_runner_runs_on_every_python_of_this_machine_from_3_8_on(tmp_path: Path, program: str) -> None:
    code = "import sys\nprint(sys.version_info >= (3, 8), session.vars, await _())"
    code = f"async def _(): return session.cwd\n{code}"
    done = subprocess.run([program, RUNNER, code], env=HERE, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        assert done.stdout == f"True {{}} {tmp_path}\n"
    else:
        assert re.match(r"bide: Python code needs Python 3.8 or newer; \S+ is 3\.[0-7]\.", done.stderr), done.stderr
