"""Arguments for tools, made from their schemas: what fits, however strange, and what does not."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bide.model.schema import Json

HARMLESS = ("true", "echo hi", "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "exit 3", "echo no >&2", "print(1)")
REFS = ("done", "live", "place", "job-place-1")
"""A job that is over, one that waits for input, a session and its job: see the tests' home."""
STRANGE = (
    "",
    " ",
    "-1",
    "--help",
    "../../etc/passwd",
    "a/b",
    "/",
    "two\nlines",
    "tab\tand\rreturn",
    "\x1b[31mred\x1b]0;title\x07",
    "\x00",
    "in\x00side",
    "\x7f\x80",
    "é€😀\u202e\ufeff",
    "\ufffe\uffff",
    "'\"`$(",
    "%s{}{0}\\",
    "(",
    "[[:x:]]*",
    "j0000000000",
    "job-place-99999999999999999999",
    "job-",
    "http://[",
    "http://127.0.0.1:1/",
    "NaN",
    "null",
    "SIGKILL",
    "x" * 300,
    "huge",
)
"""Strings that have broken programs. None of them does anything when it is run."""
EXECUTED = ("command", "code", "args")
NUMBERS = (0, 1, 5, 5.0, 0.5, 2**31, 2**53 - 1, -1, 2**53, 10**30, -(10**400), 1e308, float("inf"), float("nan"))
_NESTED: list[Any] = [[], [[]], ["\x00", 1], {}, {"\x00": {}}, {"a": None}]
_POOL: tuple[object, ...] = (
    *("", "no", "in\x00side", "y" * 100_000, True, None),
    *(-1, 1.5, 2**53, -(10**400), 1e308, float("inf"), float("nan")),
    *_NESTED,
)
_LEAVES: tuple[object, ...] = (*STRANGE[:6], 0, -1, 1.5, True, None)
ANYTHING = st.recursive(
    st.sampled_from(_LEAVES),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("a", "id", "\x00")), inner, max_size=3)
    ),
    max_leaves=5,
)


def fitting(schema: Json, name: str = "") -> st.SearchStrategy[Any]:
    """Values that the schema allows."""
    if "anyOf" in schema:
        return st.one_of([fitting(one, name) for one in schema["anyOf"]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return _MAKERS[schema["type"]](schema, name)


def _string(schema: Json, name: str) -> st.SearchStrategy[str]:
    usual, strange = HARMLESS if name in EXECUTED else REFS, STRANGE
    allowed = [[one for one in some if _is_long_enough(one, schema)] for some in (usual, strange)]
    return st.one_of([st.sampled_from(some).map(_grown) for some in allowed if some])


def _is_long_enough(word: str, schema: Json) -> bool:
    return schema.get("minLength", 0) <= len(word) <= schema.get("maxLength", 1 << 30)


def _grown(word: str) -> str:
    """Grown only here: Hypothesis writes down what it chooses from."""
    return "y" * 200_000 if word == "huge" else word


def _number(schema: Json, _: str) -> st.SearchStrategy[float]:
    low, high = max(schema.get("minimum", 1 - 2**53), 1 - 2**53), min(schema.get("maximum", 2**53 - 1), 2**53 - 1)
    found = [one for one in (*NUMBERS, low, high) if low <= one <= high]
    whole = schema["type"] == "integer"
    return st.sampled_from([one for one in found if not whole or one == int(one)])


def _list(schema: Json, name: str) -> st.SearchStrategy[list[Any]]:
    return st.lists(fitting(schema["items"], name), min_size=schema.get("minItems", 0), max_size=4)


def joined(first: st.SearchStrategy[Json], second: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Fields of both; where both have one, the second's."""

    def one(pair: tuple[Json, Json]) -> Json:
        return {**pair[0], **pair[1]}

    return st.tuples(first, second).map(one)


def _object(schema: Json, _: str) -> st.SearchStrategy[Json]:
    known: Json = schema.get("properties", {})
    optional = [key for key in known if key not in schema.get("required", ())]
    runs = [key for key in optional if key in EXECUTED]
    values = {key: fitting(one, key) for key, one in known.items()}

    def of(keys: list[str], run: list[str]) -> st.SearchStrategy[Json]:
        chosen = dict.fromkeys((*schema.get("required", ()), *keys, *run))
        return st.fixed_dictionaries({key: values[key] for key in chosen})

    # Few at a time: with many, one that is refused hides what the others would do.
    some = st.lists(st.sampled_from([key for key in optional if key not in runs] or [""]), max_size=2, unique=True)
    run = st.sampled_from([[key] for key in runs] or [[]])
    fields = st.tuples(some.map(lambda keys: [key for key in keys if key]), run).flatmap(lambda two: of(*two))
    rest = schema.get("additionalProperties", False)
    if rest is False:
        return fields
    more = ANYTHING if rest is True else fitting(rest)
    keys = st.sampled_from(("A", "PATH", *STRANGE[:14]))
    return joined(st.dictionaries(keys, more, max_size=3), fields)


def _boolean(_: Json, __: str) -> st.SearchStrategy[bool]:
    return st.booleans()


def _null(_: Json, __: str) -> st.SearchStrategy[None]:
    return st.none()


_MAKERS: dict[str, Callable[[Json, str], st.SearchStrategy[Any]]] = {
    "string": _string,
    "number": _number,
    "integer": _number,
    "boolean": _boolean,
    "null": _null,
    "array": _list,
    "object": _object,
}


def plain(schema: Json, name: str = "") -> Any:
    """The least that the schema allows, and harmless."""
    if "anyOf" in schema:
        return plain(schema["anyOf"][0], name)
    if "enum" in schema:
        return schema["enum"][0]
    least: dict[str, Callable[[], object]] = {
        "object": lambda: {key: plain(schema["properties"][key], key) for key in schema.get("required", ())},
        "array": lambda: [plain(schema["items"], name)] * max(1, schema.get("minItems", 1)),
        "number": lambda: max(1, schema.get("minimum", 1)),
        "integer": lambda: max(1, schema.get("minimum", 1)),
        "string": lambda: "true" if name in EXECUTED else "done",
        "boolean": lambda: True,
        "null": lambda: None,
    }
    return least[schema["type"]]()


def misfits(schema: Json) -> Iterator[tuple[str, Json]]:
    """Arguments that are wrong in one place each, with the field that is."""
    right: Json = plain(schema)
    for key in schema.get("required", ()):
        yield key, {name: value for name, value in right.items() if name != key}
    for key in ("nonsense", "Command", "in\x00side\n", "k" * 1000):
        yield key, {**right, key: 1}
    for key, one in schema["properties"].items():
        for value in wrong(one):
            if value is not None or key in schema.get("required", ()):  # null is the same as nothing
                yield key, {**right, key: value}


def wrong(schema: Json) -> list[object]:
    """Values that do not fit, by a judge that is not ours; numbers that JSON cannot carry everywhere fit nowhere."""
    edges = [one[key] + step for one in schema.get("anyOf", [schema]) for key, step in _EDGES.items() if key in one]
    return [one for one in (*_POOL, *edges) if _is_beyond(one) or not _is_valid(one, schema)]


def is_fitting(arguments: object, schema: Json) -> bool:
    """Whether the schema allows them, by the same judge."""
    return _is_valid(arguments, schema) and not _has_beyond(arguments)


def _is_valid(value: object, schema: Json) -> bool:
    judge: Any = Draft202012Validator(schema)
    return judge.is_valid(value)


_EDGES = {"minimum": -1, "maximum": 1}


def _is_beyond(value: object) -> bool:
    return isinstance(value, int | float) and not abs(value) < 2**53


def _has_beyond(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_beyond, cast("Json", value).values()))
    return any(map(_has_beyond, cast("list[object]", value))) if isinstance(value, list) else _is_beyond(value)


SETTINGS = settings(
    deadline=None,
    database=None,
    derandomize=True,  # what breaks, breaks in every run
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
"""What the tests of the suite have in common; how many examples each has is its own."""
