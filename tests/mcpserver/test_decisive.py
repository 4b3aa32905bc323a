"""The first answer about a failed run, on the corpus of real failing logs."""

from pathlib import Path

import pytest
from tests.mcpserver.clients import agent
from tests.support.corpus import CLASSES, load

from bide.api import Jobs

WANTED = 0.95
LONGEST = 9_000
"""Characters of an answer: the default budget of 2,000 tokens, and what is said around the output."""


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_the_first_answer_about_a_failed_run_has_the_decisive_lines(remote: Jobs, tmp_path: Path) -> None:
    logs = load()
    missed: dict[str, list[str]] = {name: [] for name in CLASSES}
    async with agent(remote, tmp_path, output="text") as ai:
        for log in logs:
            text = await ai.text("run", command=log.command(tmp_path), wait=60)
            assert len(text) < LONGEST, log.name
            if not log.shown_by(text):
                missed[log.size_class].append(log.name)
    assert sum(map(len, missed.values())) <= (1 - WANTED) * len(logs), missed
