"""Ctrl-C is felt where nothing is half done, and there it is always felt."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from bide.cli.interrupts import Interrupts

PATIENCE = 20.0


@pytest.fixture
def silent() -> Iterator[int]:
    """A descriptor on which nothing arrives."""
    reads, writes = os.pipe()
    yield reads
    os.close(reads)
    os.close(writes)


def test_an_interrupt_that_interrupts_no_system_call_is_felt_at_once(silent: int) -> None:
    """As one that comes just before the call: here another thread takes the signal, and the call hears nothing of it."""
    go = threading.Event()

    def interrupt() -> None:
        go.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    began = time.monotonic()
    with Interrupts() as interrupts:
        go.set()
        with pytest.raises(KeyboardInterrupt):
            interrupts.poll([silent], PATIENCE)
        assert interrupts.poll([silent], 0) == [], "it is felt once"
    thread.join()
    assert time.monotonic() - began < PATIENCE


def test_an_interrupt_before_the_wait_is_kept_for_it(silent: int) -> None:
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.poll([silent], PATIENCE)
        assert interrupts.poll([silent], 0) == []
