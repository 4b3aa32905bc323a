"""The door for browsers: signs them in, shows what jobs ask, and takes what a person answers."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote

import anyio
from msgspec import Struct, field

from bide.api import Jobs
from bide.model.errors import BadRequest, BideError, InternalError, QuestionClosed
from bide.model.job import Job
from bide.model.question import Form, Posed, State, Value, Via
from bide.web import pages
from bide.web.filling import Html, files
from bide.web.guard import HEADERS, NAMES, cookie, refused
from bide.web.http import Reply
from bide.web.request import HttpRequest
from bide.web.routes import STATUSES
from bide.web.signins import SignIn, SignIns

log = logging.getLogger(__name__)

_COOKIE = "bide"
_HTML = "text/html; charset=utf-8"
_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_PATIENCE = timedelta(seconds=55)
_FIELDS_MAX = 10
_BY = "user"

_SIGN_IN = "To see what jobs ask, run 'bide web' at a terminal of this machine, and open the address that it prints."
_NOWHERE = "There is nothing here."
_USED = "This address was used before, or is too old: run 'bide web' again for another."
_SIGNED_OUT = "You are signed out. Run 'bide web' at a terminal to come back."


class Answer(Struct, frozen=True):
    """What a browser is sent."""

    body: bytes
    status: int = 200
    kind: str = _HTML
    headers: dict[str, str] = field(default_factory=dict[str, str])


class Again(Struct, frozen=True):
    """What was said to a question and does not answer it."""

    question: str
    error: str
    typed: str


class Browser:
    """Answers the requests of browsers on one port."""

    def __init__(self, jobs: Jobs, port: int) -> None:
        """Nobody is signed in."""
        self._jobs = jobs
        self._port = port
        self._signins = SignIns()
        self._whose: dict[str, Job | None] = {}
        """The jobs of what was shown last: what is said of them stays the same, and to look for it takes a while."""

    def address(self) -> str:
        """Where a browser signs in, once."""
        return f"http://{NAMES[0]}:{self._port}/sign-in/{self._signins.invite()}"

    async def __call__(self, request: HttpRequest, reply: Reply) -> None:
        """Answer one request. Nothing of it is logged: its path or its body may be a secret."""
        try:
            answer = await self._answer(request)
        except BideError as error:
            answer = _outside(str(error), STATUSES[error.code])
        except Exception:
            log.exception("a request of a browser failed")
            answer = _outside(str(InternalError(detail="see daemon.log")), 500)
        await reply.send(answer.body, status=answer.status, kind=answer.kind, headers={**HEADERS, **answer.headers})

    async def _answer(self, request: HttpRequest) -> Answer:
        if (fault := refused(request, self._port)) is not None:
            return _outside(fault[1], fault[0])
        match request.method, request.path.split("/")[1:]:
            case "GET", ["static", name]:
                return _static(name)
            case "GET", ["sign-in", secret]:
                return self._enter(secret)
            case method, [id_, what]:
                signin = self._signins.find(id_, cookie(request, _COOKIE))
                return _outside(_SIGN_IN, 401) if signin is None else await self._inside(method, what, request, signin)
            case _:
                return _outside(_SIGN_IN, 401)

    def _enter(self, secret: str) -> Answer:
        signin = self._signins.enter(secret)
        if signin is None:
            return _outside(_USED, 401)
        place = f"/{signin.id}/"
        kept = f"{_COOKIE}={signin.cookie}; Path={place}; HttpOnly; SameSite=Strict"
        return _elsewhere(place, {"Set-Cookie": kept})

    async def _inside(self, method: str, what: str, request: HttpRequest, signin: SignIn) -> Answer:
        match method, what:
            case "GET", "":
                return await self._show(request, signin)
            case "POST", "answer" | "sign-out":
                form = _form(request)
                if not signin.sent_by(form.get("token", "")):
                    return _outside("This form is not from this page, so nothing was done; load the page again.", 403)
                if what == "answer":
                    return await self._take(form, signin)
                self._signins.leave(signin)
                return _outside(_SIGNED_OUT, 200)
            case _:
                return _outside(_NOWHERE, 404)

    # What is asked.

    async def _show(self, request: HttpRequest, signin: SignIn) -> Answer:
        known = [id_ for id_ in request.query.get("known", "").split(",") if id_]
        if "wait" in request.query:
            with anyio.move_on_after(_PATIENCE.total_seconds()):
                await self._others_than(known)
        if not self._signins.lasts(signin):
            return _outside(_SIGN_IN, 401)
        notes = [await self._closed(id_, request.query.get("said", "")) for id_ in known]
        return await self._page(signin, [one for one in notes if one])

    async def _others_than(self, known: Sequence[str]) -> None:
        """Returns when other questions would be shown than these."""
        found = await self._jobs.questions.list()
        while {one.id for one in found[: pages.MOST]} == set(known):
            found = await self._jobs.questions.list(known=[one.id for one in found])

    async def _closed(self, id_: str, said: str) -> Html:
        """What became of a question; nothing while it is open."""
        posed = await self._posed(id_)
        if posed is not None:
            return Html("") if posed.state is State.OPEN else pages.closed(posed)
        what = {"typed": "has what you typed", "ended": "has no more input"}.get(said, "is asked no longer")
        return pages.note(id_, _called(id_, posed), what)

    async def _posed(self, id_: str) -> Posed | None:
        """A question; `None` of a prompt that is shown no longer, and of what is forgotten."""
        try:
            return await self._jobs.questions.get(id_)
        except BideError:
            return None

    async def _page(
        self, signin: SignIn, notes: Sequence[Html], status: int = 200, again: Again | None = None
    ) -> Answer:
        """The page; `again` is what was said to one of the questions and was not taken."""
        found = await self._jobs.questions.list()
        shown, known = found[: pages.MOST], self._whose
        whose = {one.job: known.get(one.job) or await self._job(one.job) for one in shown}
        self._whose = whose
        asked = [_asked(posed, whose[posed.job], again) for posed in shown]
        html = pages.page(asked, len(found), notes, signin.token, datetime.now(UTC))
        return Answer(html.encode(), status)

    async def _job(self, id_: str) -> Job | None:
        try:
            return await self._jobs.get(id_)
        except BideError:
            return None

    # What is answered.

    async def _take(self, form: dict[str, str], signin: SignIn) -> Answer:
        """Answer a question. If that cannot be, what was typed comes back, unless it is a secret."""
        id_, typed = form.get("question", ""), form.get("text", "")
        try:
            done = await self._say(id_, form)
        except BadRequest as error:
            return await self._page(signin, (), STATUSES[error.code], Again(id_, str(error), typed))
        except BideError as error:
            why = error.facts["how"] if isinstance(error, QuestionClosed) else str(error)
            notes = [pages.note(id_, _called(id_, await self._posed(id_)), f"did not take your answer: {why}")]
            return await self._page(
                signin, [*notes, *([pages.not_taken(typed)] if typed else [])], STATUSES[error.code]
            )
        word = "ended" if done.state is State.DENIED else "typed"
        return _elsewhere(f"./?known={quote(id_)}" + ("" if done.typed_at is None else f"&said={word}"))

    async def _say(self, id_: str, form: dict[str, str]) -> Posed:
        say, typed = form.get("say", ""), form.get("text") or form.get("secret", "")
        posed = await self._posed(id_)
        # What is gone is perhaps a prompt that this very form answered, and it was sent twice: its key says so.
        value = said(posed, say, typed) if posed is not None else None if say == "deny" else typed
        return await self._jobs.questions.answer(id_, value, via=Via.PERSON, by=_BY, key=form.get("key"))


def _asked(posed: Posed, job: Job | None, again: Again | None) -> pages.Asked:
    error, typed = ("", "") if again is None or again.question != posed.id else (again.error, again.typed)
    return pages.Asked(posed, job, secrets.token_hex(16), error, typed)


def _called(id_: str, posed: Posed | None) -> str:
    job, mark, _ = id_.partition(":")
    return posed.question.text if posed is not None else f"The prompt of {job}" if mark else "The question"


def said(posed: Posed, say: str, typed: str) -> Value | None:
    """What a form says; `None` denies. Raises BadRequest."""
    question = posed.question
    if say == "deny":
        return None
    if question.form is Form.BOOLEAN and say in ("yes", "no"):
        return say == "yes"
    if question.form is Form.SELECT and say in map(str, range(len(question.options))):
        return question.options[int(say)]
    if question.form is not Form.TEXT or say != "text":
        raise BadRequest(detail="That answers nothing: press one of the buttons.")
    if typed or posed.typed_at is not None:
        return typed
    if question.default is None:
        raise BadRequest(detail="Nothing was typed: type an answer, or deny it.")
    return question.default


def _form(request: HttpRequest) -> dict[str, str]:
    """The fields of a form. Raises BadRequest."""
    try:
        body = request.body.decode("ascii")
        return dict(parse_qsl(body, keep_blank_values=True, errors="replace", max_num_fields=_FIELDS_MAX))
    except ValueError as error:
        raise BadRequest(detail="this is no form of this page") from error


def _static(name: str) -> Answer:
    found = files("static").get(name)
    return _outside(_NOWHERE, 404) if found is None else Answer(found, kind=_KINDS[name.rpartition(".")[2]])


def _outside(sentence: str, status: int) -> Answer:
    return Answer(pages.outside(sentence).encode(), status)


def _elsewhere(place: str, headers: dict[str, str] | None = None) -> Answer:
    return Answer(b"", 303, headers={"Location": place, **(headers or {})})
