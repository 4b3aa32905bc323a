"""A job acts for its own owner alone, whatever it says of itself."""

import json
import os
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.shell import BIDE, Shell
from tests.support import processes

WORDS = shlex.join(BIDE)
REFUSED = 98


def within(shell: Shell, script: str, owner: str = "b") -> tuple[int, str]:
    """The status and the output of a script in a job of this owner."""
    done = shell("run", "--merge", "--owner", owner, "-c", script.replace("BIDE ", f"{WORDS} "))
    return done.returncode, done.stdout.decode()


def victim(shell: Shell) -> str:
    """A job of owner a."""
    return shell.background("echo secret; exec sleep 1000", "--owner", "a", "--name", "theirs")


def runs(shell: Shell, job: str) -> bool:
    return shell.json("show", job)["phase"] == "running"


@pytest.mark.parametrize(
    "command",
    [
        "BIDE kill {job}",
        "BIDE kill theirs",
        "BIDE logs {job}",
        "BIDE logs -f {job}",
        "BIDE show {job}",
        "BIDE wait {job}",
        "BIDE send {job} --signal TERM",
        "BIDE pause {job}",
        "BIDE run --owner a -- true",
        "BIDE run --bg --after {job} -- true",
        "BIDE session start --owner a",
        "BIDE session start --owner a s",
        "BIDE daemon stop --kill",
        "BIDE group pause --all",
        "BIDE forget --older-than 0s --owner a",
        "BIDE events --owner a",
        "BIDE attend a -- true",
    ],
)
@pytest.mark.parametrize("said", ["", "BIDE_OWNER=a "], ids=["itself", "as-the-other"])
def test_what_is_anothers_is_refused_within_a_job(bide: Shell, command: str, said: str) -> None:
    job = victim(bide)
    status, output = within(bide, said + command.format(job=job))
    assert status == REFUSED, output
    assert "of owner 'b', and a job acts for its own owner alone" in output
    assert "secret" not in output
    assert runs(bide, job)
    assert bide("kill", job).returncode == 0


@pytest.mark.parametrize(
    "disguise",
    [
        "setsid --wait env -i BIDE_OWNER=a HOME=$HOME PATH=$PATH BIDE --home $BIDE_HOME kill {job}",
        "(setsid env -i HOME=$HOME PATH=$PATH BIDE --home $BIDE_HOME kill {job}; echo $? > done) & exec sleep 1000",
        "BIDE_JOB={job} BIDE kill {job}",
        "env -u BIDE_JOB -u BIDE_OWNER BIDE kill {job}",
    ],
    ids=["another-session", "detached", "another-mark", "no-mark"],
)
def test_no_disguise_helps(bide: Shell, disguise: str, tmp_path: Path) -> None:
    job = victim(bide)
    script = f"cd {tmp_path}; {disguise.format(job=job)}".replace("BIDE --", f"{WORDS} --").replace(
        "BIDE kill", f"{WORDS} kill"
    )
    if "done" in disguise:
        ours = bide.background(script, "--owner", "b")
        while not (tmp_path / "done").exists() or not (tmp_path / "done").read_text():
            assert runs(bide, job)
        assert (tmp_path / "done").read_text() == f"{REFUSED}\n"
        assert bide("kill", ours).returncode == 0
    else:
        status, output = within(bide, script)
        assert (status, "of owner 'b'" in output) == (REFUSED, True), output
    assert runs(bide, job)
    assert bide("kill", job).returncode == 0


def test_a_job_whose_keeper_died_is_still_a_job(bide: Shell, tmp_path: Path) -> None:
    job = victim(bide)
    go, done = tmp_path / "go", tmp_path / "done"
    ours = bide.background(
        f"until [ -e {go} ]; do sleep 0.02; done; BIDE_OWNER=a {WORDS} kill {job}; echo $? > {done}", "--owner", "b"
    )
    for keeper in processes.keepers(bide.home):
        if os.path.basename(processes.cwd(keeper)) == ours:
            os.kill(keeper, signal.SIGKILL)
    go.touch()
    assert bide("wait", ours).returncode == 0
    assert done.read_text() == f"{REFUSED}\n"
    assert runs(bide, job)
    assert bide("kill", job).returncode == 0


def test_within_a_job_its_owner_does_everything_and_is_named(bide: Shell) -> None:
    other = bide.background("echo mine; exec sleep 1000", "--owner", "b", "--name", "mine")
    script = (
        "set -e; BIDE logs mine; BIDE run -- sh -c 'echo $BIDE_OWNER'; BIDE kill mine; BIDE session start s9;"
        " BIDE session end s9; BIDE ls --json; echo; BIDE run --bg -- true; BIDE group; BIDE daemon status; BIDE events"
    )
    status, output = within(bide, script)
    assert status == 0, output
    assert output.splitlines()[:2] == ["mine", "b"]
    listed: list[Any] = next(json.loads(line)["jobs"] for line in output.splitlines() if line.startswith('{"jobs"'))
    assert {one["owner"] for one in listed} == {"b"}
    end = bide.json("show", other)
    assert end["reason"] == "killed"
    assert end["by"].startswith("job j")
    assert end["by"].endswith(" of owner b")
    assert bide.json("show", end["by"].split()[1])["owner"] == "b"


def test_a_person_outside_of_jobs_may_do_everything(bide: Shell) -> None:
    job = victim(bide)
    assert bide("logs", job, BIDE_OWNER="b").stdout == b"secret\n"
    assert bide("kill", job, BIDE_OWNER="b").returncode == 0
    assert bide.json("show", job)["by"] == "b"


def test_an_mcp_client_within_a_job_has_its_owner(bide: Shell, tmp_path: Path) -> None:
    job = victim(bide)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("jobs", {"scope": "all"}),
        ("kill", {"jobs": [job]}),
        ("run", {"command": "echo $BIDE_OWNER"}),
    ]

    def answers(options: str) -> dict[int, Any]:
        return mcp(bide, f"--scope all {options}", tmp_path / "frames", calls)

    own = answers("")
    assert job not in json.dumps(own[2])
    assert own[3]["isError"]
    assert "\nb\n" in own[4]["content"][0]["text"]
    other = answers("--owner a")
    assert all("a job acts for its own owner alone" in json.dumps(other[id_]) for id_ in (3, 4))
    assert runs(bide, job)
    assert bide("kill", job).returncode == 0


def test_for_mcp_tools_within_a_job_what_is_anothers_is_not_found(bide: Shell, tmp_path: Path) -> None:
    job, session = victim(bide), bide.json("session", "start", "--owner", "a")["session"]["id"]
    ours = bide.background("sleep 1000", "--owner", "b", "--name", "mine")
    done = bide.background("true", "--owner", "b")
    bide("wait", done)
    found = mcp(
        bide,
        "--tools job,process,sessions,llm",
        tmp_path / "frames",
        [
            ("job", {"cancel": [job, "mine"]}),
            ("job", {"poll": [job, done]}),
            *((f"process.{name}", {"process_id": job}) for name in ("kill", "logs", "monitor")),
            ("endSession", {"sessionId": session}),
            ("llm_job_cancel", {"jobId": job}),
            ("llm_request_result", {"correlationId": job}),
        ],
    )
    outcomes = found[2]["structuredContent"]["cancelled"]
    assert [one["status"] for one in outcomes] == ["not_found", "cancelled"]
    assert [one["id"] for one in found[3]["structuredContent"]["jobs"]] == [done]
    assert [found[id_]["structuredContent"]["error"]["type"] for id_ in (4, 5, 6)] == ["ProcessNotFound"] * 3
    assert f"Session not found: {session}" in json.dumps(found[7])
    assert "Job not found" in json.dumps(found[8])
    assert f"no request of yours is known as '{job}'" in json.dumps(found[9])
    assert bide("wait", ours).returncode == 128 + signal.SIGTERM
    assert runs(bide, job)
    bide("kill", job)
    bide("session", "end", session)


def mcp(shell: Shell, options: str, frames: Path, calls: list[tuple[str, dict[str, Any]]]) -> dict[int, Any]:
    """What these calls of tools are answered within a job of owner b; the first has the id 2."""
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    said: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        *(
            {"id": 2 + place, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            for place, (name, arguments) in enumerate(calls)
        ),
    ]
    frames.write_text("".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in said))
    status, output = within(shell, f"env -u BIDE_OWNER BIDE mcp {options} < {frames}")
    assert status == 0, output
    found = [json.loads(line) for line in output.splitlines()]
    return {one["id"]: one["result"] for one in found if "id" in one}


def test_a_job_reports_on_its_owners_jobs_alone_and_in_its_owners_name(bide: Shell) -> None:
    post = (
        "import http.client, json, os, socket, sys\n"
        "sock = socket.socket(socket.AF_UNIX); sock.connect(os.environ['BIDE_HOME'] + '/bide.sock')\n"
        "link = http.client.HTTPConnection('bide'); link.sock = sock\n"
        "body = {'job': sys.argv[1], 'act': 'was sent SIGTERM', 'by': 'a', 'key': 'k'}\n"
        "link.request('POST', '/v1/outbox', json.dumps(body))\n"
        "print(link.getresponse().status)\n"
    )
    theirs = victim(bide)
    for job, status in ((theirs, "403"), ("$BIDE_JOB", "200")):
        assert within(bide, f"python3 -c {shlex.quote(post)} {job}")[1].strip() == status
    (told,) = [one for one in bide.json("inbox")["notices"] if one["what"] == "acted"]
    assert told["says"] == "was sent SIGTERM by b"
    assert bide("kill", theirs).returncode == 0
