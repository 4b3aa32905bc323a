"""On which line a key stands, however it is written."""

import tomllib
from typing import Any

import pytest

from bide.project.lines import key_lines

TEXT = '''\
# a comment with [brackets] and key = 1
top = "a # no comment"  # a comment
"quo\\u0074ed key" = 1
'literal.key' = 2

[service.web]
command = """
[not.a.table]
key = "not a key"
"""
ready.log = 'a\\b "x" #'
ready . "po rt" = 80
env = { A = "1", "B.C" = "}", D.E = [1, {F = 2}] }
words = [
  "one", # [two]
  """tri
ple""",
  {inner = 3},
]
at = 2026-01-31T08:00:00Z

[ "ser vice" . 'x' ]
a = 1
[[many]]
b = 1
[[many]]
c = 2
[last]
d = true
'''

LINES: dict[tuple[str, ...], int] = {
    ("top",): 2,
    ("quoted key",): 3,
    ("literal.key",): 4,
    ("service",): 6,
    ("service", "web"): 6,
    ("service", "web", "command"): 7,
    ("service", "web", "ready"): 11,
    ("service", "web", "ready", "log"): 11,
    ("service", "web", "ready", "po rt"): 12,
    ("service", "web", "env"): 13,
    ("service", "web", "env", "A"): 13,
    ("service", "web", "env", "B.C"): 13,
    ("service", "web", "env", "D"): 13,
    ("service", "web", "env", "D", "E"): 13,
    ("service", "web", "env", "D", "E", "F"): 13,
    ("service", "web", "words"): 14,
    ("service", "web", "words", "inner"): 18,
    ("service", "web", "at"): 20,
    ("ser vice",): 22,
    ("ser vice", "x"): 22,
    ("ser vice", "x", "a"): 23,
    ("many",): 24,
    ("many", "b"): 25,
    ("many", "c"): 27,
    ("last",): 28,
    ("last", "d"): 29,
}


def paths(value: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """The path of every key that tomllib finds."""
    if isinstance(value, list):
        return {found for one in value for found in paths(one, path)}  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return set()
    found: set[tuple[str, ...]] = set()
    for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
        found |= {(*path, str(key)), *paths(inner, (*path, str(key)))}  # pyright: ignore[reportUnknownArgumentType]
    return found


def test_every_key_has_its_line() -> None:
    assert key_lines(TEXT) == LINES


def test_the_keys_are_those_that_tomllib_finds() -> None:
    assert set(key_lines(TEXT)) == paths(tomllib.loads(TEXT))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n# nothing\n",
        "a = '''x\n''''\nb = 1",
        'a = """x\\\n  "" y"""""\nb = 1',
        "a=[]\nb={}\nc=[[],[[]]]\n",
        'a = ""\nb = \'\'\n"" = 1\n',
        "a.b.c = 1\na.b.d = 2\n[a.e]\nf = -1.5e3\n",
        "a = [ # x\n  1, # ]\n]\nb = 1",
        "[x]\n[x.y]\n[x.y.'z']\nq = inf",
    ],
)
def test_strange_files_are_read_as_tomllib_reads_them(text: str) -> None:
    assert set(key_lines(text)) == paths(tomllib.loads(text))
