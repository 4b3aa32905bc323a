"""What a client sees beside its own jobs: what it was granted, and only when it asks."""

from pathlib import Path

import pytest
from tests.mcpserver.clients import Agent, agent, text_of

from bide.api import Jobs


async def names(ai: Agent, **given: object) -> list[str]:
    return sorted(row["name"] for row in (await ai.data("jobs", **given))["jobs"])


@pytest.fixture
async def world(jobs_here: Jobs, tmp_path: Path) -> Jobs:
    """Jobs of three owners in two folders."""
    for folder in ("shop", "shop/web", "shopping"):
        (tmp_path / folder).mkdir()
    for owner, folder in (("me", "shop"), ("ann", "shop/web"), ("ben", "shopping")):
        await jobs_here.run("echo out", name=f"{owner}s", owner=owner, cwd=str(tmp_path / folder))
    return jobs_here


@pytest.mark.parametrize(
    ("scope", "shared", "seen"),
    [
        ("own", (), {"own": ["mes"], "shared": []}),
        ("own", ("ben",), {"own": ["mes"], "shared": ["bens"]}),
        ("project", (), {"own": ["mes"], "shared": [], "project": ["anns", "mes"]}),
        ("all", (), {"own": ["mes"], "project": ["anns", "mes"], "all": ["anns", "bens", "mes"]}),
    ],
)
async def test_a_view_has_what_was_granted(
    world: Jobs, tmp_path: Path, scope: str, shared: tuple[str, ...], seen: dict[str, list[str]]
) -> None:
    async with agent(world, tmp_path / "shop", owner="me", scope=scope, shared=shared) as ai:
        assert await names(ai) == ["mes"]
        for view, expected in seen.items():
            assert await names(ai, scope=view) == expected
        for job in {job for rows in seen.values() for job in rows}:
            assert (await ai.data("logs", job=job))["out"]["text"] == "out\n"


@pytest.mark.parametrize(("scope", "view"), [("own", "project"), ("own", "all"), ("project", "all")])
async def test_a_view_that_was_not_granted_is_refused(world: Jobs, tmp_path: Path, scope: str, view: str) -> None:
    async with agent(world, tmp_path / "shop", owner="me", scope=scope) as ai:
        code, sentence = await ai.refusal("jobs", scope=view)
    assert code == "bad_request"
    assert f"'bide mcp --scope {view}'" in sentence


async def test_what_is_out_of_reach_is_not_found_by_id_or_name(world: Jobs, tmp_path: Path) -> None:
    bens = await world.list()
    (job,) = [job for job in bens.jobs if job.name == "bens"]
    async with agent(world, tmp_path / "shop", owner="me", scope="project") as ai:
        for ref in (job.id, "bens"):
            assert (await ai.refusal("logs", job=ref))[0] == "job_not_found"


async def test_what_is_within_reach_can_be_touched_and_says_whose_it_is(world: Jobs, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    await world.run("sleep 1000", name="server", owner="ann", cwd=str(folder), background=True)
    async with agent(world, folder, owner="me", scope="project") as ai:
        assert "[of ann]" in text_of(await ai.ask("jobs", jobs=["server"]))
        killed = await ai.data("kill", jobs=["server"])
    assert killed["jobs"][0]["verified_empty"]


async def test_of_a_name_the_callers_own_job_goes_first(world: Jobs, tmp_path: Path) -> None:
    folder = str(tmp_path / "shop")
    await world.run("echo mine", name="build", owner="me", cwd=folder)
    await world.run("echo hers", name="build", owner="ann", cwd=folder)
    async with agent(world, tmp_path / "shop", owner="me", scope="all") as ai:
        assert (await ai.data("logs", job="build"))["out"]["text"] == "mine\n"


async def test_a_poll_says_how_the_named_jobs_are_in_a_line_each(world: Jobs, tmp_path: Path) -> None:
    await world.run("sleep 1000", name="long", owner="me", cwd=str(tmp_path), background=True)
    async with agent(world, tmp_path, owner="me") as ai:
        lines = text_of(await ai.ask("jobs", jobs=["long", "mes"])).splitlines()
    assert ["runs" in lines[0] or "has run" in lines[0], len(lines)] == [True, 2]
