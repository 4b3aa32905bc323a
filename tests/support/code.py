"""Python code as a job, run by the interpreter of the tests."""

import sys
from typing import Unpack

from tests.support.patience import ended

from bide.api import Jobs, Ran
from bide.model.request import RunOptions

HERE = {"VIRTUAL_ENV": sys.prefix}
"""What makes a job choose this interpreter."""


async def python(jobs: Jobs, code: str, **options: Unpack[RunOptions]) -> Ran:
    """Run Python code to its end."""
    options["env"] = {**HERE, **options.get("env", {})}
    options["language"] = "python"
    return await jobs.run(code, **options)


async def printed(jobs: Jobs, code: str, **options: Unpack[RunOptions]) -> str:
    """What code that must succeed prints."""
    ran = await python(jobs, code, **options)
    assert ended(ran.job).end.success, ran.err
    return out(ran)


def out(ran: Ran) -> str:
    """What a run wrote to stdout."""
    assert ran.out is not None
    return ran.out.data.decode()


def err(ran: Ran) -> str:
    """What a run wrote to stderr."""
    assert ran.err is not None
    return ran.err.data.decode()
