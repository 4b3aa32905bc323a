"""How far a request is (213)."""

from msgspec.structs import replace
from tests.llm.conftest import Fakes

from bide.api import Jobs
from bide.model.llm.answer import Progress, Reading, Status, phase_of
from bide.model.phase import Queued


async def test_213_how_far_a_request_is_is_read_from_what_it_wrote(local: Jobs, fakes: Fakes) -> None:
    answer = (await local.llm.ask("claude", "hello")).answer
    assert phase_of(answer) is Progress.COMPLETED
    running = replace(answer, status=Status.RUNNING)
    for reading, phase in (
        (Reading(), Progress.STARTING),
        (Reading(conversation="c"), Progress.THINKING),
        (Reading(conversation="c", tools={"Bash": 1}), Progress.WORKING),
        (Reading(text="a", tools={"Bash": 1}), Progress.ANSWERING),
        (Reading(text="a", final=True), Progress.FINISHING),
    ):
        assert phase_of(replace(running, reading=reading)) is phase
    assert phase_of(replace(running, job=replace(answer.job, phase=Queued()))) is Progress.QUEUED
    assert len(fakes.started) == 1
