"""Time bounds for tests that pytest-timeout does not give: on a teardown after a failure, and on code that ignores its signal.

pytest-timeout arms one timer per test and disarms it at the first failure, so the teardown of a failed test has no
bound. Here every teardown gets a time limit of its own, as long as the test's. What still does not end (a loop
that swallows exceptions, a thread that holds the interpreter) ends its worker, with the stack of every thread; xdist
reports the test as failed and goes on with another worker.
"""

import faulthandler
from collections.abc import Generator
from typing import Any, cast

import pytest
import pytest_timeout  # pyright: ignore[reportMissingTypeStubs] - it has none
from _pytest.faulthandler import fault_handler_stderr_fd_key

PHASES = 3
"""Setup and call share one time limit, teardown has another; at the third the process ends."""


def _settings(item: pytest.Item) -> Any:
    """Return what pytest-timeout found for a test."""
    return cast("Any", pytest_timeout)._get_item_settings(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    limit = float(_settings(item).timeout or 0)
    if limit:
        stderr = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(PHASES * limit, file=stderr, exit=True)
    try:
        return (yield)
    finally:
        if limit:
            faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    settings = _settings(item)
    if settings.timeout and not settings.func_only:
        item.config.hook.pytest_timeout_cancel_timer(item=item)
        item.config.hook.pytest_timeout_set_timer(item=item, settings=settings)
    return (yield)
