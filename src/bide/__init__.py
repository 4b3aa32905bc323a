"""bide: a job runtime for AI agents and the people who work with them.

    async with bide.connect() as jobs:
        ran = await jobs.run("make test", background=True, name="tests")
        waited = await jobs.wait(["tests"])

`connect` asks the daemon of the home, `local` does the same in this process. Everything here is imported when it is
first used, so that the command line starts fast.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.api import Filter, Group, Killed, Page, Ran
    from bide.doors import connect, local
    from bide.model.dedup import Dedup, Policy
    from bide.model.errors import BideError
    from bide.model.excerpt import Excerpt
    from bide.model.job import Job, JobId, Spec
    from bide.model.limits import Limits, OnOutputCap
    from bide.model.llm.answer import Answer, Asked
    from bide.model.llm.ask import Ask
    from bide.model.llm.prompt import Parts
    from bide.model.output import Match, Slice, Stream
    from bide.model.phase import End, Ended, Queued, Reason, Running, Usage
    from bide.model.request import Request
    from bide.model.service import Port, Restart, Service
    from bide.model.turn import Turn
    from bide.model.until import Until
    from bide.model.waiting import Mode, Waited
    from bide.version import VERSION

__all__ = [
    "VERSION",
    "Answer",
    "Ask",
    "Asked",
    "BideError",
    "Dedup",
    "End",
    "Ended",
    "Excerpt",
    "Filter",
    "Group",
    "Job",
    "JobId",
    "Killed",
    "Limits",
    "Match",
    "Mode",
    "OnOutputCap",
    "Page",
    "Parts",
    "Policy",
    "Port",
    "Queued",
    "Ran",
    "Reason",
    "Request",
    "Restart",
    "Running",
    "Service",
    "Slice",
    "Spec",
    "Stream",
    "Turn",
    "Until",
    "Usage",
    "Waited",
    "connect",
    "local",
]

_WHERE = {
    "bide.api": ("Filter", "Group", "Killed", "Page", "Ran"),
    "bide.doors": ("connect", "local"),
    "bide.model.dedup": ("Dedup", "Policy"),
    "bide.model.errors": ("BideError",),
    "bide.model.excerpt": ("Excerpt",),
    "bide.model.job": ("Job", "JobId", "Spec"),
    "bide.model.llm.answer": ("Answer", "Asked"),
    "bide.model.llm.ask": ("Ask",),
    "bide.model.llm.prompt": ("Parts",),
    "bide.model.limits": ("Limits", "OnOutputCap"),
    "bide.model.output": ("Match", "Slice", "Stream"),
    "bide.model.phase": ("End", "Ended", "Queued", "Reason", "Running", "Usage"),
    "bide.model.request": ("Request",),
    "bide.model.turn": ("Turn",),
    "bide.model.service": ("Port", "Restart", "Service"),
    "bide.model.until": ("Until",),
    "bide.model.waiting": ("Mode", "Waited"),
    "bide.version": ("VERSION",),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    from importlib import import_module  # noqa: PLC0415 - paid for only by those who use the library

    for module, names in _WHERE.items():
        if name in names:
            value = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'bide' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, also those that nobody has used yet."""
    return [*globals(), *__all__]
