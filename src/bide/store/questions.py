"""Rows of questions: what jobs ask, and what became of it."""

import json
import sqlite3
from datetime import datetime

from msgspec import Struct

from bide.model.question import Answered, Policy, Posed, State, Via
from bide.model.questionforms import question_from_json, question_to_json
from bide.store.future import Future
from bide.store.queries import QUERIES
from bide.store.reader import Reader, parsed
from bide.store.rows import Row, Values, from_ms, to_ms
from bide.store.writer import Writer

COLUMNS = (
    "id, job, question, policy, posed_at, until, state, value, via, by, why, closed_at, asker, ticks, key, answer_key"
)


class QuestionRow(Struct, frozen=True):
    """A question as it is kept."""

    posed: Posed
    key: str | None = None
    """The asker's word for it."""
    asker: tuple[int, int] | None = None
    """The process that waits for the answer: its pid, and when it started."""
    answer_key: str | None = None


class QuestionRows:
    """The questions of a store. Writes return futures, as those of the store do."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        """Made by the store."""
        self._writer = writer
        self._rows = reader.rows

    def get(self, question: str) -> QuestionRow | None:
        """One question, open or closed."""
        found = self._rows(QUERIES["get_question"], {"id": question}, to_row)
        return found[0] if found else None

    def open(self) -> list[QuestionRow]:
        """Every question that waits for its answer, oldest first."""
        return self._rows(QUERIES["open_questions"], {}, to_row)

    def insert(self, row: QuestionRow) -> Future[QuestionRow]:
        """Record what a job asks; the question recorded, or the earlier one if the job has used its key before."""
        posed = row.posed
        pid, ticks = row.asker or (None, None)
        values: Values = {
            "id": posed.id,
            "job": posed.job,
            "key": row.key,
            "question": json.dumps(question_to_json(posed.question)),
            "policy": str(posed.policy),
            "posed_at": to_ms(posed.posed_at),
            "until": None if posed.until is None else to_ms(posed.until),
            "asker": pid,
            "ticks": ticks,
        }

        def act(connection: sqlite3.Connection) -> QuestionRow:
            if connection.execute(QUERIES["insert_question"], values).rowcount:
                return row
            return parsed(to_row, connection.execute(QUERIES["keyed_question"], values).fetchone())

        return self._writer.submit(act)

    def close(self, question: str, answered: Answered, at: datetime) -> Future[bool]:
        """Say what became of a question; False if it was closed before. The first answer stays."""
        values: Values = {
            "id": question,
            "state": str(answered.state),
            "value": None if answered.value is None else json.dumps(answered.value),
            "via": None if answered.via is None else str(answered.via),
            "by": answered.by,
            "why": answered.why,
            "answer_key": answered.key,
            "closed_at": to_ms(at),
        }
        return self._writer.submit(
            lambda connection: connection.execute(QUERIES["close_question"], values).rowcount > 0
        )

    def reopen(self, question: str) -> Future[bool]:
        """Take back that a question was answered, where the answer is gone; False if it was not."""
        return self._writer.submit(
            lambda connection: connection.execute(QUERIES["reopen_question"], {"id": question}).rowcount > 0
        )


def to_row(row: Row) -> QuestionRow:
    """Read a row of the table of questions."""
    id_, job, question, policy, posed_at, until, state, value, via, by, why, closed_at, asker, ticks, key, again = row
    posed = Posed(
        id_,
        job,
        question_from_json(json.loads(question)),
        from_ms(posed_at),
        Policy(policy),
        None if until is None else from_ms(until),
        None,
        State(state),
        None if value is None else json.loads(value),
        None if via is None else Via(via),
        by,
        why,
        None if closed_at is None else from_ms(closed_at),
    )
    return QuestionRow(posed, key, None if asker is None else (asker, ticks), again)
