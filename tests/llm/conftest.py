"""Fake LLM command lines on the PATH."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

FAKE = Path(__file__).parent / "fakes" / "fake.py"
NAMES = ("claude", "codex", "gemini", "grok", "vibe")
PROGRAMS = {"claude": "claude", "codex": "codex", "gemini": "gemini", "grok": "grok", "mistral": "vibe"}


class Fakes:
    """Where they are, what they are to do, and what they were started with."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._monkeypatch = monkeypatch
        folder.mkdir()
        code = FAKE.read_text(encoding="utf-8")
        for name in NAMES:
            program = folder / name
            program.write_text(f"#!{sys.executable} -IS\n{code}", encoding="utf-8")
            program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("FAKE_LOG", str(self.log))
        for key in ("SYNC_DEADLINE_MS", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.delenv(key, raising=False)

    def set(self, **values: str) -> None:
        """Set FAKE_MODE and the like for what is started from here on."""
        for key, value in values.items():
            self._monkeypatch.setenv(f"FAKE_{key.upper()}", value)

    def env(self, name: str, value: str) -> None:
        """Set a variable of whoever asks."""
        self._monkeypatch.setenv(name, value)

    def remove(self, name: str) -> None:
        """This one is not installed."""
        (self.folder / name).unlink()

    @property
    def started(self) -> list[dict[str, Any]]:
        """What each start saw."""
        if not self.log.exists():
            return []
        whole = self.log.read_text(encoding="utf-8").rpartition("\n")[0]  # the last line may be half written
        return [json.loads(line) for line in whole.splitlines()]


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return Fakes(tmp_path / "bin", monkeypatch)
