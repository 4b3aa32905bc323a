"""The wire form of what a request may say beyond its command: conditions, turn, dedup, limits, service; and of ports."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bide.model import fields
from bide.model.dedup import Dedup, Policy
from bide.model.errors import BadRequest
from bide.model.limits import Limits, OnOutputCap
from bide.model.notify import JOB_FLAGS, Notify
from bide.model.service import Port, Restart, Service
from bide.model.times import from_ms, from_stamp, ms, stamp
from bide.model.turn import Turn
from bide.model.until import Until

Json = dict[str, Any]


def until_to_json(until: Until) -> Json:
    """The conditions of a wait."""
    return {
        "log": until.log,
        "port": until.port,
        "http": until.http,
        "quiet_seconds": until.quiet_seconds,
        "input": until.input,
        "question": None if until.question is None else list(until.question),
        "prompt": None if until.prompt is None else list(until.prompt),
        "stalled": until.stalled,
        "ready": until.ready,
    }


_UNTIL: dict[str, fields.Kind] = {
    "log": fields.is_text,
    "port": fields.is_whole,
    "http": fields.is_text,
    "quiet_seconds": fields.is_number,
    "input": fields.is_flag,
    "question": fields.is_words,
    "prompt": fields.is_words,
    "stalled": fields.is_flag,
    "ready": fields.is_flag,
}


def until_from_json(body: Json) -> Until:
    """Conditions. Raises BadRequest."""
    found = fields.given(body, _UNTIL, "'until'")
    for key in ("question", "prompt"):
        if key in found:
            found[key] = tuple(found[key])
    return Until(**found)


def turn_to_json(turn: Turn) -> Json:
    """What a job waits for before it starts."""
    return {
        "group": turn.group,
        "priority": turn.priority,
        "after": list(turn.after),
        "after_any": turn.after_any,
        "at": stamp(turn.at),
    }


_TURN: dict[str, fields.Kind] = {
    "group": fields.is_text,
    "priority": fields.is_whole,
    "after": fields.is_words,
    "after_any": fields.is_flag,
    "at": fields.is_text,
}


def turn_from_json(body: Json) -> Turn:
    """What a job waits for. Raises BadRequest."""
    found = fields.given(body, _TURN, "'turn'")
    if "after" in found:
        found["after"] = tuple(found["after"])
    if "at" in found:
        found["at"] = _instant(found["at"])
    return Turn(**found)


def _instant(text: str) -> datetime | None:
    try:
        return from_stamp(text)
    except ValueError as error:
        raise BadRequest(detail=f"'at' must be a time as in ISO 8601, not {text!r}") from error


def dedup_to_json(dedup: Dedup) -> Json:
    """Whether to join an earlier job."""
    return {"policy": str(dedup.policy), "window_ms": ms(dedup.window), "fresh": dedup.fresh}


_DEDUP: dict[str, fields.Kind] = {
    "policy": lambda value: value in list(Policy),
    "window_ms": fields.is_number,
    "fresh": fields.is_flag,
}


def dedup_from_json(body: Json) -> Dedup:
    """Whether to join an earlier job. Raises BadRequest."""
    found = fields.given(body, _DEDUP, "'dedup'")
    default = Dedup()
    window = from_ms(found.get("window_ms"))
    return Dedup(
        policy=Policy(found.get("policy", default.policy)),
        window=default.window if window is None else window,
        fresh=found.get("fresh", False),
    )


def service_to_json(service: Service) -> Json:
    """What makes a job a service."""
    return {
        "ready": until_to_json(service.ready),
        "ready_command": service.ready_command,
        "ready_timeout_ms": ms(service.ready_timeout),
        "port": service.port,
        "restart": str(service.restart),
        "restarts": service.restarts,
        "run": service.run,
        "tries": service.tries,
    }


_SERVICE: dict[str, fields.Kind] = {
    "ready": fields.is_object,
    "ready_command": fields.is_text,
    "ready_timeout_ms": fields.is_number,
    "port": fields.is_whole,
    "restart": lambda value: value in list(Restart),
    "restarts": fields.is_whole,
    "run": fields.is_whole,
    "tries": fields.is_whole,
}


def service_from_json(body: Json) -> Service:
    """What makes a job a service. Raises BadRequest."""
    found = fields.given(body, _SERVICE, "'service'")
    if "ready" in found:
        found["ready"] = until_from_json(found["ready"])
    if "ready_timeout_ms" in found:
        found["ready_timeout"] = from_ms(found.pop("ready_timeout_ms"))
    if "restart" in found:
        found["restart"] = Restart(found["restart"])
    return Service(**found)


def ports_to_json(ports: tuple[Port, ...] | None) -> list[Json] | None:
    """What a job listens on; `None` if nobody looked."""
    return None if ports is None else [{"address": one.address, "port": one.port, "pid": one.pid} for one in ports]


def ports_from_json(rows: list[Json] | None) -> tuple[Port, ...] | None:
    """What a job listens on."""
    return None if rows is None else tuple(Port(**row) for row in rows)


def limits_to_json(limits: Limits) -> Json:
    """Limits, with `None` for those not set."""
    return {
        "timeout_ms": ms(limits.timeout),
        "idle_ms": ms(limits.idle),
        "idle_needs_no_cpu": limits.idle_needs_no_cpu,
        "output_bytes": limits.output_bytes,
        "on_output_cap": str(limits.on_output_cap),
        "memory_bytes": limits.memory_bytes,
        "cpus": limits.cpus,
        "pids": limits.pids,
        "grace_ms": ms(limits.grace),
    }


_LIMITS: dict[str, fields.Kind] = {
    "timeout_ms": fields.is_number,
    "idle_ms": fields.is_number,
    "idle_needs_no_cpu": fields.is_flag,
    "output_bytes": fields.is_whole,
    "on_output_cap": lambda value: value in list(OnOutputCap),
    "memory_bytes": fields.is_whole,
    "cpus": fields.is_number,
    "pids": fields.is_whole,
    "grace_ms": fields.is_number,
}


def limits_from_json(body: Json) -> Limits:
    """Limits from JSON; what is missing or null takes its default. Raises BadRequest."""
    return _limits(fields.given(body, _LIMITS, "'limits'"))


def limits_of(stored: Json) -> Limits:
    """Limits as they were stored: nothing of them is checked, and what is not known any more is left out."""
    return _limits({key: value for key, value in stored.items() if value is not None and key in _LIMITS})


def _limits(found: Json) -> Limits:
    for name in ("timeout", "idle", "grace"):
        if f"{name}_ms" in found:
            found[name] = from_ms(found.pop(f"{name}_ms"))
    if "on_output_cap" in found:
        found["on_output_cap"] = OnOutputCap(found["on_output_cap"])
    return Limits(**found)


_AS_CONFIGURED = Notify()


def notify_to_json(notify: Notify) -> Json:
    """What to tell of a job; what is as configured is left out."""
    if notify == _AS_CONFIGURED:
        return {}
    return {flag: value for flag in JOB_FLAGS if (value := getattr(notify, flag)) is not None}


_NOTIFY: dict[str, fields.Kind] = dict.fromkeys(JOB_FLAGS, fields.is_flag)


def notify_from_json(body: Json) -> Notify:
    """What to tell of a job. Raises BadRequest."""
    return Notify(**fields.given(body, _NOTIFY, "'notify'"))
