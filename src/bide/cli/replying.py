"""What the job of a foreground run asks, put to whoever is at this terminal."""

import os
import sys

from bide import config
from bide.cli.answer import is_person
from bide.cli.terminal import complain
from bide.client.http1 import quote
from bide.model.errors import BideError, QuestionClosed
from bide.model.sanitize import one_line
from bide.model.words import asked, how_to_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.client.blocking import Link
    from bide.client.http1 import Json


class Reply:
    """The questions of one job, each shown once and answered by the next line that is typed."""

    def __init__(self, link: "Link", *, feeds: bool) -> None:
        """Where our input goes to the job (`feeds`), a line of it is no answer."""
        self._link = link
        self._takes = not feeds and is_person()
        self._shown: set[str] = set()
        self._open: Json | None = None

    def fileno(self) -> int:
        """Where answers are typed; -1 while nothing is asked here."""
        return -1 if self._open is None else 0

    def show(self, job: "Json") -> None:
        """Show what the job asks, if it is new."""
        question: Json | None = job["waiting"].get("question")
        if question is None or question["id"] in self._shown or not os.isatty(2):
            return
        self._shown.add(question["id"])
        if self._takes and not question["secret"]:
            self._open = question
            self._prompt()
        else:
            complain(f"job {job['id']} asks {one_line(asked(question))!r}; answer it with: {how_to_answer(job)}")

    def _prompt(self) -> None:
        if self._open is not None:
            print(f"{one_line(asked(self._open))} ", end="", file=sys.stderr, flush=True)

    def pump(self) -> None:
        """Take the line that was typed as the answer; one that does not fit is asked for again."""
        question, line = self._open, os.read(0, 4096).decode(errors="replace")
        if question is None or not line:
            self._open = None
            return
        said = line.rstrip("\r\n")
        plain = not said and question["default"] is not None
        body: Json = {"value": question["default"]} if plain else {"text": said}
        body |= {"via": "person", "by": config.owner() or "user", "key": os.urandom(16).hex()}
        try:
            self._link.call("POST", f"/v1/questions/{quote(question['id'])}/answer", body)
            self._open = None
        except QuestionClosed as error:
            self._open = None
            complain(str(error))
        except BideError as error:
            complain(str(error))
            self._prompt()
