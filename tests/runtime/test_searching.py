"""Regular expressions from outside: what costs too much is refused, and no search keeps others waiting."""

import re
from datetime import timedelta

import anyio
import pytest

from bide import Until
from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.request import Request
from bide.model.service import Service

NESTED_REPEATS = "(?:(?:a{1000}){1000}){3}"
BACKTRACKING = r"(a|aa)+$"
"""An engine that backtracks tries every way to divide a line of many a's, for ever."""
LINE = "a" * 60 + "b"

BOMBS = [
    (NESTED_REPEATS, "'(?:(?:a{1000}){1000}){3}' is not a regular expression: invalid repetition size: {1000}"),
    ("(" * 3000 + ")" * 3000, "cannot be searched for: it has 6000 characters, and 2000 is the most"),
    ("(" * 900 + ")" * 900, "cannot be searched for: its parentheses are nested more than 100 deep"),
    ("a" * 1_000_000, "cannot be searched for: it has 1000000 characters, and 2000 is the most"),
    (r"\pL" * 17, r"cannot be searched for: it has more than 16 Unicode classes (\p)"),
    ("a{1,1000}" * 20, "it has 19980 optional repetitions (? is one, {2,9} are 7), and 1000 is the most"),
    ("(?:" + "a{0,20}" * 50 + "){12}", "is not a regular expression: compiled, it is too large"),
    ("a{999}" * 300, "is not a regular expression: compiled, it is too large; repeats within repeats"),
    (r"(?<=a)b", "invalid perl operator: (?<=; it has the syntax of RE2: no look-around, no back references"),
    (r"(a)\1", r"invalid escape sequence: \1; it has the syntax of RE2: no look-around, no back references"),
    ("\udcff", "is not a regular expression: it is not text"),
]


@pytest.mark.parametrize(("expression", "sentence"), BOMBS, ids=range(len(BOMBS)))
async def test_an_expression_that_costs_too_much_is_refused_wherever_one_is_taken(
    local: Jobs, expression: str, sentence: str
) -> None:
    job = (await local.run("echo x", name="x")).job.id
    service = Request("sleep 1000", name="web", service=Service(ready=Until(log=expression)))
    for refused in (
        lambda: local.read(job, grep=expression),
        lambda: local.wait([job], until=Until(log=expression)),
        lambda: local.run(service),
    ):
        with pytest.raises(BadRequest, match=re.escape(sentence)) as told:
            await refused()
        assert len(str(told.value)) < 300
    assert [job.name for job in (await local.list()).jobs] == ["x"]


@pytest.mark.parametrize(
    "expression",
    [
        r"\p{Lu}\p{Ll}{1,30}",
        "a{1,1000}",
        ".{1,999}$",
        r"(?i)(error|warn(ing)?|fatal)",
        r"https?://[^ ]{1,200}",
        "x?" * 999,
    ],
)
async def test_an_expression_of_moderate_size_is_looked_for(local: Jobs, expression: str) -> None:
    job = (await local.run("echo Error aXx https://x")).job.id
    assert len((await local.read(job, grep=expression)).matches) == 1


async def test_nobody_waits_for_many_searches_that_would_backtrack(shared_remote: Jobs) -> None:
    job = (await shared_remote.run(f"yes {LINE} | head -n 2000; sleep 1000", background=True)).job.id
    await shared_remote.wait([job], until=Until(log="b$"))
    looked = 0
    over = anyio.Event()

    async def look() -> None:
        nonlocal looked
        while not over.is_set():
            await shared_remote.get(job)
            looked += 1

    async with anyio.create_task_group() as group:
        group.start_soon(look)
        async with anyio.create_task_group() as searches:
            for _ in range(45):
                searches.start_soon(lambda: shared_remote.read(job, grep=BACKTRACKING))
        over.set()
    assert looked
    waited = await shared_remote.wait([job], until=Until(log=BACKTRACKING), timeout=timedelta(0))
    assert waited.timed_out


async def test_an_expression_too_large_for_a_long_line_says_so(local: Jobs) -> None:
    job = (await local.run("head -c 1000000 /dev/zero | tr '\\0' a; echo; echo short aab")).job.id
    with pytest.raises(BadRequest, match=r"is too large for a line of [0-9]+ bytes; use a shorter one"):
        await local.read(job, grep="(?:a?b){999}(?:a?b){999}c")
    assert len((await local.read(job, grep="a{9}")).matches) == 1


async def test_a_search_of_many_slices_finds_every_line(local: Jobs) -> None:
    job = (await local.run("seq 600000")).job.id
    found, at = 0, 0
    while True:
        piece = await local.read(job, grep="7$", offset=at, limit=100_000)
        found, at = found + len(piece.matches), piece.next
        if piece.eof:
            break
    assert found == 60_000
    assert (await local.wait([job], until=Until(log="^600000$"))).met == "log"


@pytest.mark.parametrize(
    ("line", "expression", "fits"),
    [
        ("naïve", "na.ve", True),
        ("naïve", "na[ïi]ve", True),
        ("NAÏVE", "(?i)naïve", True),
        (r"a\377b", "a.b", True),
        (r"a\377b", "^ab$", False),
        (r"a\000b", r"a\x00b", True),
        ("a b", r"\bb\b", True),
    ],
)
async def test_what_is_matched_is_text(local: Jobs, line: str, expression: str, fits: bool) -> None:
    job = (await local.run(["printf", f"{line}\\n"])).job.id
    assert bool((await local.read(job, grep=expression)).matches) is fits


async def test_a_line_counts_that_a_job_wrote_just_before_its_end(jobs: Jobs) -> None:
    for _ in range(10):
        job = (await jobs.run("echo last words", background=True)).job.id
        assert (await jobs.wait([job], until=Until(log="last words"))).met == "log"


async def test_an_end_without_the_line_ends_the_wait(jobs: Jobs) -> None:
    job = (await jobs.run("echo other words", background=True)).job.id
    waited = await jobs.wait([job], until=Until(log="never"))
    assert (waited.met, waited.match) == ("ended", None)
