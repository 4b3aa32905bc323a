"""The documents against the product, for what has no test beside its own code: options, tools, variables, fields, words, links."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mcpserver import plans
from tests.web.test_routes import JOB_FIELDS

from bide.cli import main
from bide.mcpserver import llmresources, prompts, resources, toolsets
from bide.model import errors, requests
from bide.runtime.environment import UNATTENDED
from bide.web.routes import ROUTES, STATUSES

ROOT = Path(__file__).parent.parent
DOCUMENTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.glob("*.md")} | {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")
}
EVERYTHING = "\n".join(DOCUMENTS.values())
TOOLS = "\n".join(text for name, text in DOCUMENTS.items() if name.startswith(("docs/mcp", "docs/toolsets/")))


def slugs(text: str) -> set[str]:
    """What the headings of a document can be linked by."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands() -> Iterator[tuple[str, str]]:
    """Each `bide COMMAND …` of a document, up to where another program's words begin."""
    for text in DOCUMENTS.values():
        for line in re.findall(r"(?:`|\$ )bide ([a-z][^`\n]*)", text):
            words = re.split(r" (?:--|&&|#|\|) ", line)[0]
            yield words.split()[0], words


def test_every_command_line_in_a_document_is_one_that_there_is() -> None:
    known = {name: main.load(name)[0].options for name in main.COMMANDS}
    found = list(commands())
    assert len(found) > 100
    assert [words for name, words in found if name not in known and name != "help"] == []
    options = [
        (name, option) for name, words in found for option in re.findall(r"(?<=\s)--[a-z-]*[a-z](?![\w-])", words)
    ]
    assert [(name, option) for name, option in options if option not in known[name]] == []


@pytest.mark.parametrize("command", main.COMMANDS)
def test_every_option_says_what_it_is_for(command: str) -> None:
    parser, _ = main.load(command)
    assert [option for option, action in parser.options.items() if not action.help] == []
    assert parser.epilog, "a command shows how it is used"


def test_every_variable_is_documented_and_no_other() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    table = DOCUMENTS["docs/settings.md"].partition("## Environment variables")[2]
    assert set(re.findall(r"`(BIDE_\w+)`", table)) == set(re.findall(r"\bBIDE_[A-Z_]*[A-Z]\b", source))


def test_what_unattended_jobs_have_in_their_environment_is_documented() -> None:
    section = DOCUMENTS["docs/behaviour.md"].partition("## Environment of a job")[2].partition("## ")[0]
    assert [name for name in UNATTENDED if f"`{name}" not in section] == []


def test_every_route_in_a_document_is_one_that_there_is() -> None:
    known = {f"{method} /{path}" for method, path in ROUTES}
    named = {re.sub(r"\{\w+\}", "*", route) for route in re.findall(r"(?:GET|POST|DELETE) /v1[\w/{}]*", EVERYTHING)}
    assert named == known


def test_every_error_code_has_one_row_with_its_status() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", DOCUMENTS["docs/behaviour.md"], re.MULTILINE)
    assert sorted(rows) == sorted((code, str(STATUSES[code])) for code in errors.ERRORS)


def test_the_fields_of_run_and_of_a_job_are_documented() -> None:
    page = DOCUMENTS["docs/http.md"]
    run = page.partition("**Fields of `run`**")[2].partition("**Frames.**")[0]
    assert [field for field in requests.FIELDS if not re.search(rf"\b{field}\b", run)] == []
    table = page.partition("## The job object")[2].partition("## ")[0]
    named = [field for row in re.findall(r"^\| `([a-z_ ]+)` \|", table, re.MULTILINE) for field in row.split()]
    assert sorted(named) == sorted(JOB_FIELDS.split())


@pytest.mark.parametrize("toolset", toolsets.NAMES)
def test_every_tool_is_documented(toolset: str) -> None:
    assert [tool for tool in plans.tools(toolset) if f"`{tool}`" not in TOOLS] == []


def test_every_prompt_and_resource_is_documented() -> None:
    uris = [*resources.TEMPLATES, *llmresources.TEMPLATES, *(one.uri for one in llmresources.LISTED)]
    names = [*uris, *(prompt.name for prompt in prompts.PROMPTS)]
    assert [name for name in names if f"`{name}`" not in TOOLS] == []


def test_every_row_of_the_bench_is_explained() -> None:
    explained = re.findall(r"^\| ([a-z-]+) \|", DOCUMENTS["docs/performance.md"], re.MULTILINE)
    rows = re.findall(r'^    "([a-z-]+)": \w+\.measure', (ROOT / "bench" / "__main__.py").read_text(), re.MULTILINE)
    assert sorted(set(explained) - {"row"}) == sorted(rows)


def test_the_glossary_has_each_word_once_in_order() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", DOCUMENTS["docs/glossary.md"], re.MULTILINE)
    assert words == sorted(set(words))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_to_headings_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", DOCUMENTS[name])
    targets = [(ROOT / name).parent / link if link else ROOT / name for link, _ in links]
    missing = [
        heading
        for target, (_, heading) in zip(targets, links, strict=True)
        if heading not in slugs(target.read_text(encoding="utf-8"))
    ]
    assert missing == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_long_stands_twice(name: str) -> None:
    lines = [line for line in DOCUMENTS[name].splitlines() if len(line) > 60]
    assert [line for line in set(lines) if lines.count(line) > 1] == []
    tables = [block for block in re.split(r"\n\n+", DOCUMENTS[name]) if block.startswith("|")]
    for table in tables:
        firsts = re.findall(r"^\| (`[^|]+`) \|", table, re.MULTILINE)
        assert len(firsts) == len(set(firsts))


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached, ahead = set[str](), ["README.md"]
    while ahead:
        name = ahead.pop()
        if name not in reached and name in DOCUMENTS:
            reached.add(name)
            links = re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", DOCUMENTS[name])
            ahead += [str(((ROOT / name).parent / link).resolve().relative_to(ROOT)) for link in links]
    assert sorted(set(DOCUMENTS) - reached) == []
