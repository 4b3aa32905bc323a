"""The wire form of waits, slices and events."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from bide.model.errors import BadRequest
from bide.model.event import Event
from bide.model.job import JobId
from bide.model.messages import Json, from_ms, from_stamp, job_from_json, job_to_json, stamp
from bide.model.output import Match, Slice, Stream
from bide.model.waiting import Mode, Until, Waited


def until_to_json(until: Until) -> Json:
    """The conditions of a wait."""
    return {
        "log": until.log,
        "port": until.port,
        "http": until.http,
        "quiet_seconds": until.quiet_seconds,
        "input": until.input,
    }


def wait_from_json(body: Mapping[str, Any]) -> tuple[list[str], Mode, Until, timedelta | None]:
    """The arguments of `wait`."""
    jobs = body.get("jobs")
    if not isinstance(jobs, list):
        raise BadRequest(detail="'jobs' must be a list of ids or names")
    try:
        mode = Mode(body.get("mode") or "all")
        conditions: Json = body.get("until") or {}
        until = Until(**conditions)
    except (TypeError, ValueError) as error:
        raise BadRequest(detail=f"the wait cannot be read: {error}") from error
    return [str(job) for job in cast("list[object]", jobs)], mode, until, from_ms(body.get("timeout_ms"))


def waited_to_json(waited: Waited) -> Json:
    """What `wait` answers."""
    match = waited.match
    line = None
    if match is not None:
        line = {"stream": str(match.stream), "offset": match.offset, "line": match.line.decode("utf-8", "replace")}
    return {
        "met": waited.met,
        "timed_out": waited.timed_out,
        "match": line,
        "jobs": [job_to_json(job) for job in waited.jobs],
    }


def waited_from_json(body: Json) -> Waited:
    """What `wait` answered."""
    line: Json | None = body["match"]
    match = None
    if line is not None:
        match = Match(Stream(line["stream"]), line["offset"], str(line["line"]).encode())
    return Waited(jobs=tuple(job_from_json(job) for job in body["jobs"]), met=body["met"], match=match)


def slice_to_json(found: Slice) -> Json:
    """A piece of a stream: as text, and as bytes where the text is not exact."""
    text = found.data.decode("utf-8", "replace")
    body: Json = {
        "stream": str(found.stream),
        "text": text,
        "offset": found.offset,
        "next": found.next,
        "size": found.size,
        "head": found.head,
        "ended": found.ended,
        "matches": [
            {"offset": match.offset, "line": match.line.decode("utf-8", "surrogateescape")} for match in found.matches
        ],
    }
    if text.encode() != found.data:
        body["base64"] = base64.b64encode(found.data).decode()
    return body


def slice_from_json(body: Json) -> Slice:
    """A piece of a stream."""
    stream = Stream(body["stream"])
    matches = [
        Match(stream, row["offset"], str(row["line"]).encode("utf-8", "surrogateescape")) for row in body["matches"]
    ]
    data = base64.b64decode(body["base64"]) if "base64" in body else str(body["text"]).encode()
    return Slice(stream, data, body["offset"], body["next"], body["size"], body["head"], body["ended"], tuple(matches))


def event_to_json(event: Event) -> Json:
    """One move of one job."""
    return {"seq": event.seq, "at": stamp(event.at), "job": event.job, "what": event.what, "detail": event.detail}


def event_from_json(body: Json) -> Event:
    """One move of one job."""
    at = cast("Any", from_stamp(body["at"]))
    return Event(seq=body["seq"], at=at, job=JobId(body["job"]), what=body["what"], detail=body["detail"])
