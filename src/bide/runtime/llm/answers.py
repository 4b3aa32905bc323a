"""From a job to its answer: its output, read by what knows the CLI, and what its end means."""

from __future__ import annotations

import glob
from contextlib import suppress

import anyio.to_thread
from msgspec.structs import replace

from bide.keeper import services
from bide.kinds.llm import known
from bide.kinds.llm.base import Cli, Reader
from bide.kinds.llm.faults import ADVICE, meant
from bide.kinds.llm.lines import as_object
from bide.model.askfacts import AskFacts
from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.llm.answer import WAITED, Answer, Fault, Reading, Status, code_of, notes_of, status_of
from bide.model.output import Stream
from bide.model.phase import Ended, Reason
from bide.model.times import ms
from bide.runtime.core import Core
from bide.runtime.reading import slice_at, tail

_PIECE = 1024 * 1024
_WORDS = 8 * 1024
_JOURNAL_MAX = 4 * 1024 * 1024
_FAULTS = {
    Reason.TIMED_OUT: Fault.TIMEOUT,
    Reason.IDLE: Fault.IDLE,
    Reason.OVERFLOW: Fault.OVERFLOW,
    Reason.SPAWN_FAILED: Fault.SPAWN,
}


def facts_of(job: Job) -> AskFacts:
    """What was asked. Raises BadRequest for a job that is no request."""
    if job.spec.ask is None:
        raise BadRequest(detail=f"job {job.id} is no request to an LLM; read it with 'logs', or list jobs by kind")
    return job.spec.ask


async def answer(core: Core, job: Job) -> Answer:
    """The answer as far as there is one: whole when the job is over, partial while it runs."""
    facts = facts_of(job)
    cli = known.named(facts.cli)
    reading = await anyio.to_thread.run_sync(_read, core, job, cli, facts.format)
    status = status_of(job, reading)
    found = Answer(
        job=job,
        cli=facts.cli,
        correlation_id=facts.correlation_id,
        status=status,
        reading=reading,
        exit_code=0 if status is Status.COMPLETED else code_of(job),
        notes=notes_of(job, reading),
    )
    return found if status in (Status.RUNNING, Status.COMPLETED) else _failed(core, found, cli)


def _read(core: Core, job: Job, cli: Cli, kind: str) -> Reading:
    reader = cli.reader(kind)
    feed(core, job, reader)
    return _with_journal(core, job, cli, reader.finish())


def feed(core: Core, job: Job, reader: Reader) -> int:
    """Read all that a job has written so far; how much that is."""
    at = 0
    while True:
        piece = slice_at(core, job, Stream.OUT, at, _PIECE)
        if not piece.data:
            return at
        reader.feed(piece.data)
        at = piece.next


def _with_journal(core: Core, job: Job, cli: Cli, reading: Reading) -> Reading:
    """With what the CLI has logged of it, where its output does not say what it used."""
    if cli.journal is None or cli.used is None or reading.conversation is None or not isinstance(job.phase, Ended):
        return reading
    given = services.read_given(core.folder(job))
    for path in glob.glob(cli.journal(reading.conversation, {} if given is None else given.env)):
        with suppress(OSError), open(path, "rb") as file:
            found = as_object(file.read(_JOURNAL_MAX))
            reading = reading if found is None else cli.used(reading, found)
    return reading


def _failed(core: Core, found: Answer, cli: Cli) -> Answer:
    """What went wrong, by the end itself where that says it, else by the CLI's own words."""
    phase = found.job.phase
    if not isinstance(phase, Ended):
        return found
    end, limits = phase.end, found.job.spec.limits
    said = {
        Reason.TIMED_OUT: f"The CLI was ended after {ms(limits.timeout)}ms, which is its timeout.",
        Reason.IDLE: f"Process killed after {ms(limits.idle)}ms of inactivity; give a longer idleTimeoutMs if that is too short.",
        Reason.OVERFLOW: f"Output exceeded maximum size ({limits.output_bytes // (1024 * 1024)}MB); ask for less.",
        Reason.SPAWN_FAILED: f"{cli.program} could not be started ({end.error or 'not found'}); {cli.install}.",
        Reason.KILLED: f"Canceled by {end.by or 'a caller'}.",
        Reason.LOST: f"Nobody knows how it ended: {end.error}",
    }.get(end.reason)
    if end.by == WAITED and end.reason is Reason.KILLED:
        waited = "It waited for its turn for as long as it may (llm.queue_timeout), and nothing was asked; ask again."
        return replace(found, fault=Fault.QUEUED, error=waited)
    if said is not None:
        return replace(found, fault=_FAULTS.get(end.reason, Fault.NONE), error=said)
    words = found.reading.error or _last_words(core, found.job)
    fault = meant(words or found.reading.text) if words or found.reading.text else Fault.CLI
    told = words.strip() or f"{cli.program} ended with {end.status} and said nothing of why."
    advice = f" ({ADVICE[fault]})" if fault in ADVICE else ""
    return replace(found, fault=fault, error=f"{told}{advice}")


def _last_words(core: Core, job: Job) -> str:
    """The end of stderr, from the last line that says something."""
    data = tail(core, job, Stream.ERR, _WORDS).data.decode("utf-8", "replace")
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "fail" in line.lower()]
    return (errors or lines or [""])[-1]
