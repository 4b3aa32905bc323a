"""What a daemon says before it hangs up is heard, also where it hung up before the request was sent."""

import socket
import threading
from pathlib import Path

import pytest
from tests.support.patience import PATIENCE

from bide.client.blocking import Exchange, Gone
from bide.client.http1 import request
from bide.client.transport import Transport
from bide.model.errors import TooManyConnections
from bide.web.heads import whole

REFUSAL = whole(TooManyConnections(door="bide.sock", most="2").to_json(), 503)


def test_a_refusal_is_read_although_the_request_cannot_be_sent() -> None:
    ours, its = socket.socketpair()
    its.sendall(REFUSAL)
    its.close()
    exchange = Exchange(ours, request("GET", "/v1/daemon"))
    while not exchange.receive():
        pass
    with pytest.raises(TooManyConnections):
        exchange.answer.json()
    exchange.close()


def test_who_hangs_up_without_a_word_is_gone() -> None:
    ours, its = socket.socketpair()
    its.close()
    with pytest.raises(Gone):
        Exchange(ours, request("GET", "/v1/daemon")).receive()


async def test_the_async_client_hears_it_as_well(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "bide.sock"))
        listener.listen()
        listener.settimeout(PATIENCE)

        def refuse() -> None:
            for _ in range(20):
                with listener.accept()[0] as peer:
                    peer.sendall(REFUSAL)

        refusing = threading.Thread(target=refuse)
        refusing.start()
        for _ in range(20):
            with pytest.raises(TooManyConnections):
                await Transport(str(tmp_path)).call("GET", "/v1/jobs/x")
        refusing.join()
