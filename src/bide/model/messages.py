"""The wire form of jobs: model values to JSON and back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from bide.model.askfacts import facts_from_json, facts_to_json
from bide.model.job import Facts, Job, JobId, Spec, Taken
from bide.model.lifetime import Lifetime
from bide.model.phase import Begun, Descendant, End, Ended, Kept, Phase, Queued, Reason, Running, Usage
from bide.model.plans import (
    limits_of,
    limits_to_json,
    notify_from_json,
    notify_to_json,
    ports_from_json,
    ports_to_json,
    service_from_json,
    service_to_json,
    turn_from_json,
    turn_to_json,
)
from bide.model.questionforms import posed_from_json, posed_to_json
from bide.model.times import from_ms, from_stamp, ms, stamp
from bide.model.turn import NOW, Place

Json = dict[str, Any]


def kept_to_json(out: Kept, err: Kept) -> Json:
    """How much each stream holds."""
    return {"out": {"head": out.head, "size": out.size}, "err": {"head": err.head, "size": err.size}}


def kept_from_json(body: Json | None, stream: str) -> Kept:
    """One stream of `output`."""
    return Kept(**(body or {}).get(stream, {}))


def usage_to_json(usage: Usage) -> Json:
    """What a tree used."""
    return {
        "cpu_ms": usage.cpu_ms,
        "memory_peak_bytes": usage.memory_peak_bytes,
        "memory_source": usage.memory_source,
        "read_bytes": usage.read_bytes,
        "written_bytes": usage.written_bytes,
        "sampled": usage.sampled,
        "processes": usage.processes,
    }


def descendants_to_json(descendants: tuple[Descendant, ...]) -> list[Json]:
    """Processes that are left."""
    return [{"pid": d.pid, "start_ticks": d.start_ticks, "command": d.command} for d in descendants]


def descendants_from_json(rows: object) -> tuple[Descendant, ...]:
    """Processes that are left."""
    return tuple(Descendant(**row) for row in cast("list[Json]", rows or []))


def spec_to_json(spec: Spec) -> Json:
    """What runs, without its environment (that stays in the job's folder)."""
    return {
        "kind": spec.kind,
        "command": spec.command,
        "argv": list(spec.argv),
        "cwd": spec.cwd,
        "stdin": spec.stdin,
        "pty": spec.pty,
        "merge": spec.merge,
        "fence": spec.fence,
        "limits": limits_to_json(spec.limits),
        "enforced": dict(spec.enforced),
        "background": spec.background,
        "turn": None if spec.turn is NOW else turn_to_json(spec.turn),
        "lifetime": str(spec.lifetime),
        "ttl_ms": ms(spec.ttl),
        "service": None if spec.service is None else service_to_json(spec.service),
        "notify": notify_to_json(spec.notify),
        "ask": facts_to_json(spec.ask),
    }


def spec_from_json(body: Json) -> Spec:
    """What runs."""
    return Spec(
        argv=tuple(body["argv"]),
        command=body["command"],
        cwd=body["cwd"],
        kind=body["kind"],
        stdin=body["stdin"],
        pty=body["pty"],
        merge=body["merge"],
        fence=body["fence"],
        limits=limits_of(body["limits"]),
        enforced=tuple(sorted(body["enforced"].items())),
        background=body.get("background", False),
        turn=turn_from_json(body["turn"]) if body.get("turn") else NOW,
        lifetime=Lifetime(body.get("lifetime", Lifetime.FREE)),
        ttl=from_ms(body.get("ttl_ms")),
        service=service_from_json(body["service"]) if body.get("service") else None,
        notify=notify_from_json(body.get("notify") or {}),
        ask=facts_from_json(body.get("ask")),
    )


def end_to_json(end: End) -> Json:
    """How it ended, with every fact."""
    return {
        "reason": str(end.reason),
        "exit_code": end.exit_code,
        "signal": end.signal,
        "by": end.by,
        "error": end.error,
        "errno": end.errno,
        "duration_ms": ms(end.duration),
        "usage": usage_to_json(end.usage),
        "output": kept_to_json(end.out, end.err),
        "missing_bytes": end.missing_bytes,
        "taken_over": end.taken_over,
        "escaped": list(end.escaped),
        "survivors": descendants_to_json(end.survivors),
    }


def end_from_json(body: Json) -> End:
    """How it ended."""
    return End(
        reason=Reason(body["reason"]),
        exit_code=body["exit_code"],
        signal=body["signal"],
        by=body["by"],
        error=body["error"],
        errno=body["errno"],
        duration=from_ms(body["duration_ms"]) or timedelta(0),
        usage=Usage(**body["usage"]),
        out=kept_from_json(body["output"], "out"),
        err=kept_from_json(body["output"], "err"),
        missing_bytes=body["missing_bytes"],
        taken_over=body["taken_over"],
        escaped=tuple(body.get("escaped", ())),
        survivors=descendants_from_json(body["survivors"]),
    )


_OF_NO_PHASE: Json = {
    "started_at": None,
    "ended_at": None,
    "pid": None,
    "waiting": None,
    "input": None,
    "stalled": False,
    "paused": False,
    "queue": None,
    "status": None,
    **dict.fromkeys(("ports", "ready", "ready_at", "successor", "gave_up")),
    **dict.fromkeys(("exit_code", "signal", "reason", "by", "error", "errno", "duration_ms", "usage", "output")),
    "missing_bytes": 0,
    "taken_over": 0,
    "escaped": [],
}
"""What is so until a job has begun, or is over."""


def job_to_json(job: Job) -> Json:
    """A job, flat, as every door shows it."""
    body: Json = {
        "id": job.id,
        "name": job.name,
        "phase": job.phase_name,
        "label": job.label,
        "owner": job.owner,
        "session": job.session,
        "key": job.key,
        "parent": job.parent,
        "fingerprint": job.fingerprint,
        "seen": job.seen,
        "output_dropped_at": stamp(job.output_dropped_at),
        "created_at": stamp(job.created_at),
        **_OF_NO_PHASE,
        "alive": [],
        "survivors": [],
        **spec_to_json(job.spec),
        "enforced": job.enforced,
    }
    if isinstance(job.phase, Begun):
        body |= {"started_at": stamp(job.phase.started_at), "pid": job.phase.pid}
    if isinstance(job.phase, Ended):
        body |= {"ended_at": stamp(job.phase.ended_at), "status": job.phase.end.status, **end_to_json(job.phase.end)}
    if job.facts is not None:
        body |= _facts_to_json(job.facts, ended=isinstance(job.phase, Ended))
    return body


def _facts_to_json(facts: Facts, *, ended: bool) -> Json:
    body: Json = {"alive": descendants_to_json(facts.alive), "stalled": facts.stalled, "paused": facts.paused}
    body |= _service_to_json(facts)
    if facts.queue is not None:
        body["queue"] = {"place": facts.queue.place, "why": facts.queue.why}
    if facts.waiting is not None:
        question = facts.question
        body["waiting"] = {"prompt": facts.waiting, "question": None if question is None else posed_to_json(question)}
        body["waiting"] |= {"unsure": True} if facts.unsure else {}
    if not ended:
        body["escaped"] = list(facts.escaped)
        body["output"] = kept_to_json(facts.out, facts.err)
        body["input"] = None if facts.input is None else {"taken": facts.input.taken, "size": facts.input.size}
        body["usage"] = None if facts.usage is None else usage_to_json(facts.usage)
    return body


def _service_to_json(facts: Facts) -> Json:
    return {
        "ports": ports_to_json(facts.ports),
        "ready": facts.ready,
        "ready_at": stamp(facts.ready_at),
        "successor": facts.successor,
        "gave_up": facts.gave_up or None,
    }


def job_from_json(body: Json) -> Job:
    """A job from its flat form."""
    return Job(
        id=JobId(body["id"]),
        spec=spec_from_json(body),
        created_at=cast("datetime", from_stamp(body["created_at"])),
        name=body["name"],
        owner=body["owner"],
        label=body["label"],
        session=body["session"],
        key=body["key"],
        parent=body.get("parent"),
        fingerprint=body.get("fingerprint"),
        phase=_phase_from_json(body),
        facts=_facts_from_json(body),
        seen=body.get("seen", False),
        output_dropped_at=from_stamp(body.get("output_dropped_at")),
    )


def _facts_from_json(body: Json) -> Facts | None:
    alive = descendants_from_json(body["alive"])
    more: Json = {
        "alive": alive,
        "ports": ports_from_json(body.get("ports")),
        "ready_at": from_stamp(body.get("ready_at")),
        **{key: body.get(key) for key in ("ready", "successor")},
        "gave_up": body.get("gave_up") or "",
    }
    if body["phase"] == "ended":
        return Facts(**more) if Facts(**more) != Facts() else None
    if body["output"] is None:
        return None
    waiting: Json = body["waiting"] or {}
    return Facts(
        waiting=waiting.get("prompt"),
        unsure=waiting.get("unsure", False),
        question=posed_from_json(waiting["question"]) if waiting.get("question") else None,
        usage=Usage(**body["usage"]) if body["usage"] else None,
        out=kept_from_json(body["output"], "out"),
        err=kept_from_json(body["output"], "err"),
        input=Taken(**body["input"]) if body.get("input") else None,
        stalled=body["stalled"],
        paused=body.get("paused", False),
        escaped=tuple(body.get("escaped", ())),
        queue=Place(**body["queue"]) if body.get("queue") else None,
        **more,
    )


def _phase_from_json(body: Json) -> Phase:
    started_at = from_stamp(body["started_at"])
    if body["phase"] == "ended":
        ended_at = cast("datetime", from_stamp(body["ended_at"]))
        return Ended(ended_at=ended_at, end=end_from_json(body), started_at=started_at, pid=body["pid"])
    if body["phase"] == "running":
        return Running(started_at=cast("datetime", started_at), pid=body["pid"])
    return Queued()
