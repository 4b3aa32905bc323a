"""Who goes next: tables of what waits and what runs, and what follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from bide import End, Reason
from bide.model.schedule import ALL, Rank, Rules, choose, circular, has_room, hold, rank, room, why_not
from bide.model.turn import Turn

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)
OK, FAILED = End(Reason.EXITED, exit_code=0), End(Reason.EXITED, exit_code=2)


def lines(queued: Sequence[tuple[str, str, int]]) -> dict[str, list[Rank]]:
    """The lines of jobs given as (id, group, priority), in the order in which they were asked for."""
    found: dict[str, list[Rank]] = {}
    for order, (job, group, priority) in enumerate(queued):
        found.setdefault(group, []).append(rank(Turn(priority=priority), order, job))
    return {group: sorted(line) for group, line in found.items()}


@dataclass
class Case:
    """What waits, what runs, what is set; and who starts, in order."""

    queued: Sequence[tuple[str, str, int]]
    starts: str
    busy: Mapping[str, int] = field(default_factory=dict[str, int])
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    paused: frozenset[str] = frozenset()


FOUR = [("a", "", 0), ("b", "", 0), ("c", "", 0), ("d", "", 0)]
TWO_GROUPS = [("a", "x", 0), ("b", "x", 0), ("c", "x", 0), ("d", "y", 0), ("e", "", 0)]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case([], ""), id="nothing waits"),
        pytest.param(Case(FOUR, "a b c d"), id="no limit: all, in the order asked for"),
        pytest.param(Case(FOUR, "a b", limits={ALL: 2}), id="as many as there are places"),
        pytest.param(
            Case(FOUR, "a", limits={ALL: 3}, busy={"": 1, "x": 1}), id="what runs has its place, of any group"
        ),
        pytest.param(Case(FOUR, "", limits={ALL: 2}, busy={"": 2}), id="no place is free"),
        pytest.param(Case(FOUR, "", limits={ALL: 2}, busy={"": 5}), id="more run than may: none is ended, none starts"),
        pytest.param(Case(FOUR, "", limits={ALL: 0}), id="a limit of 0"),
        pytest.param(
            Case([("a", "", 0), ("b", "", 5), ("c", "", -5), ("d", "", 5)], "b d a", limits={ALL: 3}),
            id="greater priority first, first in first out within one",
        ),
        pytest.param(Case(TWO_GROUPS, "a d e", limits={"x": 1}), id="a full group does not hold back the others"),
        pytest.param(Case(TWO_GROUPS, "d e", limits={"x": 1}, busy={"x": 1}), id="a group that was full before"),
        pytest.param(Case(TWO_GROUPS, "a b d", limits={"x": 2, ALL: 3}), id="both limits count"),
        pytest.param(Case(TWO_GROUPS, "d e", paused=frozenset({"x"})), id="a paused group waits, alone"),
        pytest.param(Case(TWO_GROUPS, "", paused=frozenset({ALL})), id="all are paused"),
        pytest.param(Case(TWO_GROUPS, "a b c d e", limits={"z": 0}), id="another group's limit is not theirs"),
        pytest.param(
            Case([("a", "x", 0), ("b", "y", 0), ("c", "x", 9), ("d", "y", 1)], "c d a", limits={ALL: 3}),
            id="priorities count across groups",
        ),
        pytest.param(
            Case([("a", "x", 9), ("b", "x", 9), ("c", "", -9)], "a c", limits={"x": 1, ALL: 2}),
            id="a place that a full group cannot use goes to whoever can",
        ),
    ],
)
def test_who_starts_now(case: Case) -> None:
    chosen = choose(lines(case.queued), case.busy, Rules(case.limits, case.paused))
    assert [job for _, (_, _, job) in chosen] == case.starts.split()


class Counted(Sequence[Rank]):
    """A line that counts how often it is looked at."""

    def __init__(self, line: list[Rank]) -> None:
        self.line = line
        self.looks = 0

    def __len__(self) -> int:
        return len(self.line)

    def __getitem__(self, at: int) -> Rank:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.looks += 1
        return self.line[at]


def test_a_choice_costs_what_starts_and_not_what_waits() -> None:
    line = Counted(lines([(str(number), "", 0) for number in range(10_000)])[""])
    assert len(choose({"": line}, {}, Rules({ALL: 3}))) == 3
    assert line.looks < 10


@pytest.mark.parametrize(
    ("turn", "ends", "after", "until", "never"),
    [
        pytest.param(Turn(), {}, (), None, "", id="nothing"),
        pytest.param(Turn(at=LATER), {}, (), LATER, "", id="a time to come"),
        pytest.param(Turn(at=NOW), {}, (), None, "", id="a time that has come"),
        pytest.param(Turn(after=("j1", "j2")), {"j1": OK, "j2": None}, ("j2",), None, "", id="one of two ended"),
        pytest.param(Turn(after=("j1",)), {"j1": OK}, (), None, "", id="all succeeded"),
        pytest.param(Turn(after=("j1",), at=LATER), {"j1": OK}, (), LATER, "", id="then a time"),
        pytest.param(Turn(after=("j1",), after_any=True), {"j1": FAILED}, (), None, "", id="any end"),
        pytest.param(Turn(after=("j1",), after_any=True), {"j1": End(Reason.LOST)}, (), None, "", id="lost is an end"),
        pytest.param(Turn(after=("j1", "j2")), {"j1": None, "j2": FAILED}, (), None, "exited with 2", id="a failure"),
        pytest.param(Turn(after=("j1",)), {"j1": End(Reason.KILLED, signal=15)}, (), None, "was killed", id="killed"),
        pytest.param(Turn(after=("j1",)), {"j1": End(Reason.LOST)}, (), None, "is lost", id="lost"),
        pytest.param(
            Turn(after=("j1",)), {"j1": End(Reason.SIGNALED, signal=11)}, (), None, "by signal 11", id="a signal"
        ),
        pytest.param(Turn(after=("j1",)), {"j1": End(Reason.TIMED_OUT)}, (), None, "ended as timed_out", id="a limit"),
        pytest.param(Turn(after=("j1",), after_any=True), {}, (), None, "was forgotten", id="forgotten"),
    ],
)
def test_what_a_job_waits_for(
    turn: Turn, ends: dict[str, End | None], after: tuple[str, ...], until: datetime | None, never: str
) -> None:
    found = hold(turn, ends, NOW)
    assert (found.after, found.until) == (after, until)
    assert never in found.never
    assert bool(never) is bool(found.never)
    assert found.ready is not bool(after or until or never)


@pytest.mark.parametrize(
    ("group", "rules", "busy", "why"),
    [
        ("", Rules({ALL: 2}), {"": 1, "x": 1}, "2 of 2 jobs run"),
        ("x", Rules({ALL: 2}), {"": 1, "x": 1}, "2 of 2 jobs run"),
        ("x", Rules({ALL: 2, "x": 1}), {"x": 1}, "1 of 1 jobs of group 'x' run"),
        ("x", Rules({}, frozenset({"x"})), {}, "group 'x' is paused"),
        ("x", Rules({"x": 0}, frozenset({ALL})), {}, "all jobs are paused"),
        ("", Rules({"x": 0}), {}, "it is about to start"),
    ],
)
def test_what_a_ready_job_waits_for_is_said(group: str, rules: Rules, busy: dict[str, int], why: str) -> None:
    assert why_not(group, busy, rules) == why
    assert has_room(group, busy, rules) is (why == "it is about to start")


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ({}, ""),
        ({"a": ["gone"], "b": ["a"], "c": ["a", "b"]}, ""),
        ({"a": ["a"]}, "a"),
        ({"a": ["b"], "b": ["a"], "c": ["gone"]}, "a b"),
        ({"a": ["b"], "b": ["c"], "c": ["b"], "d": []}, "a b c"),
    ],
)
def test_jobs_that_wait_for_themselves_are_found(after: dict[str, list[str]], found: str) -> None:
    assert circular(after) == set(found.split())


def test_254_a_group_within_a_group_has_the_limits_of_both() -> None:
    rules = Rules({"llm": 3, "llm.claude": 2}, frozenset())
    lines = {
        "llm.claude": [(0, 1, "a"), (0, 2, "b"), (0, 3, "c")],
        "llm.codex": [(0, 4, "d"), (0, 5, "e")],
        "llmx": [(0, 6, "f")],
    }
    assert [job for _, (_, _, job) in choose(lines, {}, rules)] == ["a", "b", "d", "f"]
    assert [job for _, (_, _, job) in choose(lines, {"llm.codex": 2, "llm": 1}, rules)] == ["f"]
    assert why_not("llm.codex", {"llm.claude": 2, "llm.codex": 1}, rules) == "3 of 3 jobs of group 'llm' run"
    assert why_not("llm.claude", {"llm.claude": 2}, rules) == "2 of 2 jobs of group 'llm.claude' run"
    each = Rules({"llm.codex": None}, each={"llm": 1})
    busy = {"llm.claude": 1, "llm.codex": 5}
    assert [room(group, busy, each) for group in ("llm.claude", "llm.grok", "llm.codex", "llm")] == [0, 1, None, None]
    paused = Rules({}, frozenset({"llm"}))
    assert (room("llm.claude", {}, paused), room("llm.claude", {}, Rules())) == (0, None)
    assert why_not("llm.claude", {}, paused) == "group 'llm' is paused"
