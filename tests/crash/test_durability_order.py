"""What an answer or a note depends on is on disk before it is given: by the system calls of daemon and keeper.

kill -9 shows nothing of this: the kernel keeps what was written. A power cut keeps only what was synced. docs/keeper.md has
the list that these tests follow.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crash.patience import until
from tests.crash.place import Json, Place
from tests.crash.recording import History, Recording, in_order
from tests.support.gates import Gate

Act = Callable[[], object]


@pytest.fixture(scope="module")
def recording(compiled: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    folder = tmp_path_factory.mktemp("recording")
    place = Place(folder, BIDE_SPARES="0")
    place.start()
    found = Recording(place, compiled("recorder"), folder / "log")
    yield found
    found.stop()
    place.close()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    found = Gate(tmp_path / "gate")
    yield found
    found.close()


@pytest.fixture
def place(recording: Recording) -> Place:
    return recording.place


@pytest.fixture
def history(recording: Recording) -> Callable[[Act], History]:
    """Does something, and returns what happened meanwhile."""

    def during(act: Act) -> History:
        since = recording.now()
        act()
        return History(recording.events(since))

    return during


During = Callable[[Act], History]
WRITE = ("write",)


def test_a_job_is_on_disk_before_its_id_is_given_out(place: Place, history: During) -> None:
    jobs: list[str] = []
    found = history(lambda: jobs.append(place.submit(["sleep", "1000"])))
    (job,) = jobs
    in_order(found.committed(job.encode()), found.said(b'"joined"', job.encode()))
    place.call("POST", f"/v1/jobs/{job}/kill", {"grace_ms": 0, "signal": 9})


def test_an_end_and_its_output_are_on_disk_before_anybody_is_told(place: Place, history: During) -> None:
    jobs: list[str] = []

    def act() -> None:
        jobs.append(place.submit(["sh", "-c", "echo some output; echo an error >&2; exit 3"]))
        assert place.end(jobs[0])["exit_code"] == 3

    found = history(act)
    (job,) = jobs
    end = found.first("pwrite", f"{job}/end.tmp", b'"reason":"exited"')
    synced = found.synced(f"{job}/end.tmp", end)
    in_order(end, synced, found.first("rename", f"{job}/end"), found.said(b"ended " + job.encode()))
    # Size and blocks: fsync, or the folder's own entries could be missing.
    assert synced.call == "fsync"
    for stream in ("out", "err"):
        in_order(found.written(f"{job}/{stream}"), end)
    in_order(found.first("rename", f"{job}/end"), found.said(b'"exit_code":3', job.encode()))


def test_an_event_of_an_end_follows_the_end(place: Place, history: During) -> None:
    """Whoever waits, follows or reads events learns of it after the keeper's rename."""
    jobs: list[str] = []

    def act() -> None:
        jobs.append(place.submit(["sh", "-c", "exit 4"], name="followed"))
        place.end(jobs[0])
        place.call("POST", "/v1/outbox/user/pull", {"timeout_ms": 0})

    found = history(act)
    renamed = found.first("rename", f"{jobs[0]}/end")
    told = [
        event
        for event in found.events
        if event.call == "send" and b'"ended"' in event.data and jobs[0].encode() in event.data
    ]
    assert told
    in_order(renamed, told[0])


def test_a_queued_job_and_its_input_are_on_disk_before_its_row_and_its_answer(
    place: Place, history: During, gate: Gate
) -> None:
    first = place.submit(["sh", "-c", gate.wait])
    jobs: list[str] = []
    found = history(lambda: jobs.append(place.submit(["cat"], turn={"after": [first]}, stdin=True)))
    (job,) = jobs
    row, answer = found.committed(job.encode()), found.said(b'"joined"', job.encode())
    spec = found.written(f"new/{job}/spec", b"\0boot=\0")
    folder = found.synced(f"new/{job}", spec)
    in_order(spec, folder, row, answer)
    in_order(found.synced("/new", folder), row)

    def sends() -> None:
        place.call("POST", f"/v1/jobs/{job}/send", {"text": "and more", "key": "k", "eof": True})

    found = history(sends)
    said = found.said(b'"phase"', job.encode())
    in_order(found.written(f"{job}/in", b"and more"), said)
    in_order(found.written(f"{job}/in.keys", b" k\n"), found.synced(f"/{job}", found.first(WRITE, f"{job}/in")), said)

    def goes() -> None:
        gate.open()
        place.end(job)

    found = history(goes)
    spec = found.written(f"{job}/spec.tmp", b"\0boot=")
    renamed = found.first("rename", f"{job}/spec")
    asked = next(
        event
        for event in found.events
        if event.call == "send" and event.data[:1] in (b"N", b"R") and job.encode() in event.data
    )
    in_order(spec, renamed, found.synced(f"jobs/{job}", renamed), asked)


def test_the_end_of_a_job_that_never_began_is_on_disk_before_it_is_told(
    place: Place, history: During, gate: Gate
) -> None:
    first = place.submit(["sh", "-c", gate.wait])
    job = place.submit(["true"], turn={"after": [first]})
    found = history(lambda: place.call("POST", f"/v1/jobs/{job}/kill", {"by": "me"}))
    in_order(found.written(f"{job}/end.daemon", b'"killed"'), found.said(b'"already_ended"', job.encode()))
    gate.open()
    place.end(first)


def test_a_forgotten_job_is_on_record_before_its_folder_goes_and_before_the_answer(
    place: Place, history: During
) -> None:
    job = place.submit(["true"])
    place.end(job)
    found = history(lambda: place.call("DELETE", f"/v1/jobs/{job}"))
    listed = found.first(WRITE, "", job.encode())
    assert "/home/new/" in listed.path
    synced = found.synced(listed.path, listed)
    in_order(
        synced,
        found.after(synced).committed(job.encode()),
        found.first("unlink", f"{job}/spec"),
        found.said(b"200 OK"),
    )


def test_a_limit_of_a_group_is_on_disk_before_the_answer(place: Place, history: During) -> None:
    found = history(lambda: place.call("POST", "/v1/groups/slowly", {"limit": 3}))
    in_order(found.committed(b"slowly"), found.said(b'"slowly"', b"200 OK"))


def test_a_session_is_on_disk_when_it_began_when_it_changed_and_when_it_ended(place: Place, history: During) -> None:
    found = history(lambda: place.call("POST", "/v1/sessions", {"id": "durable", "cwd": "/", "base_env": {}}))
    renamed, answer = found.first("rename", "durable/session.json"), found.said(b"200 OK", b'"durable"')
    in_order(found.written("durable/session.json.tmp"), renamed, found.synced("sessions/durable", renamed), answer)
    in_order(found.synced("/sessions", renamed), answer)
    in_order(found.committed(b"durable"), answer)
    found = history(lambda: place.call("POST", "/v1/sessions/durable", {"vars": {"kept": "this"}}))
    renamed, answer = found.first("rename", "durable/session.json"), found.said(b"200 OK", b'"durable"')
    in_order(
        found.written("durable/session.json.tmp", b"kept"), renamed, found.synced("sessions/durable", renamed), answer
    )
    found = history(lambda: place.call("DELETE", "/v1/sessions/durable"))
    gone = next(event for event in found.events if event.call == "rename" and event.path.endswith("sessions/durable"))
    answer = found.said(b"200 OK", b'"durable"')
    in_order(found.written("sessions/.ended", b"durable"), gone, found.synced("/sessions", gone), answer)
    in_order(found.committed(b"durable"), answer)


def test_a_question_and_its_answer_are_on_disk_before_they_are_told(place: Place, history: During) -> None:
    job = place.submit(["sleep", "1000"])
    asked: list[Json] = []
    question: Json = {"job": job, "question": {"text": "Which colour?", "type": "text"}}
    found = history(lambda: asked.append(place.call("POST", "/v1/questions", question)))
    in_order(found.committed(b"Which colour?"), found.said(b"200 OK", b"Which colour?"))
    body: Json = {"value": "greenish", "by": "me"}
    found = history(lambda: place.call("POST", f"/v1/questions/{asked[0]['id']}/answer", body))
    in_order(found.committed(b"greenish"), found.said(b"200 OK", b"greenish"))
    place.call("POST", f"/v1/jobs/{job}/kill", {"grace_ms": 0, "signal": 9})


def test_who_is_to_be_told_is_on_disk_before_the_answer(place: Place, history: During) -> None:
    found = history(lambda: place.call("POST", "/v1/outbox/somebody", {"owner": "anybody"}))
    in_order(found.committed(b"somebody"), found.said(b"200 OK"))


def test_what_follows_a_service_is_on_disk_before_it_is_told(place: Place, history: During) -> None:
    service: Json = {"restart": "always", "restarts": 1}
    jobs: list[str] = []

    def act() -> None:
        jobs.append(place.submit(["sh", "-c", "exit 5"], name="web", service=service))
        until(lambda: place.job(jobs[0]).get("gave_up") or place.job(jobs[0]).get("successor"))

    found = history(act)
    in_order(found.written(f"{jobs[0]}/next.tmp"), found.first("rename", f"{jobs[0]}/next"))


def test_the_database_is_synced_in_full_also_after_writes_that_are_not(place: Place, history: During) -> None:
    """Writes that repeat what a folder says switch to NORMAL: the next ones that nothing else has must switch back."""
    for number in range(3):
        place.end(place.submit(["true"]))
        found = history(lambda number=number: place.call("POST", f"/v1/groups/full{number}", {"limit": 1}))
        in_order(found.committed(b"full%d" % number), found.said(b"200 OK", b"full%d" % number))
