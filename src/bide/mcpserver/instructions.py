"""What a client is told when it connects: how its own tools start something that takes time, and wait for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bide.model.handletools import ACTIONS, HandlesSettings

_DURABLE = "bide runs what takes time as durable jobs, which outlive you."
_TEXTS = {
    "core": "Pattern: run; if the answer is a job that still runs, do other work and then await it (one call, costs nothing while it waits). "
    "Never poll in a loop. jobs lists yours.",
    "job": "bash runs a command and answers with its output; with async true, or if it outlasts its call, it becomes a background job. Do other "
    "work, then call job once: it waits for the first of your background jobs to end, or of those in 'poll', and costs nothing while "
    "it waits. Call it again only for those that still run.",
    "sessions": "A session keeps folder, environment and vars: startSession, then exec with its sessionId (Python, or shell). For what takes long: exec "
    "with background true, do other work, then waitJob with its jobId (one call, costs nothing while it waits). getJobOutput reads what it "
    "wrote so far; do not poll it in a loop.",
    "process": "process__run answers with the end of a command; for what takes long give background true, do other work, then process__monitor with "
    "'wait' (one call, costs nothing while it waits), and process__logs for its output. capabilities__list shows what you may do.",
    "llm": "Other LLMs: claude_request and its like answer, or past 45 s give the jobId of a request that goes on; the _async ones give it at once. Do "
    "other work, then llm_job_watch with it (blocks, no polling), and llm_job_result. llm_review asks several.",
}
_NO_BACKGROUND = "bash runs a command and answers with its output."
_ACTIONS = {"fetch": "shows how one is", "apply": "gives it input", "abort": "ends it"}
_BUILTIN: Mapping[str, Sequence[str]] = dict.fromkeys(HandlesSettings().builtin, ACTIONS)


def instructions(
    toolsets: Sequence[str], *, background: bool = True, stateful: Mapping[str, Sequence[str]] = _BUILTIN
) -> str:
    """Return them for a client with these toolsets.

    Without `background` those of `job` have no background jobs; `stateful` has the tools of `handles`, each with its actions.
    """
    texts = {**_TEXTS, "handles": _of_handles(stateful), **({} if background else {"job": _NO_BACKGROUND})}
    return " ".join([_DURABLE, *(texts[name] for name in toolsets if texts.get(name))])


def _of_handles(stateful: Mapping[str, Sequence[str]]) -> str:
    """Return how stateful tools are used; empty without any."""
    if not stateful:
        return ""
    *most, last = stateful
    tools = f"{', '.join(most)} or {last}" if most else last
    there = {action for actions in stateful.values() for action in actions}
    said = ", ".join(f"{action} {does}" for action, does in _ACTIONS.items() if action in there)
    return (
        f"Spawn with {tools} (action spawn) under an id of your choice, do other work, then await with 'any' or 'all' of those "
        f"ids (one call, costs nothing while it waits). {said}{'. ' if said else ''}Never poll in a loop."
    )
