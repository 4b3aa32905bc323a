"""The wire form of waits, slices and events."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from bide.model import fields
from bide.model.event import Event
from bide.model.job import JobId
from bide.model.messages import Json, job_from_json, job_to_json
from bide.model.output import Match, Slice, Stream
from bide.model.plans import until_from_json
from bide.model.retention import Collected, Gone
from bide.model.times import from_ms, from_stamp, stamp
from bide.model.until import Until
from bide.model.waiting import Mode, Waited

_WAIT: dict[str, fields.Kind] = {
    "jobs": fields.is_words,
    "mode": lambda value: value in list(Mode),
    "timeout_ms": fields.is_duration,
    "until": fields.is_object,
}


def wait_from_json(body: Mapping[str, Any]) -> tuple[list[str], Mode, Until, timedelta | None]:
    """The arguments of `wait`. Raises BadRequest."""
    found = fields.given(body, _WAIT, "'wait'")
    until = until_from_json(found.get("until", {}))
    return found.get("jobs", []), Mode(found.get("mode", "all")), until, from_ms(found.get("timeout_ms"))


def waited_to_json(waited: Waited) -> Json:
    """What `wait` answers."""
    match = waited.match
    return {
        "met": waited.met,
        "timed_out": waited.timed_out,
        "match": None if match is None else {"stream": str(match.stream), **_match_to_json(match)},
        "jobs": [job_to_json(job) for job in waited.jobs],
    }


def waited_from_json(body: Json) -> Waited:
    """What `wait` answered."""
    found: Json | None = body["match"]
    match = None if found is None else _match_from_json(Stream(found["stream"]), found)
    return Waited(jobs=tuple(job_from_json(job) for job in body["jobs"]), met=body["met"], match=match)


def _text_to_json(key: str, data: bytes) -> Json:
    """Bytes as text, and beside it as they are where the text is not exact."""
    text = data.decode("utf-8", "replace")
    return {key: text} if text.encode() == data else {key: text, "base64": base64.b64encode(data).decode()}


def _text_from_json(key: str, body: Json) -> bytes:
    return base64.b64decode(body["base64"]) if "base64" in body else str(body[key]).encode()


def _match_to_json(match: Match) -> Json:
    return {"offset": match.offset, **_text_to_json("line", match.line)}


def _match_from_json(stream: Stream, body: Json) -> Match:
    return Match(stream, body["offset"], _text_from_json("line", body))


def slice_to_json(found: Slice) -> Json:
    """A piece of a stream: as text, and as bytes where the text is not exact."""
    return {
        "stream": str(found.stream),
        **_text_to_json("text", found.data),
        "offset": found.offset,
        "next": found.next,
        "size": found.size,
        "head": found.head,
        "ended": found.ended,
        "matches": [_match_to_json(match) for match in found.matches],
    }


def slice_from_json(body: Json) -> Slice:
    """A piece of a stream."""
    stream = Stream(body["stream"])
    data = _text_from_json("text", body)
    matches = tuple(_match_from_json(stream, row) for row in body["matches"])
    return Slice(stream, data, body["offset"], body["next"], body["size"], body["head"], body["ended"], matches)


def event_to_json(event: Event) -> Json:
    """One move of one job."""
    return {"seq": event.seq, "at": stamp(event.at), "job": event.job, "what": event.what, "detail": event.detail}


def event_from_json(body: Json) -> Event:
    """One move of one job."""
    at = cast("Any", from_stamp(body["at"]))
    return Event(seq=body["seq"], at=at, job=JobId(body["job"]), what=body["what"], detail=body["detail"])


_COUNTS = (
    *("dry_run", "forgotten", "dropped", "freed_bytes", "held_bytes", "quota_bytes"),
    *("kept", "unseen", "unseen_bytes"),
)


def collected_to_json(collected: Collected) -> Json:
    """What `gc` did, or would do."""
    return {
        **{key: getattr(collected, key) for key in _COUNTS},
        "alive": list(collected.alive),
        "gone": [_gone_to_json(one) for one in collected.gone],
        "emptied": [_gone_to_json(one) for one in collected.emptied],
    }


def _gone_to_json(gone: Gone) -> Json:
    return {"id": gone.id, "name": gone.name, "bytes": gone.bytes, "seen": gone.seen}


def collected_from_json(body: Json) -> Collected:
    """What `gc` did, or would do."""
    return Collected(
        **{key: body[key] for key in _COUNTS},
        alive=tuple(body["alive"]),
        gone=tuple(Gone(**one) for one in body["gone"]),
        emptied=tuple(Gone(**one) for one in body["emptied"]),
    )
