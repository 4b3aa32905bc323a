"""The rules that no other tool reads: sizes, public names, verbs in every door, documents against code."""

import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import bide
from bide import api
from bide.cli import main
from bide.cli.exits import BROKEN_PIPE, INTERRUPTED, NOT_RUNNING, STATUS_OF_CODE, TIMED_OUT, UNWRITABLE
from bide.model.errors import ERRORS
from bide.model.phase import MOVES, PHASE_NAMES

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "bide"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

VERBS = ("run", "get", "list", "wait", "read", "excerpt", "send", "kill", "forget")
COMMANDS = {"list": "ls", "get": "show", "read": "logs", "excerpt": "logs"}
"""What the command line calls a verb, where its users expect another word."""

PUBLIC = {
    *("local", "connect", "VERSION", "BideError", "Request"),
    *("Job", "JobId", "Spec", "Limits", "OnOutputCap", "Usage"),
    *("Queued", "Running", "Ended", "End", "Reason"),
    *("Stream", "Slice", "Match", "Excerpt", "Until", "Mode", "Waited"),
    *("Ran", "Page", "Filter", "Killed"),
    *("Turn", "Group", "Dedup", "Policy"),
    *("Service", "Restart", "Port"),
    *("Ask", "Parts", "Asked", "Answer"),
}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def too_long(files: Iterator[Path], limit: int) -> dict[str, int]:
    sizes = {path: len(path.read_bytes().splitlines()) for path in files}
    return {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > limit}


@pytest.mark.parametrize("folder", ["src", "tests", "bench"])
def test_no_module_is_longer_than_400_lines(folder: str) -> None:
    assert too_long((ROOT / folder).rglob("*.py"), 400) == {}


def test_no_file_of_c_is_longer_than_400_lines() -> None:
    assert too_long(PACKAGE.rglob("c/*.[ch]"), 400) == {}


def test_the_public_names_are_these() -> None:
    assert set(bide.__all__) == PUBLIC
    assert len(bide.__all__) == len(PUBLIC)
    missing = {name for name in PUBLIC if not hasattr(bide, name)}
    assert missing == set()


def test_the_public_names_are_listed_before_anybody_has_used_one() -> None:
    listed = subprocess.check_output([sys.executable, "-c", "import bide; print(*dir(bide))"], text=True)
    assert set(listed.split()) >= PUBLIC


def test_the_interface_has_the_nine_verbs_each_with_its_words() -> None:
    methods = dict(inspect.getmembers(api.Jobs, inspect.isfunction))
    public = {name: method for name, method in methods.items() if not name.startswith("_")}
    assert set(public) == set(VERBS)
    assert [name for name, method in public.items() if not method.__doc__] == []


def test_every_verb_has_a_route() -> None:
    routed = re.findall(r"^\| (\w+)", text("docs/http.md"), re.MULTILINE)
    assert set(VERBS) <= set(routed)


def test_every_verb_has_a_command() -> None:
    assert {COMMANDS.get(verb, verb) for verb in VERBS} <= set(main.COMMANDS)


def test_the_command_line_starts_without_what_is_slow_to_import() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import bide.cli.main, bide.cli.run; print(*sys.modules)"
    # -I and -S leave out what this environment imports by itself.
    command = [sys.executable, "-I", "-S", "-c", code, str(PACKAGE.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    slow = {
        "anyio",
        "asyncio",
        "dataclasses",
        "httptools",
        "msgspec",
        "pathlib",
        "socket",
        "sqlite3",
        "subprocess",
        "typing",
    }
    assert slow & set(done.stdout.split()) == set()


def test_the_code_map_names_every_folder_and_module_and_no_other() -> None:
    mapped = re.findall(r"^\| `(\w+(?:/|\.py))` \|", text("ARCHITECTURE.md"), re.MULTILINE)
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    assert sorted(mapped) == sorted(folders | modules)


def test_the_architecture_names_only_files_that_exist() -> None:
    named = re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", text("ARCHITECTURE.md"))
    assert [name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []


def test_the_phase_diagram_shows_the_moves() -> None:
    section = text("ARCHITECTURE.md").partition("## Phases")[2].partition("## ")[0]
    chains = [line.split(" ──▶ ") for line in section.splitlines() if "──▶" in line]
    drawn = {(a.strip(), b.strip()) for chain in chains for a, b in pairwise(chain)}
    assert drawn == {(PHASE_NAMES[a], PHASE_NAMES[b]) for a, targets in MOVES.items() for b in targets}


def test_every_error_code_is_documented() -> None:
    behaviour = text("docs/behaviour.md")
    assert [code for code in ERRORS if f"`{code}`" not in behaviour] == []


def test_every_status_of_an_error_is_documented() -> None:
    table = text("docs/behaviour.md").partition("## Exit statuses")[2].partition("## Error codes")[0]
    rows = {row.split("|")[1].strip(): row for row in table.splitlines() if row.startswith("|")}
    assert [code for code, status in STATUS_OF_CODE.items() if f"`{code}`" not in rows[str(status)]] == []
    assert [
        name for name in (UNWRITABLE, TIMED_OUT, INTERRUPTED, BROKEN_PIPE, NOT_RUNNING) if str(name) not in rows
    ] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_what_is_depended_on_is_named(document: str) -> None:
    needed = tomllib.loads(text("pyproject.toml"))["project"]["dependencies"]
    names = [re.split(r"[<>=\[ ]", one)[0] for one in needed]
    (sentence,) = re.findall(r"(?:It depends on|Runtime dependencies are) ([^.]*)\.", text(document))
    assert sorted(re.split(r", | and ", sentence)) == sorted(names)


def test_the_readme_has_at_most_450_words() -> None:
    assert len(text("README.md").split()) <= 450


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_says_what_was_asked_chosen_and_left(decision: Path) -> None:
    written = decision.read_text(encoding="utf-8")
    assert f"# {decision.name[:3]}: " in written
    headings = re.findall(r"^\*\*([A-Z][^*.:]*)[.:]\*\*", written, re.MULTILINE)
    assert headings == ["Status", "Question", "Chosen", "What else", "What would change our mind"]
    assert decision.name in text("ARCHITECTURE.md")
