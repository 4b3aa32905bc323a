"""What of the past is kept, and what goes: the rule, case by case. Checklist 51."""

from datetime import timedelta

import pytest

from bide.model.retention import Choice, Past, Policy, choose

DAY = timedelta(days=1)
POLICY = Policy(keep=30 * DAY, keep_unseen=90 * DAY, bytes=100, answers=40 * DAY)


def past(
    job: str,
    days: float,
    size: int = 0,
    *,
    seen: bool = True,
    alive: bool = False,
    own: timedelta | None = None,
) -> Past:
    return Past(job, days * DAY, size, seen=seen, alive=alive, own=own)


HOMES = timedelta(0)
"""An answer for which nobody said how long it is to be kept."""


CASES: dict[str, tuple[list[Past], list[str], list[str]]] = {
    "nothing": ([], [], []),
    "within its time": ([past("a", 29, 10)], [], []),
    "when its time is over": ([past("a", 30, 10)], ["a"], []),
    "unseen, longer": ([past("a", 89, 10, seen=False)], [], []),
    "unseen, not for ever": ([past("a", 90, 10, seen=False)], ["a"], []),
    "oldest first": ([past("a", 31), past("b", 40), past("c", 35)], ["b", "c", "a"], []),
    "seen before unseen": ([past("a", 99, seen=False), past("b", 31)], ["b", "a"], []),
    "not while descendants run": ([past("a", 99, 500, alive=True)], [], []),
    "too much: the oldest output": ([past("a", 1, 60), past("b", 2, 60)], [], ["b"]),
    "too much: only as many as it takes": ([past("a", 1, 60), past("b", 2, 60), past("c", 3, 60)], [], ["c", "b"]),
    "too much: seen before unseen": ([past("a", 9, 60, seen=False), past("b", 1, 60)], [], ["b"]),
    "too much: unseen at last": ([past("a", 9, 160, seen=False), past("b", 1, 60)], [], ["b", "a"]),
    "too much: what is forgotten makes room first": ([past("a", 91, 60, seen=False), past("b", 1, 60)], ["a"], []),
    "too much: the empty ones stay": ([past("a", 9), past("b", 8, 101)], [], ["b"]),
    "too much: minutes old stays": ([past("a", 0.001, 500), past("b", 1, 5)], [], ["b"]),
    "an answer, for its own time": ([past("a", 39, own=HOMES), past("b", 40, own=HOMES)], ["b"], []),
    "an answer that nobody has seen, as long": ([past("a", 40, seen=False, own=HOMES)], ["a"], []),
    "an answer, for as long as whoever asked said": (
        [past("a", 7, own=7 * DAY), past("b", 89, own=90 * DAY), past("c", 6, own=7 * DAY, seen=False)],
        ["a"],
        [],
    ),
    "too much: answers last": ([past("a", 9, 60, own=HOMES), past("b", 1, 60, seen=False)], [], ["b"]),
    "too much: answers too": ([past("a", 9, 160, own=7 * DAY * 2), past("b", 1, 60)], [], ["b", "a"]),
    "exactly what may be": ([past("a", 1, 60), past("b", 2, 40)], [], []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_goes(name: str) -> None:
    given, forget, drop = CASES[name]
    choice = choose(given, POLICY, sum(one.bytes for one in given))
    assert [one.id for one in choice.forget] == forget
    assert [one.id for one in choice.drop] == drop


def test_running_jobs_count_and_are_never_what_goes() -> None:
    assert choose([past("a", 1, 60)], POLICY, held=500) == Choice(drop=(past("a", 1, 60),), over=340)


def test_without_a_quota_no_output_is_too_much() -> None:
    assert choose([past("a", 1, 1 << 60)], Policy(30 * DAY, 90 * DAY, None), 1 << 60) == Choice()


def test_unseen_is_never_kept_shorter_than_seen() -> None:
    assert Policy(30 * DAY, 1 * DAY, None).keeps(seen=False) == 30 * DAY


def test_a_time_of_nothing_keeps_nothing() -> None:
    """Checklist 52."""
    nothing = Policy(timedelta(0), timedelta(0), 0)
    given = [past("a", 0, 5), past("b", 0, 5, seen=False)]
    assert [one.id for one in choose(given, nothing, 10).forget] == ["a", "b"]


def test_in_batches_it_is_the_same_as_at_once() -> None:
    own = (None, HOMES, 50 * DAY, None)
    given = [past(f"j{n}", n, 10 * n, seen=n % 3 > 0, own=own[n % 4]) for n in range(1, 60)]
    held = sum(one.bytes for one in given)
    whole = choose(given, POLICY, held)
    ordered = sorted(given, key=lambda one: (one.own is not None, one.own or HOMES, not one.seen, -one.age))
    batches = [ordered[n : n + 7] for n in range(0, len(ordered), 7)]
    forgotten = [one for batch in batches for one in choose(batch, POLICY, 0).forget]
    held -= sum(one.bytes for one in forgotten)
    dropped: list[Past] = []
    for batch in batches:
        found = choose([one for one in batch if one not in forgotten], POLICY, held).drop
        held -= sum(one.bytes for one in found)
        dropped += found
    assert (tuple(forgotten), tuple(dropped)) == (whole.forget, whole.drop)
