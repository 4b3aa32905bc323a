"""A wrong argument is refused by its name, with what would be right."""

import pytest

from bide.model.arguments import counted, fault

SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}]},
        "jobs": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "timeout": {"type": "number", "minimum": 0, "maximum": 3600},
        "mode": {"type": "string", "enum": ["any", "all"]},
        "flag": {"type": "boolean"},
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "until": {"type": "object", "properties": {"log": {"type": "string"}}},
    },
    "required": ["command"],
}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "the call needs 'command'"),
        ({"command": 3}, "'command' must be a string or a list, not 3"),
        ({"command": ["a", 1]}, "'command[1]' must be a string, not 1"),
        ({"command": "x", "timeout": "5"}, "'timeout' must be a number, not '5'"),
        ({"command": "x", "timeout": True}, "'timeout' must be a number, not True"),
        ({"command": "x", "timeout": -1}, "'timeout' must be at least 0, not -1"),
        ({"command": "x", "timeout": float("nan")}, "'timeout' must be a number, not nan"),
        ({"command": "x", "port": 65536}, "'port' must be at most 65535, not 65536"),
        ({"command": "x", "port": 1.5}, "'port' must be a whole number, not 1.5"),
        ({"command": "x", "mode": "some"}, "'mode' must be one of any, all, not 'some'"),
        ({"command": "x", "flag": 1}, "'flag' must be true or false, not 1"),
        ({"command": "x", "jobs": []}, "'jobs' must have at least one entry"),
        ({"command": "x", "jobs": ["a", 2]}, "'jobs[1]' must be a string, not 2"),
        ({"command": "x", "env": {"A": 1}}, "'env.A' must be a string, not 1"),
        ({"command": "x", "until": {"lgo": "x"}}, "'until' has no field 'lgo'; did you mean 'log'"),
        ({"command": "x", "comand": "y"}, "the call has no field 'comand'; did you mean 'command'"),
        ({"command": "x", "q" * 500: 1}, "the call has no field 'qqq"),
        ([], "the arguments must be an object, not []"),
        (None, "the arguments must be an object, not None"),
    ],
)
def test_what_is_wrong_is_said(arguments: object, sentence: str) -> None:
    found = fault(arguments, SCHEMA)
    assert found is not None
    assert found.sentence.startswith(sentence)
    assert len(found.sentence) < 300


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "command"),
        ({"command": 3}, "command"),
        ({"command": "x", "jobs": ["a", 2]}, "jobs[1]"),
        ({"command": "x", "env": {"A": 1}}, "env.A"),
        ({"command": "x", "comand": "y"}, "comand"),
        ([], ""),
    ],
)
def test_where_it_is_wrong_is_said(arguments: object, field: str) -> None:
    found = fault(arguments, SCHEMA)
    assert found is not None
    assert found.field == field


def test_what_is_right_passes() -> None:
    right = {"command": ["a"], "jobs": ["x"], "timeout": 0, "mode": "any", "flag": False, "port": 80, "env": {"A": "1"}}
    assert fault(right, SCHEMA) is None


def test_a_whole_number_written_with_a_point_is_a_whole_number() -> None:
    given = {"command": ["a"], "port": 5.0, "timeout": 5.0, "env": {"A": "1"}, "flag": True}
    found = counted(given, SCHEMA)
    assert found == given
    assert [type(found[key]) for key in ("port", "timeout", "flag")] == [int, float, bool]
    within = {"type": "object", "properties": {"ports": {"type": "array", "items": {"type": "integer"}}}}
    nested = {"type": "object", "properties": {"to": {"anyOf": [{"type": "string"}, within]}}}
    assert type(counted({"to": {"ports": [1.0]}}, nested)["to"]["ports"][0]) is int
    free = {"type": "object", "additionalProperties": True}
    assert type(counted({"x": 1.0}, free)["x"]) is float
