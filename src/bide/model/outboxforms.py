"""The wire form of messages, and of how deliveries stand."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import asdict, astuple, fields

from bide.model.notice import Item, Message, Outlook
from bide.model.times import from_stamp, stamp

Json = dict[str, Any]

_ITEM = tuple(one.name for one in fields(Item))


def item_to_json(item: Item) -> Json:
    """One notice; what is empty is left out."""
    body: Json = {
        key: value for key, value in zip(_ITEM, astuple(item), strict=True) if value is not None and value != ""
    }
    body["at"] = stamp(item.at)
    return body


def message_to_json(message: Message) -> Json:
    """A message."""
    items = [item_to_json(item) for item in message.items]
    return {"consumer": message.consumer, "notices": items, "text": message.text, "more": message.more}


def message_from_json(body: Json) -> Message:
    """A message."""
    items = tuple(Item(**{**one, "at": cast("Any", from_stamp(one["at"]))}) for one in body["notices"])
    return Message(body["consumer"], items, body["text"], body["more"])


def outlook_to_json(outlook: Outlook) -> Json:
    """How deliveries to one consumer stand."""
    return asdict(outlook) | {"jobs": list(outlook.jobs), "next_retry_at": stamp(outlook.next_retry_at)}


def outlook_from_json(body: Json) -> Outlook:
    """How deliveries to one consumer stand."""
    found: Json = {**body, "jobs": tuple(body["jobs"]), "next_retry_at": from_stamp(body["next_retry_at"])}
    return Outlook(**found)
