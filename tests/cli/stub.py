"""A stand-in for the daemon, for what a real one does only when it dies at the right moment."""

import socket
import threading
from pathlib import Path

from bide.client.blocking import Link


class Stub:
    """Answers each connection to a home with given bytes, and hangs up."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(home / "bide.sock"))
        self._listener.listen()
        self._threads: list[threading.Thread] = []

    def __call__(self, answers: list[bytes]) -> Link:
        """A link to it, which will be given these answers."""
        self._threads.append(threading.Thread(target=self._serve, args=(answers,)))
        self._threads[-1].start()
        return Link(str(self.home))

    def _serve(self, answers: list[bytes]) -> None:
        for answer in answers:
            connection, _ = self._listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    def close(self) -> None:
        for thread in self._threads:
            thread.join()
        self._listener.close()
