"""Questions over `kill -9` of the daemon: none is lost, none is answered twice."""

import shlex
import sys
from pathlib import Path

import anyio
import pytest
from tests.support import homes

from bide.api import Jobs
from bide.model.errors import QuestionClosed
from bide.model.question import Posed
from bide.model.until import Until

ASK = f"{shlex.quote(sys.executable)} -P -m bide ask-user"


async def asked(jobs: Jobs, command: str) -> Posed:
    """What a script asks, once it does."""
    job = (await jobs.run(command, background=True)).job.id
    with anyio.fail_after(60):
        assert (await jobs.wait([job], until=Until(question=()))).met == "question"
    (posed,) = await jobs.questions.list(job=job)
    return posed


async def test_a_question_outlives_the_daemon_and_is_answered_once(remote: Jobs, home: Path) -> None:
    posed = await asked(remote, f'echo "got $({ASK} "Which colour?" --select red --select blue)"')
    await homes.kill_daemon(home)
    with anyio.fail_after(60):
        assert await remote.questions.list() == (posed,)
        facts = (await remote.get(posed.job)).facts
        assert facts is not None
        assert facts.question == posed
        first = await remote.questions.answer(posed.id, "blue", key="mine")
        await homes.kill_daemon(home)
        # Whoever does not know whether it was heard says it again; whoever comes later is told that it was.
        assert await remote.questions.answer(posed.id, "blue", key="mine") == first
        with pytest.raises(QuestionClosed):
            await remote.questions.answer(posed.id, "red")
        await remote.wait([posed.job])
    assert (await remote.read(posed.job)).data == b"got blue\n"
