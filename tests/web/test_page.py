"""The page on which a person answers: every form, what became of it, and nothing of a job that could harm."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.support.http import Http
from tests.support.patience import PATIENCE
from tests.support.visitor import Visitor, visitor
from tests.web.asking import asking

NUL = "\\x00"
EVIL = "<script>alert(1)</script>\"'&$token \u202egpj.exe\u202c\x1b]0;title\x07\x1b[31mred\x1b[0m\x00\u200b"
HARMLESS = "<script>alert(1)</script>\"'&$token gpj.exered" + NUL
FRIENDS = "Ada & Bob \U0001f469\u200d\U0001f680"
COLOURS = {"type": "select", "options": ["red", "blue\nor so", " blue  or so"]}


@pytest.fixture
def person(daemon: Path) -> Visitor:
    """Somebody who is signed in."""
    found = visitor(daemon)
    assert found.sign_in().status == 303
    return found


def prompting(http: Http, script: str, **options: object) -> Any:
    """The prompt of a job that shows one."""
    _, body = http.ask("POST", "/v1/jobs", {"command": script, "background": True, "stdin": True, **options})
    job = body["job"]["id"]
    http.ask("POST", "/v1/wait", {"jobs": [job], "until": {"input": True}, "timeout_ms": int(1000 * PATIENCE)})
    return http.ask("GET", f"/v1/questions/{job}")[1]


@pytest.mark.parametrize(
    ("question", "say", "typed", "state", "value", "sentence"),
    [
        ({}, "yes", "", "answered", True, "was answered by user: yes"),
        ({}, "no", "", "answered", False, "was answered by user: no"),
        ({"exclusive": True}, "yes", "", "answered", True, "was answered by user: yes"),
        ({}, "deny", "", "denied", None, "was denied by user"),
        (COLOURS, "0", "", "answered", "red", "was answered by user: red"),
        (COLOURS, "1", "", "answered", "blue\nor so", "was answered by user: blue or so"),
        (COLOURS, "2", "", "answered", " blue  or so", "was answered by user: blue or so"),
        ({"type": "text"}, "text", FRIENDS, "answered", FRIENDS, "was answered by user: Ada & Bob"),
        ({"type": "text"}, "deny", "typed before", "denied", None, "was denied by user"),
        ({"type": "text", "default": "Ada"}, "text", "", "answered", "Ada", "was answered by user: Ada"),
        ({"type": "text", "secret": True}, "text", "s3cret", "answered", None, "was answered by user"),
    ],
)
def test_110_each_form_says_what_it_says_as_a_person_and_the_page_says_what_became_of_it(
    person: Visitor, http: Http, question: Any, say: str, typed: str, state: str, value: object, sentence: str
) -> None:
    posed = asking(http, **question)
    got = person.answer(person.look(), posed["id"], say, typed)
    assert got.status == 200
    assert f"Go on? {sentence}" in got.page.text
    assert posed["id"] not in got.page.forms
    found = http.ask("GET", f"/v1/questions/{posed['id']}")[1]
    assert (found["state"], found["via"], found["by"]) == (state, "person", "user")
    assert found["value"] == value


def test_145_a_secret_reaches_who_asked_and_is_shown_and_kept_nowhere(
    person: Visitor, http: Http, daemon: Path
) -> None:
    posed = asking(http, type="text", secret=True, text="Password:")
    page = person.look()
    (field,) = [found for tag, found in page.elements if tag == "input" and found.get("id") == f"text-{posed['id']}"]
    assert (field["type"], field["name"], field["autocomplete"]) == ("password", "secret", "new-password")
    got = person.answer(page, posed["id"], "text", "hunter2!")
    assert "hunter2!" not in got.page.html
    assert http.ask("POST", f"/v1/questions/{posed['id']}/wait", {})[1]["value"] == "hunter2!"
    late = person.answer(page, posed["id"], "deny", "hunter2!")
    assert "hunter2!" not in late.page.html
    page.forms[posed["id"]]["key"] = "another"
    late = person.answer(page, posed["id"], "text", "hunter2!")
    assert (late.status, "did not take your answer" in late.page.text, "hunter2!" in late.page.html) == (
        409,
        True,
        False,
    )
    kept = [path for path in daemon.rglob("*") if path.is_file() and b"hunter2!" in path.read_bytes()]
    assert kept == []


def test_what_a_job_says_cannot_become_a_part_of_the_page(person: Visitor, http: Http) -> None:
    _, body = http.ask("POST", "/v1/jobs", {"command": ["sleep", "60"], "background": True})
    job = body["job"]["id"]
    http.ask(
        "POST", "/v1/jobs", {"command": f"sleep 60 # {EVIL.replace(chr(0), '')}", "background": True, "name": "evil"}
    )
    for question in (
        {"text": EVIL, "type": "select", "options": [EVIL, "b"], "default": EVIL},
        {"text": EVIL, "type": "text", "default": EVIL},
    ):
        http.ask("POST", "/v1/questions", {"job": job, "question": question})
    http.ask("POST", "/v1/questions", {"job": "evil", "question": {"text": "Go?", "type": "boolean"}})
    page = person.look()
    for bad in ("<script>alert", "\u202e", "\u200b", "\x1b", "\x07", "\x00"):
        assert bad not in page.html
    assert (page.text.count(HARMLESS), page.text.count(f"sleep 60 # {HARMLESS.removesuffix(NUL)} in /")) == (3, 1)
    assert [found for tag, found in page.elements if tag == "script"] == [{"type": "module", "src": "/static/page.js"}]
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"style"})


def test_a_page_names_the_job_its_command_and_who_may_answer(person: Visitor, http: Http) -> None:
    http.ask("POST", "/v1/jobs", {"command": "sleep 61", "background": True, "name": "deploy", "cwd": "/tmp"})
    ask = {"job": "deploy", "question": {"text": "Go on?", "exclusive": True}, "timeout_ms": 600_000}
    posed = http.ask("POST", "/v1/questions", ask)[1]
    page = person.look()
    assert "Go on? deploy sleep 61 in /tmp just now · for a person · in 9m it is denied" in page.text
    assert page.buttons[posed["id"]] == ["text", "deny"]
    labels = [found["for"] for tag, found in page.elements if tag == "label"]
    assert f"text-{posed['id']}" in labels


def test_who_is_too_late_is_told_who_was_faster_and_gets_back_what_was_typed(person: Visitor, http: Http) -> None:
    posed = asking(http, type="text", text="Which name?")
    page = person.look()
    http.ask("POST", f"/v1/questions/{posed['id']}/answer", {"value": "Bob", "by": "claude"})
    got = person.answer(page, posed["id"], "text", "<i>Ada</i>")
    assert got.status == 409
    assert "Which name? did not take your answer: it was answered by claude" in got.page.text
    assert "What you typed was not taken: <i>Ada</i>" in got.page.text
    assert "<i>" not in got.page.html


def test_what_is_withdrawn_meanwhile_is_said(person: Visitor, http: Http) -> None:
    posed = asking(http)
    page = person.look()
    http.ask("POST", f"/v1/jobs/{posed['job']}/kill", {"signal": 9})
    got = person.answer(page, posed["id"], "yes")
    assert (got.status, "it was withdrawn (its job ended)" in got.page.text) == (409, True)
    http.ask("DELETE", f"/v1/jobs/{posed['job']}")
    assert "is asked no longer" in person.look(f"?known={posed['id']}").text


@pytest.mark.parametrize(
    ("question", "say", "typed", "why"),
    [
        ({"type": "text"}, "text", "", "Nothing was typed"),
        ({}, "", "", "press one of the buttons"),
        ({}, "maybe", "", "press one of the buttons"),
        (COLOURS, "3", "", "press one of the buttons"),
        (COLOURS, "-1", "", "press one of the buttons"),
        ({"type": "text"}, "yes", "what I typed", "press one of the buttons"),
        ({"type": "text"}, "yes", "<i>&amp;</textarea>\"'", "press one of the buttons"),
    ],
)
def test_what_does_not_answer_is_said_beside_its_question_with_what_was_typed(
    person: Visitor, http: Http, question: Any, say: str, typed: str, why: str
) -> None:
    posed = asking(http, **question)
    got = person.answer(person.look(), posed["id"], say, typed)
    assert (got.status, why in got.page.text) == (400, True)
    assert got.page.forms[posed["id"]].get("text", "") == typed
    assert http.ask("GET", f"/v1/questions/{posed['id']}")[1]["state"] == "open"


def test_a_form_that_is_sent_twice_answers_once(person: Visitor, http: Http) -> None:
    posed = asking(http, type="text")
    prompt = prompting(http, "printf 'Name? '; read x; read y; echo $x-$y")
    page = person.look()
    for _ in range(2):
        assert "was answered by user: Ada" in person.answer(page, posed["id"], "text", "Ada").page.text
        got = person.answer(page, prompt["id"], "text", "Ada")
        assert (got.status, f"The prompt of {prompt['job']} has what you typed" in got.page.text) == (200, True)
    http.ask("POST", f"/v1/jobs/{prompt['job']}/send", {"text": "end\n"})
    http.ask("POST", "/v1/wait", {"jobs": [prompt["job"]]})
    assert http.raw("GET", f"/v1/jobs/{prompt['job']}/output").read() == b"Name? Ada-end\n"


def test_a_prompt_takes_an_empty_line_the_end_of_its_input_and_nothing_after_something_else_was_typed(
    person: Visitor, http: Http
) -> None:
    enter = prompting(http, "printf 'Press Enter '; read x && echo got $x")
    ends = prompting(http, "printf 'Name? '; read x || echo none")
    other = prompting(http, "printf 'Name? '; read x; read y; echo $x-$y")
    page = person.look()
    assert page.buttons[ends["id"]] == ["text", "deny"]
    assert "has what you typed" in person.answer(page, enter["id"], "text").page.text
    assert "has no more input" in person.answer(page, ends["id"], "deny").page.text
    http.ask("POST", f"/v1/jobs/{other['job']}/send", {"text": "Bob\n"})
    late = person.answer(page, other["id"], "text", "Ada")
    assert (late.status, "What you typed was not taken: Ada" in late.page.text) == (409, True)
    http.ask("POST", "/v1/wait", {"jobs": [enter["job"], ends["job"]]})
    assert http.raw("GET", f"/v1/jobs/{enter['job']}/output").read() == b"Press Enter got\n"
    assert http.raw("GET", f"/v1/jobs/{ends['job']}/output").read() == b"Name? none\n"


async def test_a_page_that_waits_comes_when_something_is_asked_and_says_what_became_of_what_it_knew(
    person: Visitor, http: Http
) -> None:
    first = asking(http)
    known = [one["id"] for one in http.ask("GET", "/v1/questions")[1]["questions"]]

    async def page_after(act: Callable[[], Any]) -> str:
        found: list[str] = []
        query = f"?wait=1&known={','.join(known)}"

        async def wait() -> None:
            found.append((await anyio.to_thread.run_sync(person.look, query)).text)

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            known.append((await anyio.to_thread.run_sync(act))["id"])
        return found[0]

    assert "And now?" in await page_after(lambda: asking(http, text="And now?"))
    path = f"/v1/questions/{first['id']}/answer"
    late = await page_after(lambda: http.ask("POST", path, {"value": False, "by": "claude"})[1])
    assert "Go on? was answered by claude: no" in late


def test_of_very_many_questions_the_oldest_are_shown_and_all_are_counted(person: Visitor, http: Http) -> None:
    posed = asking(http)
    for number in range(55):
        http.ask("POST", "/v1/questions", {"job": posed["job"], "question": {"text": f"{number}?"}})
    page = person.look()
    assert len(page.forms) == 50
    assert "questions are open; these are the oldest 50" in page.text
    http.ask("POST", f"/v1/jobs/{posed['job']}/kill", {"signal": 9})
