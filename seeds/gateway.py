"""Fake LLM command lines on PATH, and a client of the toolset `llm`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from seeds.trial import HOSTS, Client, Json, Trial

CLIS = ("claude", "codex", "gemini", "grok", "mistral")
PROGRAMS = {"mistral": "vibe"}
TERMINAL = ("completed", "failed", "canceled", "orphaned")


def fake(t: Trial, cli: str) -> Path:
    """Put a fake command line on PATH."""
    program = PROGRAMS.get(cli, cli)
    path = t.root / "bin" / program
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -S {HOSTS / "fake_cli.py"} {program} {t.root} "$@"\n')
    path.chmod(0o755)
    return path


def llm(
    t: Trial, *, act: bool = True, settings: str = "", env: Json | None = None, clis: tuple[str, ...] = CLIS
) -> Client:
    """Fake the command lines and connect; with `act` requests may act without asking."""
    for cli in clis:
        fake(t, cli)
    if not (t.home / "config.toml").exists():
        t.settings(("[llm]\nenabled = true\n" if act else "[llm]\n") + settings)
    return t.client("llm", env={key: str(value) for key, value in (env or {}).items()})


def calls(t: Trial, word: str = "") -> list[Json]:
    """List how the fakes were called, oldest first; `word` picks those whose prompt has it."""
    path = t.root / "calls.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines]
    return [one for one in found if word in one["stdin"] or any(word in part for part in one["argv"])]


def argv_of(t: Trial, word: str) -> list[str]:
    """Return the words of the newest call whose prompt has this word."""
    found = calls(t, word)
    return found[-1]["argv"] if found else []


def begin(c: Client, cli: str, prompt: str, **more: object) -> Json:
    """Ask in the background; return the whole answer."""
    return c.call(f"{cli}_request_async", {"prompt": prompt, **more}).data


def job_of(data: Json) -> str:
    """Return the job's id of a start."""
    return str((data.get("job") or {}).get("id", ""))


def status(c: Client, job: str) -> Json:
    """Return the job as llm_job_status shows it."""
    found = c.call("llm_job_status", {"jobId": job}).data
    return found.get("job") or found


def result(c: Client, job: str, **more: object) -> Json:
    """Return what llm_job_result shows of a job."""
    found = c.call("llm_job_result", {"jobId": job, **more}).data
    return found.get("result") or found


def over(t: Trial, c: Client, job: str, seconds: float = 30) -> Json:
    """Wait for the end of a request."""

    def look() -> Json | None:
        found = status(c, job)
        return found if found.get("status") in TERMINAL else None

    return t.until(look, f"the end of {job}", seconds)


def done(t: Trial, c: Client, cli: str, prompt: str, *, seconds: float = 30, **more: object) -> Json:
    """Ask in the background and return the status at the end."""
    return over(t, c, job_of(begin(c, cli, prompt, **more)), seconds)
