"""What a run leaves, and what of it its session keeps: tables of cases."""

import pytest

from bide.model.state import Begun, Held, Left, merge, read_left, shell_code


def records(*texts: str) -> bytes:
    return b"".join(text.encode() + b"\0" for text in texts)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", None),
        (b"end=1\0", None),
        (records("cwd=/", "env=A=1"), None),
        (records("cwd=/", "env=A=1", "end=1")[:-1], None),
        (records("cwd=relative", "end=1"), None),
        (records("cwd=/a=b", "env=A=x=y\nz", "env=B=", "end=1"), Left("/a=b", {"A": "x=y\nz", "B": ""})),
        (records("cwd=/", "environ=", "A=1", "env=2", "end=1"), Left("/", {"A": "1", "env": "2"})),
        (records("cwd=/", 'vars={"a": [1]}', "end=1"), Left("/", {}, None, {"a": [1]})),
        (records("cwd=/", "vars=[1]", "end=1"), Left("/", {})),
        (records("cwd=/", "vars={", "other=1", "end=1"), Left("/", {})),
        (
            records(
                "cwd=/",
                "shell=function f\nf () \n{ :\n}\n",
                'shell=variable x\ndeclare -- x="1"\n',
                'shell=variable e\ndeclare -x e="1"\n',
                'shell=variable r\ndeclare -ir r="1"\n',
                'shell=variable IFS\ndeclare -- IFS=":"\n',
                "shell=variable gone\n",
                "end=1",
            ),
            Left("/", {}, {"function f": "f () \n{ :\n}\n", "variable x": 'declare -- x="1"\n'}),
        ),
    ],
)
def test_what_a_run_left_is_read_or_ignored(data: bytes, found: Left | None) -> None:
    assert read_left(data) == found


BEGUN = Begun("/w", {"A": "1", "GONE": "1", "odd.name": "1", "BIDE_JOB": "j", "PWD": "/w", "SHLVL": "1"})


def test_only_what_changed_is_merged() -> None:
    held = Held("/elsewhere", {"A": "1"}, {"A": "other", "B": "2"}, ("U",))
    env = {"A": "1", "NEW": "x", "U": "back", "BIDE_JOB": "k", "SHLVL": "2", "_": "/bin/x", "PWD": "/p"}
    after = merge(held, BEGUN, Left("/w", env))
    assert after.cwd == "/elsewhere"
    assert after.env == {"A": "other", "B": "2", "NEW": "x", "U": "back"}
    assert after.unset == ("GONE",)
    assert after.note == ""


def test_a_change_of_folder_wins_over_what_is_held() -> None:
    assert merge(Held("/elsewhere"), BEGUN, Left("/new", dict(BEGUN.env))).cwd == "/new"


def test_values_are_merged_one_by_one() -> None:
    begun = Begun("/", {}, {"alias a": "1", "alias gone": "1"}, {"a": 1, "gone": 1})
    held = Held(
        "/", vars={"a": 5, "gone": 1, "theirs": 1}, shell={"alias a": "5", "alias gone": "1", "alias theirs": "1"}
    )
    after = merge(held, begun, Left("/", {}, {"alias a": "1", "alias new": "1"}, {"a": 1, "new": 1}))
    assert after.vars == {"a": 5, "theirs": 1, "new": 1}
    assert after.shell == {"alias a": "5", "alias theirs": "1", "alias new": "1"}
    assert merge(held, begun, Left("/", {})) == held


def test_what_is_too_large_is_left_out_and_named() -> None:
    after = merge(
        Held("/"), Begun("/", {}), Left("/", {"BIG": "x" * 140_000, "A": "1"}, {"variable x": "y" * 2_000_000})
    )
    assert (after.env, after.shell) == ({"A": "1"}, {})
    assert "not kept: BIG" in after.note
    assert "of the shell were not kept" in after.note


def test_aliases_are_restored_last_and_options_first() -> None:
    shell = {
        "alias a": "alias a=b",
        "function f": "f () { :; }\n",
        "option x": "shopt -s x",
        "set e": "S",
        "odd k": "no",
    }
    assert shell_code(shell) == "S\nshopt -s x\nf () { :; }\nalias a=b\n"
