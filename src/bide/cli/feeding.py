"""Copies this command's stdin to a job's, without ever waiting for the job."""

import os
from binascii import b2a_base64

from bide.cli.terminal import complain
from bide.client.blocking import Link
from bide.client.http1 import quote
from bide.client.patience import Gone
from bide.model.errors import BideError, JobEnded, JobNotFound, NoStdin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.client.blocking import Exchange

_CHUNK = 64 * 1024


class Feeder:
    """Reads stdin when the job took what came before, and sends its end as the end of the job's stdin."""

    def __init__(self, home: str, job: str) -> None:
        """With a connection of its own."""
        self._link = Link(home)
        self._path = f"/v1/jobs/{quote(job)}/send"
        self._exchange: Exchange | None = None
        self._at_end = False
        self.done = False

    def fileno(self) -> int:
        """What to poll: stdin, or the answer to what was sent."""
        return 0 if self._exchange is None else self._exchange.fileno()

    def pump(self) -> None:
        """Go on: `fileno` can be read. When the job takes no more, feeding is done."""
        try:
            if self._exchange is None:
                self._send()
            elif self._exchange.receive():
                self._sent(self._exchange)
        except Gone:
            self._stop(
                "the daemon went away while input was sent to the job: some of it may be missing, the rest is not sent"
            )
        except (JobEnded, JobNotFound, NoStdin):
            self._stop(None)
        except BideError as error:
            self._stop(f"input cannot be sent to the job: {error}")

    def _send(self) -> None:
        data = os.read(0, _CHUNK)
        self._at_end = not data
        body = {"base64": b2a_base64(data, newline=False).decode()} if data else {"eof": True}
        self._exchange = self._link.begin("POST", self._path, body)

    def _sent(self, exchange: "Exchange") -> None:
        exchange.close()
        self._exchange = None
        exchange.answer.json()
        self.done = self._at_end

    def _stop(self, why: str | None) -> None:
        self.done = True
        if why is not None:
            complain(why)
