"""What is read from the query of a request: each of the kind it should be, or refused by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import overload

from bide.model.errors import BadRequest
from bide.model.given import choice
from bide.model.output import Stream

_WHOLE = re.compile(r"[0-9]{1,15}", re.ASCII)


@overload
def query_number(query: Mapping[str, str], key: str, default: int) -> int: ...
@overload
def query_number(query: Mapping[str, str], key: str, default: None) -> int | None: ...
def query_number(query: Mapping[str, str], key: str, default: int | None) -> int | None:
    """A whole number of the query."""
    if key not in query:
        return default
    if not _WHOLE.fullmatch(query[key]):
        raise BadRequest(detail=f"{key!r} must be a whole number from 0 on, of at most 15 digits, not {query[key]!r}")
    return int(query[key])


def query_instant(query: Mapping[str, str], key: str) -> datetime:
    """A time of the query, in UTC if it does not say."""
    try:
        found = datetime.fromisoformat(query[key])
    except ValueError as error:
        raise BadRequest(detail=f"{key!r} must be a time as in ISO 8601, not {query[key]!r}") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def stream_named(name: str) -> Stream:
    """The stream of this name."""
    return choice(Stream, "stream", name)
