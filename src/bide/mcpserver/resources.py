"""What a client can read without a tool: the caller's jobs and sessions, each one, and a job's output.

Nothing here knows the protocol.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum

from msgspec import Struct

from bide.api import Filter, Jobs
from bide.mcpserver import questions
from bide.mcpserver.scope import Own
from bide.mcpserver.text import job_data, job_line
from bide.mcpserver.toolsets import place
from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.output import Stream

SHOWN = 20
"""How many of the newest jobs are listed one by one; some clients never look at templates."""
LISTED = 200
"""How many of the newest jobs the list has."""
PAGE_BYTES = 1024 * 1024
"""Bytes of output in one resource. What it leaves out it names, with the resource that has it."""
_STREAMS = {"stdout": Stream.OUT, "stderr": Stream.ERR}
_WITHIN = bytes(range(0x80, 0xC0))
"""Bytes that go on with a character of UTF-8."""
_JSON, _TEXT = "application/json", "text/plain"

TEMPLATES = {
    "job://{id}": ("A job", "phase, end and usage of a job, by id or name", _JSON),
    "job://{id}/stdout{?offset}": (
        "Output of a job",
        "its stdout; of more than 1 MiB the end, or what begins at ?offset=N",
        _TEXT,
    ),
    "job://{id}/stderr{?offset}": (
        "Errors of a job",
        "its stderr; of more than 1 MiB the end, or what begins at ?offset=N",
        _TEXT,
    ),
    "session://{id}": ("A session", "folder, environment, vars and newest jobs of a session", _JSON),
}


class Kind(StrEnum):
    """What a resource shows."""

    JOBS = "jobs"
    JOB = "job"
    OUTPUT = "output"
    SESSIONS = "sessions"
    SESSION = "session"


class Place(Struct, frozen=True):
    """What a URI names."""

    kind: Kind
    ref: str = ""
    """The job or session."""
    stream: Stream = Stream.OUT
    offset: int | None = None
    """The first byte of the output to show; `None` for the last page."""


_LISTS = {"job://list": Place(Kind.JOBS), "session://list": Place(Kind.SESSIONS)}
_ONE = re.compile(
    r"(?P<scheme>job|session)://(?P<ref>[^/]+)(?:/(?P<stream>stdout|stderr)(?:\?offset=(?P<offset>\d{1,18}))?)?\Z"
)


def place_of(uri: str) -> Place:
    """What a URI names. Raises BadRequest if it can name nothing."""
    if uri in _LISTS:
        return _LISTS[uri]
    found = _ONE.match(uri)
    if found is None or (found["scheme"] == "session" and found["stream"]):
        raise BadRequest(detail=f"no resource {uri!r}; there are {', '.join((*_LISTS, *TEMPLATES))}", field="uri")
    if found["scheme"] == "session":
        return Place(Kind.SESSION, found["ref"])
    if found["stream"]:
        offset = None if found["offset"] is None else int(found["offset"])
        return Place(Kind.OUTPUT, found["ref"], _STREAMS[found["stream"]], offset)
    return Place(Kind.JOB, found["ref"])


class Resource(Struct, frozen=True):
    """Something that can be read."""

    uri: str
    name: str
    description: str
    kind: str


async def listed(jobs: Jobs, own: Own) -> list[Resource]:
    """The lists, the open sessions, and the newest jobs with their outputs."""
    page = await jobs.list(Filter(owner=own.owner), limit=SHOWN)
    found = [
        Resource("job://list", "Your jobs", "the newest of your jobs", _JSON),
        Resource("session://list", "Your sessions", "your open sessions", _JSON),
    ]
    found += [
        Resource(f"session://{one.id}", one.id, place.line(one), _JSON)
        for one in await jobs.sessions.list(owner=own.owner)
    ]
    for job in page.jobs:
        found.append(Resource(f"job://{job.id}", job.name or job.id, _line(job), _JSON))
        found += [
            Resource(f"job://{job.id}/{word}", f"{job.name or job.id} {word}", f"{word} of {job.id}", _TEXT)
            for word in _STREAMS
        ]
    return found


def _line(job: Job) -> str:
    """One sentence on a job. Whoever lists resources may have no tool that answers what it asks."""
    return f"{job.name or job.id} asks a question" if questions.is_put(job) else job_line(job)


async def read(jobs: Jobs, own: Own, uri: str) -> tuple[str, str]:
    """The kind and the text of a resource. Raises BadRequest, JobNotFound or SessionNotFound."""
    named = place_of(uri)
    if named.kind is Kind.OUTPUT:
        return _TEXT, await _output(jobs, await own.job(named.ref), named.stream, named.offset)
    return _JSON, json.dumps(await _data(jobs, own, named))


async def _data(jobs: Jobs, own: Own, named: Place) -> object:
    match named.kind:
        case Kind.JOBS:
            page = await jobs.list(Filter(owner=own.owner), limit=LISTED)
            return [job_data(job) for job in page.jobs]
        case Kind.SESSIONS:
            return [place.data_of(one) for one in await jobs.sessions.list(owner=own.owner)]
        case Kind.SESSION:
            one = await own.session(named.ref)
            return {**place.data_of(one), "newest": [job_data(job) for job in one.jobs]}
        case _:
            return job_to_json(await own.job(named.ref))


async def _output(jobs: Jobs, job: Job, stream: Stream, offset: int | None) -> str:
    """Return a page of output, and before and after it the bytes that it leaves out with the resource that has them."""
    first = offset
    if first is None:
        first = max((await jobs.read(job.id, stream=stream, limit=1)).size - PAGE_BYTES, 0)
    found = await jobs.read(job.id, stream=stream, offset=first, limit=PAGE_BYTES)
    data, start = found.data, found.offset
    # Characters are whole: a page ends before one that the next page has, and begins after one that is cut.
    if start > 0:
        data = data.lstrip(_WITHIN) if data[:4].lstrip(_WITHIN) else data
        start += len(found.data) - len(data)
    if found.next < found.size:
        data = data[: len(data) - _cut(data)]
    end = start + len(data)
    uri = f"job://{job.id}/{'stdout' if stream is Stream.OUT else 'stderr'}"
    text = data.decode("utf-8", "replace")
    if offset is None and start > found.head:
        text = f"[bytes {found.head} to {start} left out: read {uri}?offset={found.head}]\n{text}"
    if found.head > (asked := offset or 0):
        text = f"[bytes {asked} to {found.head} are no longer kept]\n{text}"
    if end < found.size:
        text += f"\n[bytes {end} to {found.size} left out: read {uri}?offset={end}]\n"
    return text


def _cut(data: bytes) -> int:
    """Return how many bytes at the end belong to a character that goes on."""
    for back in range(1, min(len(data), 4)):
        if data[-back] & 0xC0 != 0x80:
            length = 4 if data[-back] >= 0xF0 else 3 if data[-back] >= 0xE0 else 2 if data[-back] >= 0xC0 else 1
            return back if length > back else 0
    return 0
