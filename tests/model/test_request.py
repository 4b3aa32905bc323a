"""What cannot be meant is refused, each with its code and a sentence that says what to do."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from bide import Limits, Request
from bide.model.errors import BadRequest
from bide.model.request import DEADLINE, check
from bide.model.requests import request_from_json, request_to_json

SECOND = timedelta(seconds=1)


def test_the_defaults_are_the_ones_that_are_documented() -> None:
    """docs/behaviour.md, docs/mcp.md and the help of `bide run`."""
    limits = Request.of("true").limits
    assert (limits.output_bytes, limits.grace, DEADLINE) == (256 << 20, 5 * SECOND, 45 * SECOND)
    assert (limits.timeout, limits.idle, limits.memory_bytes, limits.cpus, limits.pids) == (None,) * 5


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("", "there is no command to run; give one, as in: bide run -- make test"),
        ("  \n", "there is no command to run; give one, as in: bide run -- make test"),
        ((), "there is no command to run; give one, as in: bide run -- make test"),
        (("", "x"), "there is no command to run; give one, as in: bide run -- make test"),
        ("echo a\0b", "a command cannot contain a NUL byte"),
        (("echo", "a\0b"), "a command cannot contain a NUL byte"),
        (5, "a command is text, or a list of texts, and 5 is none; write str(...)"),
        (("sleep", 5), "a command is text, or a list of texts, and 5 is none; write str(...)"),
        (b"true", "a command is text, or a list of texts, and 116 is none; write str(...)"),
        ("echo \ud800", "a command must be text; this one has half a surrogate pair in it"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(command: Any, sentence: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(sentence)) as refused:
        Request.of(command)
    assert refused.value.code == "bad_request"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": ""}, "'' cannot be a job's name; use 1 to 64 letters, digits, '.', '_' or '-'"),
        ({"name": "a b"}, "'a b' cannot be a job's name"),
        ({"name": "-x"}, "'-x' cannot be a job's name; use 1 to 64 letters, digits, '.', '_' or '-', not beginning"),
        ({"name": "../up"}, "'../up' cannot be a job's name"),
        ({"name": "a\n"}, "cannot be a job's name"),
        ({"name": "n" * 65}, "cannot be a job's name"),
        ({"name": "j0123456789"}, "'j0123456789' has the form of an id; choose another name"),
        ({"owner": "a b"}, "'a b' cannot be an owner; use up to 100 letters, digits and . _ : @ / -"),
        ({"owner": ""}, "'' cannot be an owner"),
        ({"label": "x" * 201}, "a label is one printable line of at most 200 characters"),
        ({"label": "two\nlines"}, "a label is one printable line"),
        ({"key": ""}, "a key has 1 to 200 characters"),
        ({"key": "k" * 201}, "a key has 1 to 200 characters"),
        ({"pty": True, "merge": True}, "a pty already merges stdout and stderr; leave merge out"),
        ({"env": {"A=B": "1"}}, "'A=B' cannot be an environment variable; names have no '=', and it is text without"),
        ({"env": {"": "1"}}, "'' cannot be an environment variable"),
        ({"env": {"A": "\0"}}, "'A' cannot be an environment variable"),
        ({"env": {"A": "\ud800"}}, "'A' cannot be an environment variable"),
        ({"env": {"A": 1}}, "'A' cannot be an environment variable"),
        ({"name": 3}, "'name' is a str, not 3"),
        ({"deadline": 0.3}, "'deadline' is a timedelta, not 0.3; write timedelta(seconds=...)"),
        ({"ttl": 60}, "'ttl' is a timedelta, not 60"),
        ({"limits": Limits(timeout=60)}, "'timeout' is a timedelta, not 60"),  # pyright: ignore[reportArgumentType]
        ({"limits": Limits(grace=None)}, "'grace' is a timedelta, not None"),  # pyright: ignore[reportArgumentType]
        ({"limits": {"pids": 9}}, "'limits' is a Limits, not {'pids': 9}"),
        ({"limits": Limits(timeout=timedelta(0))}, "the timeout limit must be above 0; leave it out for none"),
        ({"limits": Limits(idle=-SECOND)}, "the idle limit must be above 0"),
        ({"limits": Limits(output_bytes=0)}, "the output limit must be above 0"),
        ({"limits": Limits(memory_bytes=-1)}, "the memory limit must be above 0"),
        ({"limits": Limits(cpus=0.0)}, "the cpus limit must be above 0"),
        ({"limits": Limits(pids=0)}, "the pids limit must be above 0"),
        ({"limits": Limits(grace=-SECOND)}, "grace cannot be negative; 0 means no escalation to KILL"),
        ({"umask": -1}, "a umask is a number from 0 to 0o777"),
        ({"umask": 0o1000}, "a umask is a number from 0 to 0o777"),
        ({"limits": Limits(output_bytes=1 << 60)}, "the output limit is too large; leave it out for none"),
        ({"limits": Limits(cpus=float("inf"))}, "the cpus limit is too large"),
        ({"limits": Limits(cpus=float("nan"))}, "the cpus limit must be above 0"),
        ({"deadline": -SECOND}, "a deadline cannot be negative"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(options: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(sentence)) as refused:
        Request.of("true", **options)
    assert refused.value.code == "bad_request"


@pytest.mark.parametrize(
    "request_",
    [
        Request.of("make test"),
        Request.of(("make", "test"), cwd="/tmp", env={"A": "1"}, base_env={"B": "2"}, env_defaults=False),
        Request.of("x", name="build", label="nightly build", owner="agent:7@host/a", key="k", umask=0o77),
        Request.of("x", stdin=True, merge=True, fence=False, background=True, deadline=None),
        Request.of("x", pty=True, deadline=timedelta(seconds=1.5)),
        Request.of("x", limits=Limits(timeout=SECOND, idle=SECOND, idle_needs_no_cpu=True, memory_bytes=1 << 30)),
        Request.of("x", limits=Limits(cpus=0.5, pids=7, output_bytes=9, grace=timedelta(0))),
        Request.of("caf\u00e9 \U0001f600", env={"\u00e9": "\udcff"}),
    ],
)
def test_a_request_is_the_same_after_the_wire(request_: Request) -> None:
    request_ = replace(request_, umask=request_.umask or 0o027)
    assert request_from_json(request_to_json(request_)) == request_


def test_a_caller_who_does_not_say_his_umask_gets_the_usual_one() -> None:
    assert request_from_json({"command": "x"}).umask == 0o022


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "'run' needs a command: a string (for a shell) or a list of words"),
        ({"command": None}, "'run' needs a command: a string (for a shell) or a list of words"),
        ({"command": 7}, "field 'command' of 'run' cannot be 7"),
        ({"command": ["echo", 7]}, "field 'command' of 'run' cannot be ['echo', 7]"),
        ({"command": "x", "colour": "red"}, "'run' has no field 'colour'; known are command, limits, deadline_ms, "),
        ({"command": "x", "stdin": "yes"}, "field 'stdin' of 'run' cannot be 'yes'; it is true or false"),
        ({"command": "x", "umask": True}, "field 'umask' of 'run' cannot be True"),
        (
            {"command": "x", "umask": "022"},
            "field 'umask' of 'run' cannot be '022'; it is a whole number of at most 9007199254740992",
        ),
        (
            {"command": "x", "env": {"A": 1}},
            "field 'env' of 'run' cannot be {'A': 1}; it is an object whose values are text",
        ),
        ({"command": "x", "base_env": {"A": None}}, "field 'base_env' of 'run' cannot be {'A': None}"),
        ({"command": "x", "deadline_ms": "soon"}, "field 'deadline_ms' of 'run' cannot be 'soon'"),
        ({"command": "x", "deadline_ms": float("inf")}, "field 'deadline_ms' of 'run' cannot be inf"),
        ({"command": "x", "limits": 5}, "field 'limits' of 'run' cannot be 5; it is an object"),
        ({"command": "x", "limits": {"timeout": 5}}, "'limits' has no field 'timeout'; known are timeout_ms, idle_ms"),
        (
            {"command": "x", "limits": {"timeout_ms": "5"}},
            "field 'timeout_ms' of 'limits' cannot be '5'; it is a number of at most 9007199254740992",
        ),
        ({"command": "x", "limits": {"timeout_ms": float("nan")}}, "field 'timeout_ms' of 'limits' cannot be nan"),
        ({"command": "x", "limits": {"memory_bytes": "1G"}}, "field 'memory_bytes' of 'limits' cannot be '1G'"),
        ({"command": "x", "limits": {"pids": True}}, "field 'pids' of 'limits' cannot be True"),
        ({"command": "x", "limits": {"pids": 1.5}}, "field 'pids' of 'limits' cannot be 1.5"),
        ({"command": "x", "limits": {"output_bytes": 0}}, "the output limit must be above 0"),
        ({"command": "x", "limits": {"on_output_cap": "burn"}}, "field 'on_output_cap' of 'limits' cannot be 'burn'"),
    ],
)
def test_a_mistyped_field_is_refused_by_its_name(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(sentence)):
        check(request_from_json(body))


def test_what_is_short_does_not_become_nothing() -> None:
    shortest = timedelta(microseconds=1)
    request = Request.of("x", limits=Limits(timeout=shortest, idle=shortest))
    back = request_from_json(request_to_json(request))
    assert back.limits.timeout == back.limits.idle == timedelta(milliseconds=1)
