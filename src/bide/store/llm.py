"""Rows of requests to LLM command lines: what each was, what it used, how it ended; and of the conversations they named."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bide.model.llm.answer import Answer, Fault, Status
from bide.model.llm.caches import Used
from bide.model.llm.conversation import Conversation
from bide.model.llm.metrics import Did
from bide.model.llm.retry import Outcome
from bide.store.future import Future
from bide.store.queries import load
from bide.store.reader import Rows, first
from bide.store.rows import Row, Values, from_ms, to_ms

QUERIES = load(Path(__file__).with_name("llm.sql"))
T = TypeVar("T")


class Database(Protocol):
    """What does the writes, on disk or in memory."""

    def submit(self, act: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Do `act` in a transaction; the future has its result after that."""
        ...


class RequestRow(Struct, frozen=True):
    """A request as it is recorded."""

    correlation_id: str
    job: str
    cli: str
    owner: str
    asked_at: datetime
    joined: bool = False
    model: str | None = None
    conversation: str | None = None
    prefix_hash: str = ""
    prefix_tokens: int = 0
    cache_blocks: int = 0
    status: str = "started"
    attempts: int = 1
    """How often it was made; the job is that of the last attempt."""


class LlmRows:
    """The requests and conversations of a store. Writes return futures, as those of the store do."""

    def __init__(self, database: Database, reader: Rows) -> None:
        """Written by the one, read by the other."""
        self._database = database
        self._rows = reader.rows

    def start(self, row: RequestRow) -> Future[None]:
        """Record a request."""
        values: Values = {
            name: getattr(row, name) for name in RequestRow.__struct_fields__ if name not in ("asked_at", "status")
        }
        return self._do("put_request", {**values, "asked_at": to_ms(row.asked_at)})

    def move(self, before: str, after: str, attempts: int) -> Future[None]:
        """What one job was to answer, another will."""
        return self._do("move_requests", {"from": before, "to": after, "attempts": attempts})

    def finish(self, answer: Answer, ended_at: datetime) -> Future[int]:
        """Record an answer; the first one stays. How many requests had none."""
        reading, tokens = answer.reading, answer.reading.tokens
        values: Values = {
            "job": answer.job.id,
            "status": str(answer.status),
            "ended_at": to_ms(ended_at),
            "exit_code": answer.exit_code,
            "fault": str(answer.fault),
            "conversation": reading.conversation,
            "model": reading.model,
            "input_tokens": tokens.input,
            "output_tokens": tokens.output,
            "cache_read": tokens.cache_read,
            "cache_write": tokens.cache_write,
            "cost_usd": reading.cost_usd,
            "turns": reading.turns,
        }
        return self._database.submit(lambda connection: connection.execute(QUERIES["finish_requests"], values).rowcount)

    def find(self, correlation_id: str, owner: str | None) -> RequestRow | None:
        """The newest request with this correlation id."""
        values: Values = {"correlation_id": correlation_id, "owner": owner}
        found = self._rows(QUERIES["newest_request"], values, _to_request)
        return found[0] if found else None

    def outcomes(self, cli: str, since: datetime) -> list[Outcome]:
        """How the requests to a CLI ended that were made since then, the newest end first."""
        return self._rows(QUERIES["outcomes"], {"cli": cli, "since": to_ms(since)}, _to_outcome)

    def unfinished(self) -> list[str]:
        """The jobs of requests whose answer is not on record."""
        return self._rows(QUERIES["unfinished_requests"], {}, first)

    def unrecorded(self, kinds: Sequence[str]) -> list[str]:
        """Jobs of these kinds that no request is on record for, as after a database was made anew."""
        return self._rows(QUERIES["unrecorded_jobs"], {"kinds": json.dumps(list(kinds))}, first)

    def prune(self, before: datetime) -> Future[None]:
        """Forget requests from before a time."""
        return self._do("prune_requests", {"before": to_ms(before)})

    def keep_newest(self, most: int) -> Future[None]:
        """Forget all requests but the newest, and the conversations that only those named."""

        def act(connection: sqlite3.Connection) -> None:
            for query in ("drop_oldest_conversations", "drop_oldest_requests"):
                connection.execute(QUERIES[query], {"most": most})

        return self._database.submit(act)

    def used(self, since: datetime, conversation: str | None = None, prefix: str | None = None) -> list[Used]:
        """What requests used, by CLI and model."""
        values: Values = {"since": to_ms(since), "conversation": conversation, "prefix_hash": prefix}
        return self._rows(QUERIES["used"], values, _to_used)

    def did(self) -> list[Did]:
        """How requests ended, by CLI."""
        return self._rows(QUERIES["did"], {}, _to_did)

    def prefixes(self, since: datetime, conversation: str | None = None) -> Counter[str]:
        """The stable prefixes that there were, by hash, and in how many requests each."""
        values: Values = {"since": to_ms(since), "conversation": conversation}
        return Counter(dict(self._rows(QUERIES["prefixes"], values, _to_count)))

    def use(self, conversation: Conversation, *, may_lead: bool = True) -> Future[None]:
        """Record that a conversation was used; the first one of its CLI becomes the active one, if it may."""
        values: Values = {
            name: getattr(conversation, name) for name in ("id", "cli", "owner", "title", "cwd", "thread")
        }
        return self._do("put_conversation", {**values, "at": to_ms(conversation.last_used_at), "may_lead": may_lead})

    def active(self, owner: str, cli: str) -> str | None:
        """The active conversation of a CLI."""
        found = self._rows(QUERIES["active_conversation"], {"owner": owner, "cli": cli}, first)
        return found[0] if found else None

    def conversations(
        self, owner: str, since: datetime, cli: str | None = None, conversation: str | None = None
    ) -> list[Conversation]:
        """Those of an owner that were used since a time."""
        values: Values = {"owner": owner, "cli": cli, "id": conversation, "since": to_ms(since)}
        return self._rows(QUERIES["conversations"], values, _to_conversation)

    def activate(self, owner: str, cli: str, conversation: str | None) -> Future[None]:
        """Make a conversation the active one of its CLI, or none."""
        values: Values = {"owner": owner, "cli": cli, "id": conversation}

        def act(connection: sqlite3.Connection) -> None:
            connection.execute(QUERIES["deactivate"], values)
            if conversation is not None:
                connection.execute(QUERIES["activate"], values)

        return self._database.submit(act)

    def drop(self, owner: str, cli: str | None = None, conversation: str | None = None) -> Future[int]:
        """Forget conversations; how many there were. What was said in them is the CLI's."""
        values: Values = {"owner": owner, "cli": cli, "id": conversation}
        return self._database.submit(
            lambda connection: connection.execute(QUERIES["drop_conversations"], values).rowcount
        )

    def _do(self, query: str, values: Values) -> Future[None]:
        def act(connection: sqlite3.Connection) -> None:
            connection.execute(QUERIES[query], values)

        return self._database.submit(act)


def check_request(row: Row) -> None:
    """Read what may be wrong in a row of requests, with these columns. Raises ValueError."""
    Status(row[12])
    Fault(row[15])
    for at in (row[11], row[13]):
        if at is not None:
            from_ms(at)


def _to_outcome(row: Row) -> Outcome:
    at, status, fault, code, attempts = row
    return Outcome(from_ms(at), Status(status), Fault(fault), code, attempts)


def _to_used(row: Row) -> Used:
    return Used(*row[:10], first_at=from_ms(row[10]), last_at=from_ms(row[11]))


def _to_did(row: Row) -> Did:
    return Did(*row)


def _to_count(row: Row) -> tuple[str, int]:
    prefix, count = row
    return prefix, count


def _to_conversation(row: Row) -> Conversation:
    made = Conversation(*row[:5], created_at=from_ms(row[5]), last_used_at=from_ms(row[6]), active=bool(row[7]))
    return replace(made, thread=row[8])


def _to_request(row: Row) -> RequestRow:
    (
        _,
        correlation_id,
        job,
        cli,
        owner,
        joined,
        model,
        conversation,
        prefix_hash,
        tokens,
        blocks,
        asked_at,
        status,
        *more,
    ) = row
    return RequestRow(
        correlation_id=correlation_id,
        job=job,
        cli=cli,
        owner=owner,
        asked_at=from_ms(asked_at),
        joined=bool(joined),
        model=model,
        conversation=conversation,
        prefix_hash=prefix_hash,
        prefix_tokens=tokens,
        cache_blocks=blocks,
        status=status,
        attempts=more[0],
    )
