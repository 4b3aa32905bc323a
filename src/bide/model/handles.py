"""Seed 002's words for jobs and stateful tools: states, results, refusals, and the schemas of `await` and of each action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bide.model import arguments, task
from bide.model.errors import BadRequest, BideError, JobEnded, JobForgotten, JobNotFound, NameInUse
from bide.model.handletools import ACTIONS
from bide.model.job import ID_PATTERN, NAME_PATTERN, Job
from bide.model.messages import job_to_json
from bide.model.notify import What
from bide.model.phase import Ended, Queued, Reason
from bide.model.schema import Json, fields, text, whole, words
from bide.model.words import ended_how

AWAIT = "await"
AWAIT_DESCRIPTION = (
    "Block until stateful tool handles reach completion. Use `any` to wait for the first handle to finish, `all` to wait for every "
    "handle to finish, or both to combine conditions."
)
NONE_GIVEN = "At least one handle ID required"
_SHOWN = 80
_STOPS = {What.ENDED: "stopped", What.KILLED: "stopped", What.OUTPUT: "content"}
"""Where a notice has another word here."""
_INPUT: Json = {
    "anyOf": [
        *({"type": kind} for kind in ("string", "number", "boolean", "null")),
        {"type": "object", "additionalProperties": True},
    ],
    "description": "text for its input; null ends the input",
}


def kind_of(what: str) -> str:
    """What a notice is called here: `tool.stopped`, `tool.failed`, `tool.waiting`, …"""
    return f"tool.{_STOPS.get(What(what), what)}"


def await_fields() -> Json:
    """What `await` takes."""
    return {
        "any": words("Handle IDs. Returns when at least one of these handles reaches 'stopped'."),
        "all": words("Handle IDs. Returns when every one of these handles reaches 'stopped'."),
        "timeout_secs": whole(
            "Maximum seconds to wait. If exceeded, returns with current handle states. Omit for no timeout.", minimum=0
        ),
    }


def one_of(keys: Sequence[str]) -> Json:
    """At least one of these must be given."""
    return {"anyOf": [{"required": [key]} for key in keys]}


def forms(taken: Json, required: Sequence[str], actions: Sequence[str]) -> dict[str, Json]:
    """The fields of each action of a stateful tool; those of a call without one under the empty name."""
    any_id = text("the handle's id", minLength=1)
    own_id = text("Handle ID for this tool instance. Must be unique across active handles.", minLength=1)
    each = {
        "spawn": ({"id": own_id, **taken}, ("id", *required)),
        "fetch": ({"id": any_id}, ("id",)),
        "apply": ({"id": any_id, "input": _INPUT}, ("id", "input")),
        "abort": ({"id": any_id}, ("id",)),
    }
    acting = {
        action: fields(("action", *needed), action=text(const=action), **properties)
        for action, (properties, needed) in each.items()
        if action in actions
    }
    return {**acting, "": fields(tuple(required), **taken)}


def meant(given: Json, each: Mapping[str, Json]) -> Json:
    """Return the arguments of a stateful tool as they are meant; null is nothing for fields of other actions too."""
    action = given.get("action") or "" if len(each) > 1 else ""
    form = each.get(action) if isinstance(action, str) else None
    if form is None:
        return given
    plain = {key: one for key, one in given.items() if one is not None or key in form["properties"]}
    return arguments.meant(plain, form)


def flattened(each: Mapping[str, Json]) -> Json:
    """Return the forms as one object, for services that take no `oneOf`; `action` says in words what each needs."""
    actions = [action for action in ACTIONS if action in each]
    together: Json = {"action": text(_said_of(each, actions), enum=actions)}
    for form in each.values():
        for key, one in form["properties"].items():
            together.setdefault(key, one)
    return fields((), **together)


def _said_of(each: Mapping[str, Json], actions: Sequence[str]) -> str:
    """Say what each action needs, in place of a form for each."""
    needs = [f"{action}: {', '.join(each[action]['required'][1:])}" for action in actions]
    plain = f" (needs {', '.join(each['']['required'])})" if each[""].get("required") else ""
    return f"needs, for {'; '.join(needs)}. Left out, the call runs to completion{plain}"


def described(description: str, actions: Sequence[str]) -> str:
    """A stateful tool in words: what it does, and the pattern to use it in."""
    later = ", ".join(actions[1:])
    pattern = "Spawn with an id of your choice, then await that id" + (f"; on it go {later}." if later else ".")
    return f"{description} {pattern}".strip()


def guidance(tools: Sequence[str], *, applies: bool) -> str:
    """Say to a model how stateful tools are used; empty without any."""
    if not tools:
        return ""
    answering = "; its row in `pending` has the question and `next`, the call that answers it" if applies else ""
    return (
        f"{', '.join(tools)} can work in the background. Pattern: call each with action spawn and an id of your choice, and in the same "
        "batch call await with these ids (`all`, or `any` for the first). To do other work meanwhile, spawn now and await later. Waiting "
        "costs nothing: never poll with fetch. What stops without being awaited is told to you by itself. "
        f"await also returns when a handle asks you something{answering}. abort what is no longer needed."
    )


def stray_refusal(field: str, actions: Sequence[str]) -> BadRequest:
    """A field that only an action takes, in a call without one."""
    detail = f"{field!r} goes with an 'action': {', '.join(actions)}"
    return BadRequest(detail=f"{detail}; without one the call runs to completion and leaves no handle")


def check_handle_id(ref: str) -> str:
    """The id, if a handle can have it."""
    if not NAME_PATTERN.match(ref) or ID_PATTERN.match(ref):
        detail = f"`{shown(ref)}` cannot be a handle ID; use 1 to 64 letters, digits, '.', '_' or '-'"
        raise BadRequest(detail=f"{detail}, beginning with a letter or digit, and not of the form of a job's id")
    return ref


def state_of(job: Job) -> str:
    """`pending`, `running`, `waiting` or `stopped`."""
    if isinstance(job.phase, Ended):
        return "stopped"
    if isinstance(job.phase, Queued):
        return "pending"
    return "running" if job.facts is None or job.facts.waiting is None else "waiting"


def message_of(job: Job) -> str | None:
    """Why a stopped handle is an error; `None` for one that is not."""
    if not isinstance(job.phase, Ended) or job.phase.end.success:
        return None
    end = job.phase.end
    if end.reason is Reason.EXITED:
        return f"Process exited with code {end.exit_code}"
    return f"Process {ended_how(job_to_json(job))}"


def error_of(job: Job, stderr: str) -> Json | None:
    """The error of a stopped handle: what happened, what it wrote about it, and whether another try may help."""
    message = message_of(job)
    if message is None:
        return None
    assert isinstance(job.phase, Ended)  # noqa: S101 - only what stopped has a message
    if job.spec.kind == task.NAME and job.phase.end.reason is Reason.EXITED:
        message = stderr.strip().rpartition("\n")[2] or message
    lost = job.phase.end.reason is Reason.LOST
    return {"message": message, "trace": [stderr] if stderr else [], "transient": lost}


def is_met(every: Sequence[bool], either: Sequence[bool]) -> bool:
    """Whether all of the first and, if there are any, one of the second have stopped."""
    return all(every) and (not either or any(either))


def shown(ref: str) -> str:
    """A handle's id within a sentence."""
    plain = ref if ref.isprintable() else repr(ref)[1:-1]
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"


def refusal(error: BideError) -> str:
    """An error in this vocabulary's words."""
    if isinstance(error, JobForgotten):
        return f"Handle `{shown(error.facts['job'])}` was forgotten at {error.facts['at']} ({error.facts['why']}); its result is gone"
    if isinstance(error, JobNotFound):
        return f"Handle `{shown(error.facts['job'])}` not found"
    if isinstance(error, NameInUse):
        return f"Handle `{error.facts['name']}` is already active; await or abort it, or choose another ID"
    if isinstance(error, JobEnded):
        return f"Handle `{error.facts['job']}` is stopped, so nothing can be applied to it; fetch gives its result"
    return str(error)
