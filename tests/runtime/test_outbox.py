"""The outbox, in process and over the socket: each event told once, to whom it is due, by what really carried it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import PATIENCE

from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.notice import Level, Message
from bide.model.notify import Notify, What
from bide.model.question import Form, Question
from bide.model.until import Until
from bide.model.waiting import Mode
from bide.runtime.local import LocalJobs

SOON = timedelta(seconds=5)
OWN = "user"


async def due(jobs: Jobs, consumer: str = OWN, *, wait: bool = True) -> Message:
    return await jobs.outbox.pull(consumer, timeout=SOON if wait else timedelta(0))


async def ran(jobs: Jobs, command: str = "true", **options: object) -> str:
    """A job that nobody watched, over and on record."""
    job = (await jobs.run(command, background=True, **options)).job.id  # pyright: ignore[reportArgumentType]
    while not any(job in one.jobs for one in await jobs.outbox.list()):  # noqa: ASYNC110 - the rows follow the end
        await anyio.sleep(0.01)
    return job


async def test_36_an_end_that_nobody_watched_is_told_until_it_is_acknowledged_and_then_never_again(jobs: Jobs) -> None:
    job = await ran(jobs, "echo out; echo oh no >&2; exit 3", name="check", label="night")
    message = await due(jobs)
    for _ in range(2):
        message = await due(jobs)
        (told,) = message.items
        assert (told.job, told.what, told.level, told.exit_code) == (job, "failed", "error", 3)
        assert (told.name, told.label, told.extract) == ("check", "night", "out\noh no")
        assert told.duration_ms is not None
    assert await jobs.outbox.acknowledge(OWN, message.ids) == 1
    assert await jobs.outbox.acknowledge(OWN, message.ids) == 0
    assert (await due(jobs, wait=False)).items == ()


async def test_what_was_done_to_a_job_is_told_to_the_person_and_not_to_its_owner(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True, owner="ann", notify=Notify(on_act=False))).job.id
    await jobs.outbox.subscribe("board", owner="ann")
    for _ in range(2):
        await jobs.outbox.report(job, "was sent SIGTERM", by="ann", key="k1")
    for consumer in (OWN, "board"):
        message = await due(jobs, consumer)
        assert [(item.what, item.says) for item in message.items] == [("acted", "was sent SIGTERM by ann")]
    assert (await due(jobs, "ann", wait=False)).items == ()
    gate.open()
    await jobs.wait([job])
    # It is news after the end as well.
    assert [item.what for item in (await due(jobs)).items] == ["acted"]


async def test_what_a_person_does_to_a_job_of_its_own_is_told_to_nobody(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    await jobs.outbox.report(job, "was sent SIGTERM", by=OWN, key="k1")
    assert (await due(jobs, wait=False)).items == ()
    gate.open()


@pytest.mark.parametrize("act", ["", "x\n--- bide", "x" * 101, "was \x1b[2J"])
async def test_no_act_poses_as_more_than_a_line(jobs: Jobs, act: str) -> None:
    job = (await jobs.run("true")).job.id
    with pytest.raises(BadRequest):
        await jobs.outbox.report(job, act, by="ann", key="k1")


async def test_many_acts_share_a_line(jobs: Jobs) -> None:
    ids = [(await jobs.run("true", owner="ann")).job.id for _ in range(25)]
    for job in ids:
        await jobs.outbox.report(job, "was started with process.run", by="ann", key="k1")
    text = (await due(jobs)).text
    assert "each of these 25 was started with process.run by ann: " in text
    assert len(text) < 1000
    assert all(job in text for job in ids)


async def test_37_a_watched_job_is_not_announced_and_39_its_answer_is_its_acknowledgement(
    jobs: Jobs, gate: Gate
) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    async with anyio.create_task_group() as group:
        group.start_soon(jobs.wait, [job])
        await anyio.wait_all_tasks_blocked()
        await anyio.sleep(0.05)
        gate.open()
    assert (await due(jobs, wait=False)).items == ()
    assert await jobs.outbox.list() == ()


async def test_38_two_watches_are_counted_and_what_ended_meanwhile_is_told_after_them(local: Jobs, gate: Gate) -> None:
    first = (await local.run(gate.wait, background=True)).job.id
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(local.wait, [first])
            with anyio.move_on_after(0.1):
                await local.wait([first])
            gate.open()
    # The cancelled wait told nobody, the other one did.
    assert (await due(local, wait=False)).items == ()


async def test_38_what_ended_during_a_watch_that_was_given_up_is_told(local: Jobs, gate: Gate) -> None:
    job = (await local.run(gate.wait, background=True)).job.id
    other = (await local.run("sleep 60", background=True)).job.id
    async with anyio.create_task_group() as group:
        group.start_soon(local.wait, [job, other])
        await anyio.wait_all_tasks_blocked()
        gate.open()
        assert (await local.outbox.pull(OWN, timeout=timedelta(milliseconds=200))).items == ()
        group.cancel_scope.cancel()
    assert [one.job for one in (await due(local)).items] == [job]


async def test_a_wait_that_timed_out_acknowledges_nothing_that_ended_later(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    assert (await jobs.wait([job], timeout=timedelta(milliseconds=10))).timed_out
    gate.open()
    assert [one.job for one in (await due(jobs)).items] == [job]


async def test_what_any_of_several_left_running_is_told_later(jobs: Jobs, gate: Gate) -> None:
    slow = (await jobs.run(gate.wait, background=True)).job.id
    fast = (await jobs.run("true", background=True)).job.id
    await jobs.wait([slow, fast], mode=Mode.ANY)
    gate.open()
    assert [one.job for one in (await due(jobs)).items] == [slow]


@pytest.mark.parametrize("verb", ["get", "read"])
async def test_who_looks_at_an_end_is_told_of_it(jobs: Jobs, verb: str) -> None:
    job = await ran(jobs, "echo hi")
    await getattr(jobs, verb)(job)
    assert (await due(jobs, wait=False)).items == ()


async def test_39_what_was_told_is_not_handed_out_while_that_is_written(home: Path) -> None:
    async with homes.local(home) as jobs:
        assert isinstance(jobs, LocalJobs)
        for _ in range(5):
            job = await ran(jobs)
            await jobs.get(job)
            jobs.core.seen.write()  # as a timer of an earlier answer does at any moment
            assert (await due(jobs, wait=False)).items == ()


async def test_40_a_list_tells_nobody(jobs: Jobs) -> None:
    job = await ran(jobs)
    await jobs.list()
    assert [one.job for one in (await due(jobs)).items] == [job]


async def test_47_another_owners_news_is_not_mine_and_my_look_does_not_take_it(jobs: Jobs) -> None:
    job = (await jobs.run("true", background=True, owner="ann")).job.id
    assert [one.job for one in (await due(jobs, "ann")).items] == [job]
    assert (await due(jobs, wait=False)).items == ()


async def test_a_person_who_looks_at_an_agents_job_takes_nothing_from_the_agent(home: Path) -> None:
    async with homes.served(home) as jobs:
        job = (await jobs.run("true", background=True, owner="agent")).job.id
        await jobs.wait([job])
        assert [one.job for one in (await due(jobs, "agent")).items] == [job]


async def test_what_is_carried_is_nobody_elses_until_it_is_released_or_settled(jobs: Jobs) -> None:
    job = await ran(jobs)
    message = await jobs.outbox.pull(OWN, carrier="one", timeout=SOON)
    assert [one.job for one in message.items] == [job]
    assert (await jobs.outbox.pull(OWN, carrier="two")).items == ()
    assert await jobs.outbox.release("one") == 1
    assert len((await jobs.outbox.pull(OWN, carrier="two")).items) == 1
    assert await jobs.outbox.settle("two") == 1
    assert await jobs.outbox.release("two") == 0
    assert (await due(jobs, wait=False)).items == ()


async def test_who_said_it_first_has_it_carried_afterwards(jobs: Jobs) -> None:
    await ran(jobs)
    message = await due(jobs)
    assert await jobs.outbox.carry(OWN, message.ids, "s1") == 1
    assert (await due(jobs, wait=False)).items == ()
    assert await jobs.outbox.release("s1") == 1
    assert (await due(jobs)).ids == message.ids
    with pytest.raises(BadRequest, match="name who carried it"):
        await jobs.outbox.carry(OWN, message.ids, "")


async def test_a_question_does_not_pass_for_a_part_of_what_its_job_wrote(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"seq 3000; {gate.wait}", background=True)).job.id
    await jobs.questions.pose(job, Question("Which?", Form.SELECT, ("red", "blue")))
    message = await due(jobs)
    (told,) = message.items
    assert (told.extract, told.size) == ("Which? [red/blue]", None)
    assert "it wrote" not in message.text.split("\n")[1]


async def test_flags_filter_what_is_told(jobs: Jobs) -> None:
    quiet = Notify(on_success=False, on_failure=False)
    await ran(jobs, "true", notify=quiet)
    assert (await due(jobs, wait=False)).items == ()
    failed = await ran(jobs, "false", notify=Notify(on_success=False))
    assert [one.job for one in (await due(jobs)).items] == [failed]


async def test_16_what_its_owner_killed_is_not_told(jobs: Jobs) -> None:
    job = (await jobs.run("sleep 60", background=True)).job.id
    await jobs.kill(job, by=OWN)
    assert (await due(jobs, wait=False)).items == ()
    other = (await jobs.run("sleep 60", background=True)).job.id
    await jobs.kill(other, by="somebody else")
    assert [one.job for one in (await due(jobs)).items] == [other]


async def test_110_a_question_is_told_once_with_its_words_and_no_longer_when_it_is_answered(jobs: Jobs) -> None:
    job = (await jobs.run("printf 'name? '; read x; read y", background=True, pty=True)).job.id
    (told,) = (await due(jobs)).items
    assert (told.job, told.what, told.level, told.extract.strip()) == (job, "waiting", "warning", "name?")
    await jobs.wait([job], until=Until(input=True))
    assert (await due(jobs, wait=False)).items == ()


async def test_66_new_output_is_told_where_asked_for(jobs: Jobs) -> None:
    job = (await jobs.run("echo one; echo two; sleep 60", background=True, notify=Notify(on_content=True))).job.id
    (told,) = (await due(jobs)).items
    assert (told.job, told.what, told.extract) == (job, "output", "one\ntwo")


async def test_066_ambient_output_comes_with_other_news_and_ends_no_wait(jobs: Jobs) -> None:
    notify = Notify(on_content=True, ambient=True)
    job = (await jobs.run("echo one; sleep 60", background=True, notify=notify)).job.id
    while not sum(one.due for one in await jobs.outbox.list()):  # noqa: ASYNC110 - the row follows the line
        await anyio.sleep(0.02)
    assert (await jobs.outbox.pull(OWN, least=Level.INFO)).items == ()
    with anyio.move_on_after(0.5) as waiting:
        await jobs.outbox.pull(OWN, timeout=None)
    assert waiting.cancelled_caught
    (told,) = (await jobs.outbox.pull(OWN)).items
    assert (told.job, told.what, told.level, told.extract) == (job, "output", "ambient", "one")


async def test_066_no_sink_is_called_with_ambient_output(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[outbox.sinks.one]\nwebhook = 'http://127.0.0.1:1/nobody'\nall = true\n")
    async with homes.local(home) as jobs:
        assert isinstance(jobs, LocalJobs)
        for ambient in (True, None):
            notify = Notify(on_content=True, ambient=ambient)
            job = (await jobs.run("echo one; sleep 60", background=True, notify=notify, owner=OWN)).job
            assert jobs.outbox.consumers.wants("sink:one", What.OUTPUT, job) is (ambient is None)
            assert jobs.outbox.consumers.wants(OWN, What.OUTPUT, job)


async def test_the_first_line_that_looks_like_an_error_is_told_where_asked_for(jobs: Jobs) -> None:
    command = "echo fine; echo 'fatal: one'; echo 'fatal: two'; sleep 60"
    await jobs.run(command, background=True, notify=Notify(on_error=True))
    (told,) = (await due(jobs)).items
    assert (told.what, told.level, told.extract) == ("error", "error", "fatal: one")


async def test_a_silent_job_is_told_of(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[outbox]\nstalled_after = '0.2s'\n")
    async with homes.local(home) as jobs:
        job = (await jobs.run("sleep 60", background=True)).job.id
        (told,) = (await due(jobs)).items
        assert (told.job, told.what) == (job, "stalled")


async def test_200_ends_within_a_second_are_one_message_for_each_consumer(local: Jobs) -> None:
    await local.outbox.subscribe("dashboard")
    names = {(await local.run("true", background=True, name=f"n{number}")).job.id for number in range(200)}
    for consumer in (OWN, "dashboard"):
        while (await local.outbox.list())[0].due < 200:  # noqa: ASYNC110 - the rows follow the ends
            await anyio.sleep(0.02)
        message = await local.outbox.pull(consumer)
        assert {one.job for one in message.items} == names
        assert all(f"n{number})" in message.text for number in range(200))
        assert len(message.text) < 20_000


async def test_who_subscribed_is_told_of_everybody_over_restarts_until_it_unsubscribes(home: Path) -> None:
    async with homes.local(home) as jobs:
        await jobs.outbox.subscribe("board")
    async with homes.local(home) as jobs:
        job = (await jobs.run("true", owner="ann")).job.id
        assert [one.job for one in (await due(jobs, "board")).items] == [job]
        assert await jobs.outbox.unsubscribe("board")
        assert not await jobs.outbox.unsubscribe("board")
        assert (await due(jobs, "board", wait=False)).items == ()


async def test_48_how_deliveries_stand(jobs: Jobs) -> None:
    job = await ran(jobs)
    (outlook,) = await jobs.outbox.list()
    assert (outlook.consumer, outlook.due, outlook.carried, outlook.jobs) == (OWN, 1, 0, (job,))
    await jobs.outbox.pull(OWN, carrier="c")
    (outlook,) = await jobs.outbox.list()
    assert (outlook.due, outlook.carried, outlook.next_retry_at) == (0, 1, None)


async def test_what_was_due_is_due_after_a_restart_and_what_was_done_is_not(home: Path) -> None:
    async with homes.local(home) as jobs:
        first = await ran(jobs)
        await jobs.outbox.acknowledge(OWN, (await due(jobs)).ids)
        second = await ran(jobs)
    async with homes.local(home) as jobs:
        assert [one.job for one in (await due(jobs)).items] == [second]
        assert first != second


async def test_what_is_forgotten_is_no_news(jobs: Jobs) -> None:
    job = await ran(jobs)
    await jobs.forget(job)
    assert (await due(jobs, wait=False)).items == ()


@pytest.mark.parametrize(
    ("consumer", "options", "says"),
    [
        ("no spaces", {}, "cannot be an owner"),
        (OWN, {"limit": 0}, "1 to 2000"),
        (OWN, {"room": -1}, "at most 100000"),
        (OWN, {"timeout": timedelta(seconds=-1)}, "cannot be negative"),
    ],
)
async def test_what_cannot_be_pulled_is_refused(jobs: Jobs, consumer: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        await jobs.outbox.pull(consumer, **options)
    with pytest.raises(BadRequest, match="for the sinks"):
        await jobs.outbox.subscribe("sink:mine")
    with pytest.raises(BadRequest, match="name who carried it"):
        await jobs.outbox.settle("")


async def test_who_wants_only_what_is_grave_leaves_the_rest_due(jobs: Jobs) -> None:
    await ran(jobs, "true")
    assert (await jobs.outbox.pull(OWN, least=Level.ERROR)).items == ()
    bad = await ran(jobs, "exit 3")
    assert [item.job for item in (await jobs.outbox.pull(OWN, timeout=SOON, least=Level.ERROR)).items] == [bad]
    assert len((await due(jobs)).items) == 2


async def test_043_a_sink_waits_while_an_answer_carries_the_notice_to_its_owner(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[outbox.sinks.hook]\ncommand = 'exit 1'\n")
    async with homes.local(home) as jobs:
        job = (await jobs.run("exit 7", owner="ann", background=True)).job.id
        with anyio.fail_after(PATIENCE):
            (item,) = (await jobs.outbox.pull("ann", carrier="mcp:c0", timeout=None)).items
        assert item.job == job
        assert (await jobs.outbox.pull("sink:hook")).items == ()
        await jobs.outbox.release("mcp:c0")
        assert [one.job for one in (await jobs.outbox.pull("sink:hook")).items] == [job]
