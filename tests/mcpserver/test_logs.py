"""`logs` of the core tools: bytes, last lines and matches."""

from pathlib import Path

import pytest
from tests.mcpserver.clients import Agent, agent
from tests.support.gates import Gate

from bide.api import Jobs

ACROSS = "python3 -c \"print('a'*200000+'NEEDLE=77777'+'b'*1000); print('c'*20000+'NEEDLE'); print('NEEDLE'); exit(1)\""


async def test_a_long_line_is_cut_around_the_match(ai: Agent) -> None:
    job = (await ai.data("run", command=ACROSS))["job"]
    found = await ai.data("logs", job=job, grep="NEEDLE")
    assert [match["offset"] for match in found["matches"]] == [200_000, 201_013 + 20_000, 201_013 + 20_007]
    assert all("NEEDLE" in match["line"] and len(match["line"]) <= 502 for match in found["matches"])
    assert "NEEDLE=77777bbb" in found["matches"][0]["line"]
    at = found["matches"][0]["offset"]
    assert (await ai.data("logs", job=job, offset=at, limit=6))["out"]["text"] == "NEEDLE"


async def test_a_match_is_shown_that_was_written_over_or_is_among_bytes_that_are_no_text(ai: Agent) -> None:
    job = (await ai.data("run", command=r"printf '1%%\rbad thing\r100%%\r\n\377\376%0600dNEEDLE%0600d\n' 0 0"))["job"]
    assert (await ai.data("logs", job=job, grep="bad"))["matches"] == [{"offset": 3, "line": "bad thing"}]
    (row,) = (await ai.data("logs", job=job, grep=".NEEDLE"))["matches"]
    assert "NEEDLE" in row["line"]
    (row,) = (await ai.data("logs", job=job, grep="\ufffd0+NEEDLE"))["matches"]
    assert row["line"].startswith("\ufffd")


async def test_matches_are_counted_as_far_as_they_were_looked_for(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, output="text") as ai:
        job = (await ai.data("run", command="yes match | head -5000; exit 1"))["job"]
        answer = await ai.ask("logs", job=job, grep="match")
        assert ": at least 4000 lines match" in str(answer.content)
        assert "matches" not in (answer.structured_content or {})
        one = (await ai.data("run", command="echo one; exit 1"))["job"]
        assert ": 1 line matches" in await ai.text("logs", job=one, grep="one")
        assert ": 0 lines match\n" in await ai.text("logs", job=one, grep="two")
        running = (await ai.data("run", command=f"printf 'one\\none'; {gate.wait}", wait=0.5))["job"]
        assert ": 1 line matches" in await ai.text("logs", job=running, grep="one")


@pytest.mark.parametrize(
    "given",
    [{"tail": 500, "budget": 1}, {"tail": 500, "budget": 0}, {"tail": 3, "budget": 7}, {"offset": 0, "budget": 0}],
)
async def test_output_that_is_left_out_is_not_called_nothing(
    jobs_here: Jobs, tmp_path: Path, given: dict[str, int]
) -> None:
    async with agent(jobs_here, tmp_path, output="text") as ai:
        job = (await ai.data("run", command="seq -f 'this is line number %g' 500; exit 1"))["job"]
        text = await ai.text("logs", job=job, **given)
        assert "nothing on out" not in text
        assert "left out: logs" in text
        assert " 0 to 1 left out" not in text


async def test_offsets_beyond_the_end_say_so(ai: Agent) -> None:
    job = (await ai.data("run", command="echo word; exit 1"))["job"]
    assert "nothing from byte 5 of out on: it has 5" in await ai.text("logs", job=job, offset=5)
    assert "nothing on err" in await ai.text("logs", job=job, offset=5, stream="err")


async def test_logs_from_an_offset_name_the_next_call(ai: Agent) -> None:
    job = (await ai.data("run", command="seq 5000; exit 1"))["job"]
    assert f'The next: logs {{"job": "{job}", "offset": 8000}}' in await ai.text("logs", job=job, offset=0)
    assert "The next" not in await ai.text("logs", job=job, offset=20_000)
    assert "The next" not in await ai.text("logs", job=job, offset=0, limit=10)


@pytest.mark.parametrize("other", [{"grep": "x"}, {"offset": 3}])
async def test_tail_with_grep_or_offset_is_refused_by_field(ai: Agent, other: dict[str, object]) -> None:
    job = (await ai.data("run", command="echo x"))["job"]
    code, sentence = await ai.refusal("logs", job=job, tail=2, **other)
    assert code == "bad_request"
    assert f"'tail' does not go with '{next(iter(other))}'" in sentence
