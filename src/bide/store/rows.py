"""Jobs and events to rows and back. Times are kept to the millisecond."""

from datetime import UTC, datetime, timedelta
from typing import Any

from bide.model import jsontext
from bide.model.event import Event
from bide.model.job import Job, JobId
from bide.model.messages import end_from_json, end_to_json, spec_from_json, spec_to_json
from bide.model.phase import Begun, Ended, Phase, Queued, Running

Row = tuple[Any, ...]
Values = dict[str, str | int | float | None]
REQUEST_COLUMNS = (
    "seq, correlation_id, job, cli, owner, joined, model, conversation, prefix_hash, prefix_tokens, cache_blocks, asked_at, "
    "status, ended_at, exit_code, fault, input_tokens, output_tokens, cache_read, cache_write, cost_usd, turns, attempts"
)
"""The columns of a request to an LLM: here, so that to copy them needs nothing else of what knows of LLMs."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_ms(at: datetime) -> int:
    """An instant as it is stored."""
    return (at - _EPOCH) // _MILLISECOND


def from_ms(number: int) -> datetime:
    """A stored instant."""
    return _EPOCH + timedelta(milliseconds=number)


def job_values(job: Job) -> Values:
    """A job as the parameters of an insert."""
    return {
        "id": job.id,
        "name": job.name,
        "kind": job.spec.kind,
        "owner": job.owner,
        "session": job.session,
        "label": job.label,
        "key": job.key,
        "parent": job.parent,
        "fingerprint": job.fingerprint,
        "phase": job.phase_name,
        "created_at": to_ms(job.created_at),
        "spec": jsontext.encode(spec_to_json(job.spec)).decode(),
        **phase_values(job.phase, seen=job.seen),
        "keep": None if job.spec.ask is None else job.spec.ask.own_time // _MILLISECOND,
        "output_dropped_at": None if job.output_dropped_at is None else to_ms(job.output_dropped_at),
    }


def phase_values(phase: Phase, *, seen: bool = False) -> Values:
    """The facts of a phase, with `None` for those it does not have; of an ended job also what its output holds."""
    values: Values = {"reason": None, "pid": None, "started_at": None, "ended_at": None, "end": None}
    values |= {"seen": int(seen), "bytes": 0}
    if isinstance(phase, Begun):
        values["pid"] = phase.pid
        values["started_at"] = None if phase.started_at is None else to_ms(phase.started_at)
    if isinstance(phase, Ended):
        values["reason"] = str(phase.end.reason)
        values["ended_at"] = to_ms(phase.ended_at)
        values["end"] = jsontext.encode(end_to_json(phase.end)).decode()
        values["bytes"] = phase.end.kept_bytes
    return values


def event_values(job: str, values: Values) -> Values:
    """The event of a job's move to the phase that these parameters describe."""
    if values["ended_at"] is not None:
        return {"job": job, "what": "ended", "at": values["ended_at"], "detail": values["reason"]}
    if values["started_at"] is not None:
        return {"job": job, "what": "running", "at": values["started_at"], "detail": str(values["pid"])}
    return {"job": job, "what": "queued", "at": values["created_at"], "detail": ""}


def to_job(row: Row) -> Job:
    """The job of a row with the `columns` of queries.sql."""
    _, created_at, id_, name, owner, session, label, key, parent, fingerprint, *rest = row
    pid, started_at, ended_at, spec, end, seen, dropped_at = rest
    job = Job(
        id=JobId(id_),
        spec=spec_from_json(jsontext.decode(spec)),
        created_at=from_ms(created_at),
        name=name,
        owner=owner,
        label=label,
        session=session,
        key=key,
        parent=parent,
        fingerprint=fingerprint,
        phase=_to_phase(pid, started_at, ended_at, end),
        seen=bool(seen),
    )
    return job if dropped_at is None else job.without_output(from_ms(dropped_at))


def _to_phase(pid: int | None, started_at: int | None, ended_at: int | None, end: str | None) -> Phase:
    started = None if started_at is None else from_ms(started_at)
    if ended_at is not None and end is not None:
        return Ended(ended_at=from_ms(ended_at), end=end_from_json(jsontext.decode(end)), started_at=started, pid=pid)
    if started is not None and pid is not None:
        return Running(started_at=started, pid=pid)
    return Queued()


def to_event(row: Row) -> Event:
    """The event of a row."""
    seq, at, job, what, detail = row
    return Event(seq, from_ms(at), JobId(job), what, detail)
