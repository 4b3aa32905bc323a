"""A request may work in a git worktree of its own."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import agent, texts_of

from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.llm.ask import Ask, Worktree
from bide.model.llm.forms import ask_from_json, ask_to_json


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", "-C", str(folder), *named, *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    found = tmp_path / "work"
    (found / "src").mkdir(parents=True)
    (found / "src/a").write_text("one")
    git(found, "init", "-q")
    git(found, "add", ".")
    git(found, "commit", "-qm", "one")
    return found


async def test_it_works_there_and_equal_requests_have_the_same(jobs: Jobs, fakes: Fakes, repository: Path) -> None:
    first = await jobs.llm.ask("claude", "hello", cwd=str(repository / "src"), worktree=Worktree())
    (seen,) = fakes.started
    tree = Path(seen["cwd"]).parent
    assert (tree.parent, (tree / "src/a").read_text()) == (repository / ".worktrees", "one")
    assert git(tree, "branch", "--show-current").strip() == f"gateway/{tree.name}"
    assert git(repository, "status", "--porcelain") == ""
    again = await jobs.llm.ask("claude", "hello", cwd=str(repository / "src"), worktree=Worktree())
    assert (again.joined, again.job.id) == (True, first.job.id)
    fresh = await jobs.llm.ask("claude", "hello", cwd=str(repository), worktree=Worktree(), fresh=True)
    assert fresh.job.spec.cwd not in (str(tree), str(tree / "src"))


async def test_one_has_a_name_and_a_beginning_and_comes_back(local: Jobs, fakes: Fakes, repository: Path) -> None:
    git(repository, "tag", "v1")
    (repository / "src/a").write_text("two")
    git(repository, "commit", "-qam", "two")
    named = Worktree("fix", "v1")
    await local.llm.ask("codex", "hello", cwd=str(repository), worktree=named)
    tree = repository / ".worktrees/fix"
    assert (fakes.started[0]["cwd"], (tree / "src/a").read_text()) == (str(tree), "one")
    (tree / "src/a").write_text("three")
    git(tree, "commit", "-qam", "three")
    git(repository, "worktree", "remove", str(tree))
    await local.llm.ask("codex", "and?", cwd=str(repository), worktree=named)
    assert (tree / "src/a").read_text() == "three"


async def test_the_tool_says_where(local: Jobs, fakes: Fakes, repository: Path) -> None:
    async with agent(local, repository, tools=("llm",), env=dict(os.environ)) as ai:
        answer = await ai.ask("claude_request", prompt="hello", worktree={"name": "fix"})
        where = str(repository / ".worktrees/fix")
        assert texts_of(answer)[0] == f"[gateway] worktree={where}\nyou said: hello"
        assert answer.structured_content is not None
        assert answer.structured_content["worktree"] == where
        assert "worktree" not in await ai.data("claude_request", prompt="hello", worktree=False)
        assert "cannot be a worktree" in (await ai.refusal("claude_request", prompt="x", worktree={"name": "../x"}))[1]
        assert "must be true or false or an object" in (await ai.refusal("claude_request", prompt="x", worktree=1))[1]
    assert [one["cwd"] for one in fakes.started] == [where, str(repository)]


async def test_what_cannot_be_made_is_one_clear_sentence(
    local: Jobs, fakes: Fakes, tmp_path: Path, repository: Path
) -> None:
    for folder, tree, said in (
        (tmp_path, Worktree(), "not a git repository"),
        (repository, Worktree("x", "nowhere"), "nowhere"),
        (repository, Worktree("x", "-f"), "cannot be a ref"),
        (repository, Worktree("-x"), "cannot be a worktree"),
    ):
        with pytest.raises(BadRequest, match=said):
            await local.llm.ask("claude", "hello", cwd=str(folder), worktree=tree)
    assert fakes.started == []


def test_the_wire_form_is_the_same_request() -> None:
    for tree in (Worktree(), Worktree("a"), Worktree("a", "main")):
        ask = Ask.of("claude", "hi", worktree=tree)
        assert ask_from_json(ask_to_json(ask)) == ask
