"""A write's future: settled once, by one thread, heard by any."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bide.store.future import Future


def test_threads_that_wait_all_get_the_result() -> None:
    future: Future[int] = Future()
    assert not future.done()
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(future.result) for _ in range(8)]
        future.set_result(7)
        assert [one.result(10) for one in waiting] == [7] * 8
    assert future.done()
    assert future.exception() is None


def test_a_failure_is_raised_for_everybody_who_looks() -> None:
    future: Future[int] = Future()
    future.set_exception(ValueError("no room"))
    assert future.done()
    for _ in range(2):
        with pytest.raises(ValueError, match="no room"):
            future.result()
    assert isinstance(future.exception(), ValueError)


def test_what_is_to_be_called_is_called_once_also_if_it_is_settled_already() -> None:
    future: Future[int] = Future()
    heard: list[int] = []
    future.add_done_callback(lambda done: heard.append(done.result()))
    assert heard == []
    future.set_result(1)
    future.add_done_callback(lambda done: heard.append(10 * done.result()))
    assert heard == [1, 10]


def test_one_that_fails_to_hear_does_not_keep_the_others_from_it(caplog: pytest.LogCaptureFixture) -> None:
    future: Future[int] = Future()
    heard: list[int] = []
    future.add_done_callback(lambda _: 1 // 0)
    future.add_done_callback(lambda done: heard.append(done.result()))
    with caplog.at_level(logging.ERROR):
        future.set_result(2)
    assert heard == [2]
    assert "ZeroDivisionError" in caplog.text


def test_none_is_missed_that_comes_while_it_is_being_settled() -> None:
    for _ in range(200):
        future: Future[int] = Future()
        heard = threading.Semaphore(0)
        both = threading.Barrier(2)

        def listen(
            future: Future[int] = future, heard: threading.Semaphore = heard, both: threading.Barrier = both
        ) -> None:
            both.wait()
            future.add_done_callback(lambda _: heard.release())

        thread = threading.Thread(target=listen)
        thread.start()
        both.wait()
        future.set_result(0)
        thread.join()
        assert heard.acquire(blocking=False)
