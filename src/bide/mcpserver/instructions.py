"""What a client is told when it connects: how its own tools start something that takes time, and wait for it."""

from __future__ import annotations

from collections.abc import Sequence

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
    "handles": "Spawn with shell, python or terminal (action spawn) under an id of your choice, do other work, then await with 'any' or 'all' of those "
    "ids (one call, costs nothing while it waits). fetch shows how one is, apply gives it input, abort ends it. Never poll in a loop.",
    "llm": "Other LLMs: claude_request and its like answer, or past 45 s give the jobId of a request that goes on; the _async ones give it at once. Do "
    "other work, then llm_job_watch with it (blocks, no polling), and llm_job_result. llm_review asks several.",
}
_NO_BACKGROUND = "bash runs a command and answers with its output."


def instructions(toolsets: Sequence[str], *, background: bool = True) -> str:
    """Return them for a client with these toolsets; without `background` those of `job` have no background jobs."""
    texts = [_TEXTS[name] for name in toolsets if name in _TEXTS]
    if not background:
        texts = [_NO_BACKGROUND if text is _TEXTS["job"] else text for text in texts]
    return " ".join([_DURABLE, *texts])
