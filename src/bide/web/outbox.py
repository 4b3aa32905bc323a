"""The routes of the outbox, each a translation and nothing more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bide.api import Outbox
from bide.model import fields
from bide.model.errors import BadRequest
from bide.model.notice import LEVEL_NAMES, Level
from bide.model.outboxforms import message_to_json, outlook_to_json
from bide.model.times import from_ms
from bide.web.http import Reply
from bide.web.request import HttpRequest

_PULL: dict[str, fields.Kind] = {
    "carrier": fields.is_text,
    "timeout_ms": fields.is_number,
    "limit": fields.is_whole,
    "room": fields.is_whole,
    "least": fields.is_text,
    "known": fields.is_words,
    "text": fields.is_flag,
}


async def show(outbox: Outbox, _: HttpRequest, reply: Reply, __: str) -> None:
    """`GET /v1/outbox`."""
    await reply.json({"consumers": [outlook_to_json(one) for one in await outbox.list()]})


async def pull(outbox: Outbox, request: HttpRequest, reply: Reply, consumer: str) -> None:
    """`POST /v1/outbox/{consumer}/pull`."""
    body = request.json()
    found = fields.given(body, _PULL, "'pull'")
    if "timeout_ms" in body:
        found.pop("timeout_ms", None)
        found["timeout"] = from_ms(body["timeout_ms"])
    if "least" in found:
        if found["least"] not in LEVEL_NAMES:
            raise BadRequest(detail=f"'least' is one of {', '.join(LEVEL_NAMES)}, not {found['least']!r}")
        found["least"] = Level[found["least"].upper()]
    in_words = found.pop("text", False)
    message = await outbox.pull(consumer, **found)
    if in_words:
        headers = {"Bide-Notices": " ".join(message.ids), "Bide-More": message.more}
        text = message.text.encode("utf-8", "backslashreplace")
        await reply.send(text, kind="text/plain; charset=utf-8", headers=headers)
    else:
        await reply.json(message_to_json(message))


async def acknowledge(outbox: Outbox, request: HttpRequest, reply: Reply, consumer: str) -> None:
    """`POST /v1/outbox/{consumer}/ack`."""
    body = fields.given(request.json(), {"notices": fields.is_words}, "'ack'")
    if "notices" not in body:
        raise BadRequest(detail="'ack' needs 'notices': the ids of what arrived")
    await reply.json({"acknowledged": await outbox.acknowledge(consumer, body["notices"])})


_REPORT: dict[str, fields.Kind] = dict.fromkeys(("job", "act", "by", "key"), fields.is_text)


async def report(outbox: Outbox, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/outbox`."""
    body = fields.given(request.json(), _REPORT, "'report'")
    if len(body) < len(_REPORT):
        raise BadRequest(detail=f"'report' needs {', '.join(repr(key) for key in _REPORT if key not in body)}")
    await outbox.report(body.pop("job"), body.pop("act"), **body)
    await reply.json({})


async def carry(outbox: Outbox, request: HttpRequest, reply: Reply, consumer: str) -> None:
    """`POST /v1/outbox/{consumer}/carry`."""
    body = fields.given(request.json(), {"notices": fields.is_words, "carrier": fields.is_text}, "'carry'")
    if not {"notices", "carrier"} <= body.keys():
        raise BadRequest(detail="'carry' needs 'notices', the ids of what was handed over, and the 'carrier'")
    await reply.json({"carried": await outbox.carry(consumer, body["notices"], body["carrier"])})


async def subscribe(outbox: Outbox, request: HttpRequest, reply: Reply, consumer: str) -> None:
    """`POST /v1/outbox/{consumer}`."""
    await outbox.subscribe(consumer, **fields.given(request.json(), {"owner": fields.is_text}, "'subscribe'"))
    await reply.json({})


async def unsubscribe(outbox: Outbox, _: HttpRequest, reply: Reply, consumer: str) -> None:
    """`DELETE /v1/outbox/{consumer}`."""
    await reply.json({"subscribed": await outbox.unsubscribe(consumer)})


async def settle(outbox: Outbox, _: HttpRequest, reply: Reply, carrier: str) -> None:
    """`POST /v1/carriers/{carrier}/settle`."""
    await reply.json({"acknowledged": await outbox.settle(carrier)})


async def release(outbox: Outbox, _: HttpRequest, reply: Reply, carrier: str) -> None:
    """`POST /v1/carriers/{carrier}/release`."""
    await reply.json({"released": await outbox.release(carrier)})


ROUTES: dict[tuple[str, str], Callable[[Outbox, HttpRequest, Reply, str], Awaitable[None]]] = {
    ("GET", "v1/outbox"): show,
    ("POST", "v1/outbox"): report,
    ("POST", "v1/outbox/*"): subscribe,
    ("DELETE", "v1/outbox/*"): unsubscribe,
    ("POST", "v1/outbox/*/pull"): pull,
    ("POST", "v1/outbox/*/ack"): acknowledge,
    ("POST", "v1/outbox/*/carry"): carry,
    ("POST", "v1/carriers/*/settle"): settle,
    ("POST", "v1/carriers/*/release"): release,
}
