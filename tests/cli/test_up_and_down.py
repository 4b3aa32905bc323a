"""`bide up`, `bide down` and `bide task`: a project's bide.toml."""

import json
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.support.servers import SERVER, free_port, is_free

STAYS = "echo up; exec sleep 100"


@pytest.fixture
def port() -> int:
    return free_port()


def project(alone: Shell, text: str, folder: str = "shop") -> Shell:
    """A shell in the folder of a project with this file."""
    place = alone.folder / folder
    place.mkdir(parents=True)
    (place / "bide.toml").write_text(text)
    return Shell(alone.home, place)


def shop(alone: Shell, port: int) -> Shell:
    return project(
        alone,
        f"""
[service.web]
command = "test -e ../ready; echo serving $WORD; exec sleep 100"
env.WORD = "pages"
ready.log = "serving pages"
depends_on = ["db"]

[service.db]
command = ["python3", "-c", {json.dumps(SERVER)}, "{port}"]
port = {port}
restart = "on-failure"
grace = "1s"
""",
    )


def test_up_starts_what_is_needed_first_and_down_stops_it(alone: Shell, port: int) -> None:
    at = shop(alone, port)
    lines = at.out("up").splitlines()
    assert [line.split(":")[0] for line in lines] == ["db", "web"]
    assert f"listens on {port}" in lines[0]
    assert all("ready in" in line for line in lines)
    assert {job["name"] for job in at.json("ls")["jobs"]} == {"shop.db", "shop.web"}

    again = at.out("up").splitlines()
    assert all("was running already, and is ready" in line for line in again)
    assert len(at.json("ls")["jobs"]) == 2
    assert at.out("service", "logs", "web") == "serving pages\n"

    down = at.out("down").splitlines()
    assert [line.split(":")[0] for line in down] == ["web", "db"]
    assert all("nothing of it is left" in line for line in down)
    assert is_free(port)
    assert at.out("down").splitlines() == ["web: was not running", "db: was not running"]


def test_in_json_and_for_some(alone: Shell, port: int) -> None:
    at = shop(alone, port)
    (db,) = at.json("up", "db")["services"]
    assert (db["service"], db["name"], db["started"], db["ready"], db["error"]) == ("db", "shop.db", True, True, None)
    assert [one["port"] for one in db["job"]["ports"]] == [port]
    told = at.json("up", "web")["services"]
    assert [(one["service"], one["started"], one["ready"]) for one in told] == [
        ("db", False, True),
        ("web", True, True),
    ]
    (down,) = at.json("down", "db")["services"]
    assert (down["stopped"], down["verified_empty"]) == (True, True)
    assert at.json("show", "shop.web")["ready"]


def test_a_service_of_a_project_has_its_short_name_in_it(alone: Shell, port: int) -> None:
    at = shop(alone, port)
    below = Shell(at.home, at.folder / "below" / "it")
    below.folder.mkdir(parents=True)
    assert below("service", "start", "db").returncode == 0
    first = below.json("show", "shop.db")
    assert first["cwd"] == str(at.folder)
    assert below("service", "restart", "db").returncode == 0
    assert below.json("show", "shop.db")["id"] != first["id"]
    assert below("service", "stop", "db").returncode == 0
    assert is_free(port)


def test_one_that_is_not_ready_is_named_with_its_tail_and_the_others_go_on(alone: Shell) -> None:
    at = project(
        alone,
        """
[service.bad]
command = "echo oh; echo no >&2; exit 3"
ready.log = "x"
[service.after]
command = "sleep 100"
depends_on = ["bad"]
[service.good]
command = "exec sleep 100"
[service.slow]
command = "echo thinking; exec sleep 100"
ready = { command = "exit 1", timeout = "300ms" }
""",
    )
    done = at("up")
    assert done.returncode == 1
    told = done.stderr.decode()
    assert "exited with 3 before it was ready\nbide:   oh\nbide:   no\n" in told
    assert "after: not started, because bad is not ready" in told
    assert "is not ready after 300ms and goes on" in told
    assert "bide:   thinking" in told
    assert b"good: ready in" in done.stdout
    errors = {one["service"]: one["error"] for one in at.json("up")["services"]}
    assert errors["good"] is None
    assert errors["after"] == "not started, because bad is not ready"


def test_two_projects_may_both_have_a_web(alone: Shell) -> None:
    text = f'[service.web]\ncommand = "{STAYS}"\n'
    one, two = project(alone, text, "one"), project(alone, text, "two")
    assert one("up").returncode == two("up").returncode == 0
    assert {job["name"] for job in one.json("ls")["jobs"]} == {"one.web", "two.web"}
    one.out("down")
    assert two.json("show", "two.web")["phase"] == "running"


def test_two_projects_of_one_name_are_told_apart(alone: Shell) -> None:
    text = f'[service.web]\ncommand = "{STAYS}"\n'
    one, two = project(alone, text, "a/shop"), project(alone, text, "b/shop")
    one.out("up")
    done = two("up")
    assert done.returncode == 2
    assert f"'shop.web' runs for {one.folder}; give this project another name" in done.stderr.decode()
    assert two.out("down") == "web: was not running\n"
    (two.folder / "bide.toml").write_text('project = "other"\n' + text)
    assert two("up").returncode == 0
    assert one.json("show", "shop.web")["phase"] == "running"


def test_nothing_is_started_if_anything_in_the_file_is_wrong(alone: Shell) -> None:
    at = project(alone, f'[service.a]\ncommand = "{STAYS}"\n\n[service.b]\ncommand = "x"\nready.prot = 80\n')
    done = at("up", "a")
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"bide: {at.folder}/bide.toml, line 6: [service.b.ready] has no key 'prot'; did you mean 'port'?\n"
    )
    error = at.json("up")["error"]
    assert (error["code"], error["facts"]["line"]) == ("bad_project", "6")
    assert at.json("ls")["jobs"] == []


def test_a_held_port_is_told_and_the_rest_goes_up(alone: Shell, port: int) -> None:
    at = shop(alone, port)
    at.out("service", "start", "holder", "--port", str(port), "--", "python3", "-c", SERVER, str(port))
    done = at("up")
    assert done.returncode == 1
    assert f"db: port {port} is held by job " in done.stderr.decode()
    assert b"(holder)" in done.stderr
    assert b"web: not started, because db is not ready" in done.stderr


def test_a_task_runs_after_what_comes_before_it(alone: Shell) -> None:
    at = project(
        alone,
        """
[task.test]
command = "cat built; exit 4"
after = ["build"]
[task.build]
command = "echo building; echo $WORD > built"
env.WORD = "done"
[task.broken]
command = "exit 3"
[task.never]
command = "echo never"
after = ["broken"]
""",
    )
    done = at("task", "test")
    assert (done.returncode, done.stdout) == (4, b"building\ndone\n")
    done = at("task", "never")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"task 'never' was not run, because 'broken' before it ended with 3" in done.stderr
    told = at.json("task", "test")["tasks"]
    assert [(one["task"], one["job"]["status"]) for one in told] == [("build", 0), ("test", 4)]
    assert [line.split()[0] for line in at.out("task").splitlines()] == ["build", "test", "broken", "never"]
    assert at("task", "tset").returncode == 2
    assert b"has no task 'tset'; did you mean 'test'?" in at("task", "tset").stderr


def test_without_a_file_it_says_so(alone: Shell, tmp_path: Path) -> None:
    for command in ("up", "down", "task"):
        done = alone(command)
        assert done.returncode == 2
        assert f"there is no bide.toml in {str(tmp_path)!r} or above" in done.stderr.decode()
    assert b"there is no file 'x'" in alone("up", "--file", "x").stderr


def test_on_a_terminal_there_is_something_to_look_at(alone: Shell) -> None:
    at = project(
        alone, '[service.web]\ncommand = "echo warming; sleep 0.7; echo up; exec sleep 100"\nready.log = "^up"\n'
    )
    with at.terminal("up") as terminal:
        assert b"not ready" in terminal.until(b"warming")
        assert terminal.end() == 0
    assert b"\x1b[32mready in" in terminal.seen
