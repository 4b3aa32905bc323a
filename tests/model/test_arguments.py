"""A wrong argument is refused by its name, with what would be right."""

import pytest

from bide.model.arguments import fault, meant

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
    found = meant(given, SCHEMA)
    assert found == given
    assert [type(found[key]) for key in ("port", "timeout", "flag")] == [int, float, bool]


def test_null_is_the_same_as_nothing() -> None:
    given = {"command": "x", "timeout": None, "jobs": None, "until": {"log": None}, "mode": None}
    assert meant(given, SCHEMA) == {"command": "x", "until": {}}
    missing = fault(meant({"command": None}, SCHEMA), SCHEMA)
    assert missing is not None
    assert missing.sentence == "the call needs 'command'"


def test_null_that_says_something_stays() -> None:
    schema = {"type": "object", "properties": {"input": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    assert meant({"input": None}, schema) == {"input": None}


def test_null_among_values_or_under_an_unknown_name_is_refused_by_its_name() -> None:
    for given, field in (({"env": {"A": None}}, "env.A"), ({"jobs": [None]}, "jobs[0]"), ({"jbos": None}, "jbos")):
        found = fault(meant({"command": "x", **given}, SCHEMA), SCHEMA)
        assert found is not None
        assert found.field == field


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"timeout": "2"}, {"timeout": 2}),
        ({"timeout": "2.5"}, {"timeout": 2.5}),
        ({"port": "80"}, {"port": 80}),
        ({"port": "80.0"}, {"port": 80}),
        ({"flag": "true"}, {"flag": True}),
        ({"flag": "False"}, {"flag": False}),
        ({"command": "2"}, {"command": "2"}),
        ({"env": {"A": "true"}}, {"env": {"A": "true"}}),
        ({"jobs": ["7"]}, {"jobs": ["7"]}),
    ],
)
def test_numbers_and_flags_may_come_as_text(given: dict[str, object], read: dict[str, object]) -> None:
    found = meant({"command": "x", **given}, SCHEMA)
    assert found == {"command": "x", **read}
    assert fault(found, SCHEMA) is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"timeout": "two"}, "'timeout' must be a number, not 'two'"),
        ({"timeout": "1e9"}, "'timeout' must be a number, not '1e9'"),
        ({"timeout": "1,5"}, "'timeout' must be a number, not '1,5'"),
        ({"timeout": "9" * 400}, "'timeout' must be a number, not '999"),
        ({"timeout": "-1"}, "'timeout' must be at least 0, not -1"),
        ({"timeout": ""}, "'timeout' must be a number, not ''"),
        ({"port": "1.5"}, "'port' must be a whole number, not 1.5"),
        ({"flag": "yes"}, "'flag' must be true or false, not 'yes'"),
        ({"flag": "1"}, "'flag' must be true or false, not '1'"),
        ({"jobs": "a"}, "'jobs' must be a list, not 'a'"),
        ({"env": {"A": 1}}, "'env.A' must be a string, not 1"),
    ],
)
def test_what_is_not_plain_is_refused_by_its_name(given: dict[str, object], sentence: str) -> None:
    found = fault(meant({"command": "x", **given}, SCHEMA), SCHEMA)
    assert found is not None
    assert found.sentence.startswith(sentence)


EITHER = {
    "type": "object",
    "properties": {
        "async": {"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["auto"]}]},
        "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
}


def test_of_several_types_the_one_that_fits_as_it_is_goes_first() -> None:
    for given, read in (("auto", "auto"), ("true", True), (False, False)):
        assert meant({"async": given}, EITHER) == {"async": read}
    assert meant({"id": "7"}, EITHER) == {"id": "7"}
    found = meant({"id": 7.0}, EITHER)["id"]
    assert (found, type(found)) == (7, int)


def test_a_choice_is_refused_with_all_that_it_can_be() -> None:
    found = fault(meant({"async": "yes"}, EITHER), EITHER)
    assert found is not None
    assert found.sentence == "'async' must be true or false or 'auto', not 'yes'"
