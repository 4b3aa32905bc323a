"""State flows from one run in a session to the next, and never shows (checklist 79, 80)."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.gates import Gate
from tests.support.patience import end_of, ended, eventually

import bide
from bide.api import Jobs, Ran
from bide.model.errors import FolderNotFound


def out(ran: Ran) -> str:
    assert ran.out is not None
    assert ran.err is not None
    assert ran.err.data == b""
    return ran.out.data.decode()


async def run(jobs: Jobs, code: str, status: int = 0) -> str:
    ran = await jobs.run(code, session="s")
    assert ended(ran.job).end.exit_code == status, ran
    return out(ran)


@pytest.fixture
async def place(jobs: Jobs, tmp_path: Path) -> Jobs:
    await jobs.sessions.start("s", cwd=str(tmp_path))
    return jobs


@pytest.mark.parametrize(
    ("first", "then", "says"),
    [
        ("cd / && cd usr", "pwd; cd - ", "/usr\n/\n"),
        ("export A='x  y' B=$'two\\nlines\\t' C=", 'echo "$A|$B|${C-none}|"', "x  y|two\nlines\t||\n"),
        ("unset HOME CI", 'echo "${HOME-none} ${CI-none}"', "none none\n"),
        ("PAGER=less", "echo $PAGER", "less\n"),
        ("f() { echo \"f $1\"; }; g() { cat <<E\nin $1\nE\n}", "f 1; g 2", "f 1\nin 2\n"),
        ("f() { echo exported; }; export -f f", "bash -c f", "exported\n"),
        ("alias hi='echo hello'\nhi", "hi you", "hello you\n"),
        ("set -o pipefail; set -u; shopt -s nullglob", "false | true; echo $?; set -o | grep -c '^nounset.*on'; echo no*file", "1\n1\n\n"),
        ("set +o braceexpand; shopt -u sourcepath", "echo {a,b}; shopt -q sourcepath || echo off", "{a,b}\noff\n"),
        ("shopt -s extglob", "case ab in +([a-b])) echo yes;; esac", "yes\n"),
        ("x=5; declare -A m=([k]='v w'); a=(1 '2 3')", 'echo $x ${m[k]} "${a[1]}"; env | grep -c ^x=', "5 v w 2 3\n0\n"),
        ("f() { :; }; alias z=true; x=1", "unset -f f; unalias z; unset x", ""),
        ("set -a; B=1", "C=2; env | grep -c '^[BC]='; echo ${IFS@Q}", "2\n$' \\t\\n'\n"),
        ("export N=1; n=2 o=3 line=4 names=5", "echo $N $n $o $line $names", "1 2 3 4 5\n"),
    ],
)  # fmt: skip
async def test_what_code_changes_holds_for_the_next_run(place: Jobs, first: str, then: str, says: str) -> None:
    shown = (await place.run(first, session="s")).out
    assert shown is not None
    status = 1 if says.endswith("\n0\n") else 0
    assert await run(place, then, status) == says


async def test_functions_aliases_and_variables_can_be_taken_back(place: Jobs) -> None:
    await run(place, "f() { :; }; alias z=true; x=1; set -e; export E=1")
    await run(place, "unset -f f; unalias z; unset x E; set +e")
    assert (
        await run(place, "type f z 2>&1 | grep -c 'not found'; echo ${x-none} ${E-none} ${-//[^e]/}")
        == "2\nnone none\n"
    )


async def test_per_call_env_is_gone_afterwards_unless_the_code_sets_it(place: Jobs) -> None:
    """Checklist 79."""
    ran = await place.run('echo "$A $B"; B=$B; export C=$A; B=changed', session="s", env={"A": "1", "B": "2"})
    assert out(ran) == "1 2\n"
    assert await run(place, 'echo "${A-none} $B $C"') == "none changed 1\n"
    ran = await place.run("echo $C; unset C", session="s", env={"C": "over"})
    assert out(ran) == "over\n"
    assert await run(place, "echo ${C-none}") == "none\n"


async def test_a_folder_for_one_call_is_gone_afterwards(place: Jobs, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert out(await place.run("pwd", session="s", cwd="sub")) == f"{tmp_path}/sub\n"
    assert await run(place, "pwd") == f"{tmp_path}\n"


async def test_a_link_in_the_folder_is_kept_as_it_was_entered(place: Jobs, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    await run(place, "cd link")
    assert await run(place, "pwd; pwd -P") == f"{tmp_path}/link\n{tmp_path}/real\n"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("export A=1; exit 7", 7),
        ("export A=1; set -e; false; export A=2", 1),
        ("export A=1; trap 'true' EXIT; (exit 4)", 4),
        ("export A=1; exec 3>/dev/null; no_such_function_at_all 2>/dev/null", 127),
        ("set -eu; export A=1\nset +e; (exit 9)", 9),
    ],
)
async def test_state_holds_however_the_code_ends(place: Jobs, code: str, status: int) -> None:
    await run(place, code, status)
    assert "A=1" in await run(place, "set +e; echo A=$A")


@pytest.mark.parametrize("code", ["echo a\nexport A=1\nif true", "export A=1; if", "echo 'open\nexport A=1"])
async def test_code_with_a_syntax_error_runs_not_at_all(place: Jobs, code: str) -> None:
    ran = await place.run(code, session="s")
    assert ended(ran.job).end.exit_code == 2
    assert ran.out is not None
    assert ran.err is not None
    assert ran.out.data == b""
    assert b"/bin/bash: " in ran.err.data
    assert b"syntax error" in ran.err.data or b"unexpected EOF" in ran.err.data
    assert await run(place, "echo ${A-none}") == "none\n"


async def test_code_sees_nothing_of_what_keeps_its_state(place: Jobs) -> None:
    assert await run(place, 'echo "$# $0"; exit') == "0 /bin/bash\n"
    traced = await place.run("trap 'echo at $?' EXIT; set -x; true; trap 'echo oops' ERR DEBUG; set +x", session="s")
    assert traced.err is not None
    assert b"__bide" not in traced.err.data
    assert b"leave" not in traced.err.data
    assert traced.out is not None
    assert traced.out.data == b"oops\nat 0\n"
    lines = await place.run("echo 1\necho 2\nno-such-command", session="s")
    assert lines.err is not None
    assert lines.err.data == b"/bin/bash: line 3: no-such-command: command not found\n"


async def test_a_program_that_takes_the_shells_place_leaves_nothing(place: Jobs) -> None:
    assert await run(place, "export A=1; exec echo replaced") == "replaced\n"
    assert await run(place, "echo ${A-none}") == "none\n"


async def test_an_exit_trap_of_the_codes_own_runs_and_exit_then_leaves_nothing(place: Jobs) -> None:
    assert await run(place, "trap 'echo own $?' EXIT; export A=1; exit 3", 3) == "own 3\n"
    assert await run(place, "echo ${A-none}") == "none\n"


async def test_a_path_that_leads_nowhere_breaks_only_what_needs_it(place: Jobs) -> None:
    await run(place, "export PATH=/nowhere A=1; cd /")
    assert await run(place, "echo $PATH $A $PWD") == "/nowhere 1 /\n"
    ran = await place.run(["ls"], session="s")
    assert ended(ran.job).end.reason is bide.Reason.SPAWN_FAILED
    await run(place, "unset PATH")
    assert await run(place, "type -t ls") == "file\n"


async def test_a_deleted_folder_is_named_and_another_can_be_given(place: Jobs, tmp_path: Path) -> None:
    await run(place, "mkdir gone && cd gone && rmdir ../gone")
    with pytest.raises(FolderNotFound, match=f"no folder '{tmp_path}/gone' to run in"):
        await place.run("true", session="s")
    await place.sessions.update("s", cwd=str(tmp_path))
    assert await run(place, "pwd") == f"{tmp_path}\n"
    assert (await place.sessions.get("s")).seq == 2


async def test_what_no_program_could_be_started_with_is_not_kept_and_said(place: Jobs) -> None:
    await run(place, "export BIG=$(printf %0200000d 1) A=1")
    assert await run(place, "echo $A ${BIG-none}") == "1 none\n"
    await run(place, "for n in {1..30}; do export V$n=$(printf %040000d 1); done")
    found = await place.sessions.get("s")
    assert found.note.startswith("too large to start a program with, and not kept: V1")
    kept = int(await run(place, "env | grep -c ^V.*=0"))
    assert 20 < kept < 30
    assert (await place.sessions.get("s")).note == ""


async def test_many_variables_are_kept(place: Jobs) -> None:
    await run(place, "for n in {1..2000}; do export V$n=$n; done")
    assert await run(place, "env | grep -c ^V[0-9]") == "2000\n"


@pytest.mark.parametrize("how", ["killed", "timed out", "signaled"])
async def test_a_run_that_is_ended_leaves_the_state_untouched(place: Jobs, gate: Gate, how: str) -> None:
    """Checklist 80."""
    before = await place.sessions.get("s")
    code = f"cd /; export A=1; {gate.wait}"
    if how == "timed out":
        limits = bide.Limits(timeout=timedelta(milliseconds=300))
        ran = await place.run(f"echo partial; {code}", session="s", limits=limits)
        assert ended(ran.job).end.reason is bide.Reason.TIMED_OUT
        assert out(ran) == "partial\n"
    else:
        deferred = await place.run(code, session="s", deadline=timedelta(0))
        assert deferred.deferred
        job = deferred.job.id
        await eventually(lambda: is_running(place, job))
        if how == "killed":
            await place.kill(job)
        else:
            await place.send(job, signal=15)
        assert (await end_of(place, job)).end.exit_code is None
    after = await place.sessions.get("s")
    assert (after.cwd, after.env, after.unset) == (before.cwd, before.env, before.unset)


async def is_running(jobs: Jobs, job: str) -> bool:
    return (await jobs.get(job)).phase_name == "running"


async def test_a_run_in_the_background_begins_with_the_state_and_leaves_none(place: Jobs) -> None:
    await run(place, "cd /usr; export A=1; f() { echo f; }")
    job = (await place.run("pwd; echo $A; f; cd /; export A=2; f() { echo g; }", session="s", background=True)).job.id
    await end_of(place, job)
    assert (await place.read(job)).data == b"/usr\n1\nf\n"
    assert await run(place, "pwd; echo $A; f") == "/usr\n1\nf\n"


async def test_two_runs_at_once_keep_each_others_changes_and_the_later_end_wins(place: Jobs, gate: Gate) -> None:
    await run(place, "export SAME=0 KEPT=0; f() { echo f0; }")
    slow = await place.run(
        f"export SLOW=1 SAME=slow; cd /usr; {gate.wait}; h() {{ echo h; }}", session="s", deadline=timedelta(0)
    )
    await eventually(lambda: is_running(place, slow.job.id))
    await run(place, "export FAST=1 SAME=fast KEPT=fast; f() { echo f1; }; cd /")
    assert await run(place, "echo $SAME $PWD") == "fast /\n"
    gate.open()
    await end_of(place, slow.job.id)
    assert await run(place, "echo $SLOW $FAST $SAME $KEPT $PWD; f; h") == "1 1 slow fast /usr\nf1\nh\n"


async def test_a_deferred_run_leaves_its_state_when_it_ends(place: Jobs, gate: Gate) -> None:
    ran = await place.run(f"{gate.wait}; export A=late", session="s", deadline=timedelta(0))
    assert ran.deferred
    gate.open()
    await end_of(place, ran.job.id)
    assert await run(place, "echo $A") == "late\n"


async def test_nothing_is_left_in_the_folder_but_the_session(place: Jobs, home: Path) -> None:
    await run(place, "export A=1; f() { :; }")
    await run(place, "true")
    await place.run(["true"], session="s")
    assert [path.name for path in (home / "sessions" / "s").iterdir()] == ["session.json"]
    assert (home / "sessions" / "s").stat().st_mode & 0o777 == 0o700


async def test_what_links_a_job_to_bide_is_not_in_the_session(place: Jobs, home: Path) -> None:
    said = await run(place, "echo $BIDE_JOB $BIDE_SESSION $BIDE_SESSION_FOLDER; export A=1")
    assert said == f"job-s-1 s {home}/sessions/s\n"
    assert (await place.sessions.get("s")).env == {"A": "1"}
