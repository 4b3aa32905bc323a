"""Requests whose line failed are made again, and a CLI that fails too often is given a rest. See docs/decisions/023.

Another attempt is another job, as the restart of a service is: `next` in the folder of the one that failed names it, and its
key is made of that one's id, so that there is only ever one. Whoever asks for the answer of any of them gets that of the last.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from msgspec.structs import replace

from bide.keeper import services as record
from bide.keeper import told
from bide.keeper.services import Next
from bide.kinds.llm import known
from bide.model.askfacts import AskFacts
from bide.model.errors import BadRequest, CliResting, DiskFull, JobNotFound, NameInUse, QueueFull
from bide.model.job import Job
from bide.model.llm import retry
from bide.model.llm.answer import Answer, Note, Status
from bide.model.llm.choices import model_of
from bide.model.llm.programs import Health
from bide.model.llm.retry import Breaker
from bide.model.phase import Ended, Queued
from bide.runtime import services, starting
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.llm import answers
from bide.store.faults import DatabaseCorrupt
from bide.store.future import Future

log = logging.getLogger(__name__)

_LATELY = timedelta(hours=1)
"""What was asked before that says nothing of how a CLI does."""


class Retrying:
    """Decides what comes after each attempt."""

    def __init__(self, core: Core) -> None:
        """Every CLI is thought of as its last requests tell."""
        self._core = core
        self._breakers: dict[str, Breaker] = {}

    async def answer(self, job: Job) -> Answer:
        """The answer of the last attempt of this request, with a note if it is not the first."""
        found = await answers.answer(self._core, job)
        while (after := self.successor(found)) is not None:
            found = await answers.answer(self._core, self._core.with_facts(after))
        return replace(found, notes=(*_notes(answers.facts_of(found.job)), *found.notes))

    def successor(self, found: Answer) -> Job | None:
        """The attempt that follows this one; decided here and now, once and for all, if it was not yet."""
        if found.status is not Status.FAILED:
            return None
        core, job = self._core, found.job
        decided = record.read_next(core.folder(job))
        if decided is None and (held := core.keeping.table.with_key(job.owner, _key(job))) is not None:
            return held.job
        if decided is None and (retry.is_transient(found) or _says_model(found)):
            return self._decide(found)
        try:
            return None if decided is None or decided.job is None else core.find(decided.job)
        except JobNotFound:
            return None  # it was forgotten; what is left is this one

    def _decide(self, found: Answer) -> Job | None:
        core, job = self._core, found.job
        earlier = core.store.by_key(job.owner, _key(job))
        if earlier is not None:
            self._record(job, Next(job=earlier.id))
            return earlier
        why = self._why_not(found) if retry.is_transient(found) else ""
        if job.id in core.stopping:
            why = "it was canceled"
        if why:
            self._record(job, Next(gave_up=why))
            return None
        return self._again(found)

    def _why_not(self, found: Answer) -> str:
        """Why what the line failed is not asked again, if so; it counts as another failure of the CLI."""
        chosen = self._core.settings.llm
        breaker = self.breaker(found.cli).failed(now(), found.error, chosen.breaker_failures)
        self._breakers[found.cli] = breaker
        if _attempt(found.job) >= chosen.attempts:
            return f"it was attempt {_attempt(found.job)} of {chosen.attempts}"
        if not breaker.lets(now(), chosen.breaker_rest):
            return f"{found.cli} failed {breaker.failures} times in a row"
        return ""

    def _again(self, found: Answer) -> Job | None:
        core, job, facts = self._core, found.job, answers.facts_of(found.job)
        at, env = now() + retry.pause(_attempt(job), core.settings.llm.retry_pause), {}
        if _says_model(found):
            at, facts, env = None, *self._with_other_model(facts)
        log.warning("%s (%s) failed: %s; it is asked again", job.id, found.cli, found.error)
        spec = replace(job.spec, background=True, ask=replace(facts, attempt=facts.attempt + 1, retry_of=str(job.id)))
        like = replace(
            job, id=starting.id_like(core, job), spec=spec, key=_key(job), created_at=now(), phase=Queued(), facts=None
        )
        path = core.folder(job)
        try:
            live = services.start_later(core, like, path, at, told.read(path) if job.spec.stdin else None, env)
        except (OSError, BadRequest, DiskFull, NameInUse, QueueFull, DatabaseCorrupt) as error:
            log.warning("%s cannot be asked again: %s", job.id, error)
            self._record(job, Next(gave_up=f"it could not be asked again: {error}"))
            return None
        self._record_once_accepted(job, live)
        return live.job

    def _with_other_model(self, facts: AskFacts) -> tuple[AskFacts, dict[str, str | None]]:
        """Asked for the model that is configured, or the CLI's own if that is the one which it does not know."""
        cli = known.named(facts.cli)
        configured = model_of(cli.name, None, self._core.settings.llm, cli.aliases)
        model = None if configured == facts.model else configured
        changed = replace(facts, model=model, unknown_model=facts.model)
        return changed, {} if cli.model_variable is None else {cli.model_variable: model}

    def _record_once_accepted(self, job: Job, live: Live) -> None:
        def accepted(row: Future[Job]) -> None:
            if row.exception() is None:
                self._core.hub.call_soon(lambda: self._record(job, Next(job=live.job.id)))

        if live.inserted is not None:
            live.inserted.add_done_callback(accepted)

    def _record(self, job: Job, decided: Next) -> None:
        try:
            record.write_next(self._core.folder(job), decided)
        except OSError as error:
            log.warning("what comes after %s could not be put on record: %s", job.id, error)

    # How each CLI does.

    def breaker(self, cli: str) -> Breaker:
        """How a CLI has done lately."""
        if cli not in self._breakers:
            chosen = self._core.settings.llm
            told = self._core.store.llm.outcomes(cli, now() - max(_LATELY, 2 * chosen.breaker_rest))
            self._breakers[cli] = retry.remembered(told, chosen.breaker_failures)
        return self._breakers[cli]

    def learn_anew(self, cli: str) -> None:
        """There is more on record of how a CLI has done than when it was last looked up."""
        self._breakers.pop(cli, None)

    def refusal(self, cli: str) -> CliResting | None:
        """Why a CLI is not to be asked now; `None` if it may be."""
        breaker, rest = self.breaker(cli), self._core.settings.llm.breaker_rest
        if breaker.lets(now(), rest):
            return None
        left = max(1, round(breaker.left(now(), rest).total_seconds()))
        return CliResting(cli=cli, failures=str(breaker.failures), seconds=str(left), error=breaker.error)

    def began(self, job: Job) -> None:
        """A request was made; it may be the one that tries whether a CLI works again."""
        facts = answers.facts_of(job)
        self._breakers[facts.cli] = self.breaker(facts.cli).tried(facts.correlation_id, now())

    def ended(self, found: Answer) -> None:
        """A request is over: what that says of its CLI, unless it failed in a way that is counted elsewhere."""
        self._core.stopping.discard(found.job.id)
        if isinstance(found.job.phase, Ended) and not retry.is_transient(found):
            over = self.breaker(found.cli).ended(found.correlation_id, reached=retry.reached(found))
            self._breakers[found.cli] = over

    def health(self, cli: str, running: int, waiting: int) -> Health:
        """How a CLI does that has so much to do."""
        breaker, rest = self.breaker(cli), self._core.settings.llm.breaker_rest
        state, left = breaker.state(now(), rest), breaker.left(now(), rest)
        return Health(cli, state, breaker.failures, left, breaker.error, running, waiting)


def _says_model(found: Answer) -> bool:
    """Whether another model is to be tried: only where that needs no other command."""
    return retry.wants_other_model(found) and known.named(found.cli).model_variable is not None


def _notes(facts: AskFacts) -> tuple[Note, ...]:
    """What is to be said of an attempt that is not the first."""
    if facts.retry_of is None:
        return ()
    if facts.unknown_model is None:
        said = f"This is attempt {facts.attempt}: the line failed in the one before, job {facts.retry_of}."
        return (Note("retried", said, {"attempt": facts.attempt}),)
    said = f"{facts.cli} does not know the model {facts.unknown_model!r}; it was asked again with {facts.model or 'its own default'}."
    return (Note("model_replaced", said, {"attempt": facts.attempt}),)


def _key(job: Job) -> str:
    return f"retry of {job.id}"


def _attempt(job: Job) -> int:
    return answers.facts_of(job).attempt
