"""What a client can read without a tool: the caller's jobs, each job, and its output. Nothing here knows the protocol."""

from __future__ import annotations

import json
from dataclasses import dataclass

from bide.api import Filter, Jobs
from bide.mcpserver.scope import Own
from bide.mcpserver.text import job_data, job_line
from bide.model.errors import JobNotFound
from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.output import Stream

LIST = "job://list"
SHOWN = 20
"""How many of the newest jobs are listed one by one; some clients never look at templates."""
TAIL_BYTES = 256 * 1024
_STREAMS = {"stdout": Stream.OUT, "stderr": Stream.ERR}

TEMPLATES = {
    "job://{id}": ("A job", "phase, end and usage of a job, by id or name", "application/json"),
    "job://{id}/stdout": ("Output of a job", "the last 256 KiB of its stdout", "text/plain"),
    "job://{id}/stderr": ("Errors of a job", "the last 256 KiB of its stderr", "text/plain"),
}


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that can be read."""

    uri: str
    name: str
    description: str
    kind: str


async def listed(jobs: Jobs, own: Own) -> list[Resource]:
    """The list, and the newest jobs with their outputs."""
    page = await jobs.list(Filter(owner=own.owner), limit=SHOWN)
    found = [Resource(LIST, "Your jobs", "the newest of your jobs", "application/json")]
    for job in page.jobs:
        found.append(Resource(f"job://{job.id}", job.name or job.id, job_line(job), "application/json"))
        found += [
            Resource(f"job://{job.id}/{word}", f"{job.name or job.id} {word}", f"{word} of {job.id}", "text/plain")
            for word in _STREAMS
        ]
    return found


async def read(jobs: Jobs, own: Own, uri: str) -> tuple[str, str]:
    """The kind and the text of a resource. Raises JobNotFound."""
    if uri == LIST:
        page = await jobs.list(Filter(owner=own.owner), limit=200)
        return "application/json", json.dumps([job_data(job) for job in page.jobs])
    scheme, _, rest = uri.partition("://")
    ref, _, what = rest.partition("/")
    if scheme != "job" or not ref or what not in ("", *_STREAMS):
        raise JobNotFound(job=uri)
    job = await own.job(ref)
    if not what:
        return "application/json", json.dumps(job_to_json(job))
    return "text/plain", await _tail(jobs, job, _STREAMS[what])


async def _tail(jobs: Jobs, job: Job, stream: Stream) -> str:
    size = (await jobs.read(job.id, stream=stream, limit=1)).size
    found = await jobs.read(job.id, stream=stream, offset=max(size - TAIL_BYTES, 0), limit=TAIL_BYTES)
    return found.data.decode("utf-8", "replace")
