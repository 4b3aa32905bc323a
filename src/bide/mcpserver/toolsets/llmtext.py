"""Requests and answers in the words of seed 004."""

from __future__ import annotations

from collections.abc import Sequence

from bide.mcpserver.toolsets.llmfields import CLIS
from bide.model.job import Job
from bide.model.llm.answer import Answer, Asked
from bide.model.llm.conversation import Conversation
from bide.model.llm.programs import Health, Models, Process
from bide.model.llm.steps import Progress, Step, Watched
from bide.model.phase import Ended, Queued
from bide.model.schema import Json
from bide.model.times import ms, stamp


def snapshot(answer: Answer) -> Json:
    """Return a job as `llm_job_status` tells of it."""
    job = answer.job
    phase = job.phase
    started = job.created_at if isinstance(phase, Queued) else phase.started_at
    return {
        "id": job.id,
        "cli": answer.cli,
        "status": str(answer.status),
        "startedAt": stamp(started),
        "finishedAt": stamp(phase.ended_at) if isinstance(phase, Ended) else None,
        "exitCode": answer.exit_code,
        "correlationId": answer.correlation_id,
        "sessionId": session_of(answer),
        "outputTruncated": answer.exit_code == 126,
        "stdoutBytes": _size(job, "out"),
        "stderrBytes": _size(job, "err"),
        "error": answer.error or None,
        "exited": isinstance(phase, Ended),
        "attempt": 1 if job.spec.ask is None else job.spec.ask.attempt,
        "retryOf": None if job.spec.ask is None else job.spec.ask.retry_of,
    }


def _size(job: Job, stream: str) -> int:
    held = job.phase.end if isinstance(job.phase, Ended) else job.facts
    return 0 if held is None else int(getattr(held, stream).size)


def session_of(answer: Answer) -> str | None:
    """Return the session's id: bide's if it has one, else the CLI's own as soon as it has said it."""
    facts = answer.job.spec.ask
    if facts is not None and facts.session is not None:
        return facts.session
    return answer.reading.conversation or (None if facts is None else facts.conversation)


def exit_of(answer: Answer) -> str:
    """Return how the process ended, in the words of a person at a terminal."""
    if answer.exit_code is None:
        return f"{answer.status}, no exit code"
    return f"exit code {answer.exit_code}"


def figures(answer: Answer) -> Json:
    """Return the figures that the gateway has beside an answer."""
    phase, facts = answer.job.phase, answer.job.spec.ask
    took = phase.ended_at - phase.started_at if isinstance(phase, Ended) and phase.started_at else None
    return {
        "model": answer.reading.model or (facts and facts.model) or "default",
        "durationMs": ms(took),
        "retryCount": 0 if facts is None else facts.attempt - 1,
    }


def parsed(answer: Answer, most: int | None = None) -> Json:
    """Return what was read from the output; of a long answer the last characters."""
    reading, tokens = answer.reading, answer.reading.tokens
    cut = most is not None and len(reading.text) > most
    return {
        "text": reading.text[-most:] if cut and most else reading.text,
        **({"textTruncated": True, "textTotalChars": len(reading.text)} if cut else {}),
        "costUsd": reading.cost_usd,
        "usage": {
            "inputTokens": tokens.input,
            "outputTokens": tokens.output,
            "cacheReadInputTokens": tokens.cache_read,
            "cacheCreationInputTokens": tokens.cache_write,
        },
        "model": reading.model,
        "numTurns": reading.turns,
        "toolUses": dict(reading.tools),
    }


def session(one: Conversation) -> Json:
    """Return a conversation in the gateway's words."""
    return {
        "id": one.id,
        "cli": one.cli,
        "description": one.title or None,
        "createdAt": stamp(one.created_at),
        "lastUsedAt": stamp(one.last_used_at),
        "isActive": one.active,
    }


def active(found: Sequence[Conversation]) -> Json:
    """Return the active conversation of each CLI."""
    return {cli: next((one.id for one in found if one.cli == cli and one.active), None) for cli in CLIS}


def models(found: Sequence[Models]) -> Json:
    """Return the models of each CLI in the gateway's words: what each is good for, nobody here knows."""
    return {
        one.cli: {
            "models": dict.fromkeys(one.models, ""),
            "modelOrder": list(one.models),
            "defaultModel": one.default,
            "aliases": dict(one.aliases),
        }
        for one in found
    }


PHASES: dict[Progress, str] = {
    **{phase: str(phase) for phase in Progress},
    Progress.WORKING: "tool",
    Progress.ANSWERING: "writing",
    Progress.FINISHING: "writing",
}
"""How far a request is, in the gateway's words."""
_MESSAGES = {
    Progress.QUEUED: "Waits for its turn",
    Progress.STARTING: "The CLI was started",
    Progress.THINKING: "The model thinks",
    Progress.WORKING: "The model uses a tool",
    Progress.ANSWERING: "The model writes",
    Progress.FINISHING: "The answer is complete",
}
_LIFE = (Progress.QUEUED, Progress.STARTING)


def progress(found: Watched, after: int) -> Json:
    """The steps that a request made, and where to go on."""
    return {
        "capability": "structured" if found.structured else "activity_only",
        "events": [_event(step) for step in found.steps],
        "nextAfterSeq": found.steps[-1].seq if found.steps else after,
        "lastSeq": found.last,
        "highWaterSeq": found.last,
        "hasMore": found.more,
    }


def _event(step: Step) -> Json:
    kind = "lifecycle" if step.phase in _LIFE else "activity" if step.phase in _MESSAGES else "terminal"
    message = _MESSAGES.get(step.phase, f"The request is {step.phase}")
    return {"seq": step.seq, "phase": PHASES[step.phase], "kind": kind, "message": message, "bytes": step.bytes}


def common(asked: Asked, given: Json, servers: list[str]) -> Json:
    """What every reply to a request has."""
    answer, approval = asked.answer, asked.approval
    body: Json = {
        "cli": answer.cli,
        "correlationId": answer.correlation_id,
        "sessionId": session_of(answer),
        "approval": None,
        "mcpServers": {"requested": list(given.get("mcpServers", servers))},
    }
    if approval is not None:
        body["approval"] = {
            "id": approval.id,
            "status": approval.status,
            "policy": str(approval.policy),
            "score": approval.score,
            "reasons": list(approval.reasons),
        }
    if answer.notes:
        body["warnings"] = warnings(answer)
    facts = answer.job.spec.ask
    if facts is not None and facts.worktree is not None:
        body["worktree"] = facts.worktree
    if facts is not None and "promptParts" in given:
        body["stablePrefix"] = {"hash": facts.prefix_hash, "tokens": facts.prefix_tokens}
    if answer.cli == "gemini":
        body["resumable"] = "sessionId" in given
    return body


def warnings(answer: Answer) -> list[Json]:
    """What a caller should know."""
    return [{"code": note.code, **note.figures, "message": note.message} for note in answer.notes]


def deferred(asked: Asked, given: Json, servers: list[str]) -> Json:
    """The reply to a request whose answer was not there in time."""
    message = f"Execution exceeded sync deadline ({ms(asked.deadline)}ms). Poll with llm_job_status, fetch with llm_job_result."
    return {
        "status": "deferred",
        "jobId": asked.job.id,
        "message": message,
        **common(asked, given, servers),
        "pollWith": "llm_job_status",
        "fetchWith": "llm_job_result",
        "collectWith": "llm_job_result",
        "cancelWith": "llm_job_cancel",
        "watchWith": "llm_job_watch",
    }


def health(one: Process) -> Json:
    """How the process of a running job does."""
    return {
        "jobId": one.job,
        "cli": one.cli,
        "pid": one.pid,
        "alive": one.alive,
        "isDead": not one.alive,
        "isZombie": one.zombie,
        "cpuPercent": one.cpu_percent,
        "memoryRssKb": one.rss_kb,
        "runningForMs": ms(one.running),
    }


def cli_health(one: Health) -> Json:
    """Whether a CLI is asked."""
    return {
        "cli": one.cli,
        "circuitBreaker": str(one.breaker),
        "failuresInARow": one.failures,
        "retryInMs": ms(one.rest),
        "lastError": one.error or None,
        "running": one.running,
        "queued": one.waiting,
    }
