"""bide.toml: what it says, and one clear sentence with a line for what cannot be meant."""

from pathlib import Path

import pytest

from bide.model.errors import BadProject
from bide.project.file import Project, find
from bide.project.order import in_order, with_needs

GOOD = """\
[service.web]
command = "npm run dev"
cwd = "app"
env = { NODE_ENV = "development" }
ready.http = "http://127.0.0.1:3000/"
ready.timeout = "1m30s"
restart = "on-failure"
restarts = 5
depends_on = ["db"]
grace = "2s"

[service.db]
command = ["postgres", "-D", "data"]
port = 5432
limits.memory = "1G"

[task.test]
command = "pytest"
after = ["build"]
limits = { timeout = 600, cpus = 1.5, pids = 50, output = 1024, idle = "30s", grace = 0 }

[task.build]
command = "make"
"""


def project(folder: Path, text: str) -> Project:
    (folder / "app").mkdir(exist_ok=True)
    (folder / "bide.toml").write_text(text)
    return Project(str(folder / "bide.toml"))


def test_a_file_gives_requests(tmp_path: Path) -> None:
    folder = tmp_path / "My Shop!"
    folder.mkdir()
    found = project(folder, GOOD)
    assert list(found.services) == ["db", "web"]
    assert list(found.tasks) == ["build", "test"]
    assert found.service_request("web") == {
        "command": "npm run dev",
        "cwd": str(folder / "app"),
        "env": {"NODE_ENV": "development"},
        "label": f"project {folder}",
        "limits": {},
        "name": "My-Shop.web",
        "service": {
            "ready": {"http": "http://127.0.0.1:3000/"},
            "ready_command": None,
            "ready_timeout_ms": 90_000,
            "restart": "on-failure",
            "restarts": 5,
        },
    }
    database = found.service_request("db")
    assert database["command"] == ["postgres", "-D", "data"]
    assert database["limits"] == {"memory_bytes": 1024**3}
    assert database["service"] | {"ready_timeout_ms": 0} == {
        "ready": {"port": 5432},
        "ready_command": None,
        "ready_timeout_ms": 0,
        "port": 5432,
    }
    assert found.request(found.tasks["test"])["limits"] == {
        "timeout_ms": 600_000,
        "cpus": 1.5,
        "pids": 50,
        "output_bytes": 1024,
        "idle_ms": 30_000,
        "grace_ms": 0,
    }


def test_a_project_may_have_a_name_of_its_own(tmp_path: Path) -> None:
    assert project(tmp_path, 'project = "other"\n' + GOOD).full_name("web") == "other.web"


def test_a_file_is_found_from_a_folder_below(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find(str(below)) is None
    (tmp_path / "bide.toml").touch()
    assert find(str(below)) == str(tmp_path / "bide.toml")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[service.web]\ncommand = 1", 2, "'service.web.command' must be a text for the shell, or a list of words"),
        ("[service.web]\ncommand = []", 2, "it cannot be empty"),
        ("[service.web]\ncwd = '.'", 1, "service 'web' has no command"),
        ("[service.web]\ncommand = 'x'\n\ncomand = 'y'", 4, "has no key 'comand'; did you mean 'command'"),
        (
            "[service.web]\ncommand = 'x'\nready.prot = 1",
            3,
            "[service.web.ready] has no key 'prot'; did you mean 'port'",
        ),
        (
            "[service.web]\ncommand = 'x'\n[service.web.ready]\n\nport = 70000",
            5,
            "cannot be 70000; a port is 1 to 65535",
        ),
        ("[service.web]\ncommand = 'x'\nready = {\"port\" = true}", 3, "must be a whole number"),
        ("[service.web]\ncommand = 'x'\nready.log = '('", 3, "'service.web.ready.log' is not a regular expression"),
        (
            f"[service.web]\ncommand = 'x'\nready.log = '{'(' * 3000}'",
            3,
            "it has 3000 characters, and 2000 is the most",
        ),
        (
            "[service.web]\ncommand = 'x'\nready.log = '(?:(?:a{1000}){1000}){3}'",
            3,
            "'service.web.ready.log' is not a regular expression: invalid repetition size",
        ),
        ("[service.web]\ncommand = 'x'\nready.http = 'https://x'", 3, "it must be an http:// URL"),
        ("[service.web]\ncommand = 'x'\nready.log = 'a'\nready.port = 1", 4, "choose between log and port"),
        ("[service.web]\ncommand = 'x'\nready.timeout = '0s'", 3, "must be longer than 0"),
        ("[service.web]\ncommand = 'x'\nready.timeout = 'soon'", 3, "must be a time such as"),
        ("[service.web]\ncommand = 'x'\nready = 'port'", 3, "'service.web.ready' is a section"),
        ("[service.web]\ncommand = 'x'\nrestart = 'sometimes'", 3, "must be one of 'no', 'on-failure', 'always'"),
        ("[service.web]\ncommand = 'x'\nrestarts = -1", 3, "must be a whole number, 0 or above"),
        ("[service.web]\ncommand = 'x'\nenv.PORT = 80", 3, "write numbers in quotes"),
        ("[service.web]\ncommand = 'x'\nenv = {'A=B' = 'x'}", 3, "cannot be an environment variable"),
        ("[service.web]\ncommand = 'x'\ncwd = 'nowhere'", 3, "there is no folder"),
        ("[service.web]\ncommand = 'x'\ndepends_on = 'db'", 3, "must be a list of texts"),
        ("[service.web]\ncommand = 'x'\ndepends_on = ['db']", 3, "needs 'db', and there is no such service"),
        (
            "[service.a]\ncommand = 'x'\ndepends_on = ['b']\n[service.b]\ncommand = 'x'\ndepends_on = ['a']",
            3,
            "a → b → a",
        ),
        ("[task.a]\ncommand = 'x'\nafter = ['a']", 3, "these wait for each other: a → a"),
        ("[task.a]\ncommand = 'x'\nlimits.memory = 'lots'", 3, "must be a size such as"),
        ("[task.a]\ncommand = 'x'\nlimits.cpus = 0", 3, "must be a number above 0"),
        ("[task.a]\ncommand = 'x'\nlimits.pids = 0", 3, "must be above 0"),
        ("[task.a]\ncommand = 'x'\nrestart = 'no'", 3, "[task.a] has no key 'restart'"),
        ("[service.'we b']\ncommand = 'x'", 1, "'we b' cannot be the name of a service"),
        ("# x\n[services.web]\ncommand = 'x'", 2, "bide.toml has no key 'services'; did you mean 'service'"),
        ("\nservice = 1", 2, "'service' is a section; write [service.NAME]"),
        ("service.web = 1", 1, "'service.web' is a section; write [service.web]"),
        ("\n\nproject = 'a b'", 3, "'project' must be a name"),
        ("[service.web]\ncommand = 'x\n", 2, "Expected"),
        ("[service.web]\ncommand = x\n[a]", 2, "Invalid value"),
        ("[service.web]\r\ncommand = 'x'\r\nport = 0\r\n", 3, "cannot be 0"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(BadProject) as told:
        project(tmp_path, text)
    assert str(told.value).startswith(f"{tmp_path / 'bide.toml'}, line {line}: ")
    assert words in str(told.value)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "bide.toml").write_bytes(b"\xff")
    with pytest.raises(BadProject, match="cannot be read"):
        Project(str(tmp_path / "bide.toml"))


def test_what_is_needed_comes_first() -> None:
    needs = {"a": ["c"], "b": [], "c": ["d", "b"], "d": []}
    assert in_order(needs) == (["d", "b", "c", "a"], [])
    assert with_needs(["c"], needs) == ["d", "b", "c"]
    assert in_order({"a": ["b"], "b": ["c"], "c": ["b"]}) == ([], ["b", "c"])
