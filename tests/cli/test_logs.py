"""Printing output, and nothing else."""

import json
import os
from base64 import b64decode
from pathlib import Path

import pytest
from tests.cli.shell import Shell

from bide.cli.sinks import JsonSinks
from bide.client.http1 import OUT


@pytest.fixture
def ended(bide: Shell) -> str:
    """A job that wrote to both streams."""
    job = bide.background("for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done")
    bide("wait", job)
    return job


def test_each_stream_goes_where_it_belongs(bide: Shell, ended: str) -> None:
    done = bide("logs", ended)
    assert done.stdout == b"".join(b"out %d\n" % i for i in range(1, 6))
    assert done.stderr == b"".join(b"err %d\n" % i for i in range(1, 6))


@pytest.mark.parametrize(("stream", "out", "err"), [("out", 30, 0), ("err", 0, 30), ("both", 30, 30)])
def test_a_stream_can_be_chosen(bide: Shell, ended: str, stream: str, out: int, err: int) -> None:
    done = bide("logs", "--stream", stream, ended)
    assert (len(done.stdout), len(done.stderr)) == (out, err)


def test_only_the_last_lines_can_be_had(bide: Shell, ended: str) -> None:
    done = bide("logs", ended, "--tail", "2")
    assert (done.stdout, done.stderr) == (b"out 4\nout 5\n", b"err 4\nerr 5\n")
    assert bide("logs", ended, "--tail", "0").stdout == b""


def test_reading_can_go_on_from_an_offset(bide: Shell, ended: str) -> None:
    assert bide("logs", "--stream", "out", "--since", "24", ended).stdout == b"out 5\n"


def test_lines_can_be_picked(bide: Shell, ended: str) -> None:
    done = bide("logs", "--grep", "[24]$", ended)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out 2\nout 4\n", b"err 2\nerr 4\n")
    assert bide("logs", "--grep", "[24]$", "--tail", "1", "--stream", "out", ended).stdout == b"out 4\n"
    answer = bide.json("logs", "--grep", "[24]$", "--stream", "out", ended)
    assert answer["out"]["matches"] == [{"offset": 6, "line": "out 2"}, {"offset": 18, "line": "out 4"}]


def test_the_cause_of_a_failure_is_found_in_a_long_output(bide: Shell) -> None:
    noise = "seq -f 'step %g is done, 0 errors' 20000"
    job = bide.background(f"{noise}; echo 'ledger.c:12:5: error: no total'; {noise}; echo done >&2; exit 1")
    bide("wait", job)
    done = bide("logs", "--cause", job)
    lines = done.stdout.decode().splitlines()
    assert "ledger.c:12:5: error: no total" in lines
    assert lines[0] == "-- stdout --"
    assert lines[-2:] == ["-- stderr --", "done"]
    assert len(done.stdout) < 10_000
    (left,) = [line for line in lines if "bytes left out" in line][-1:]
    assert "bide logs --stream out --since " in left
    assert left.endswith(f"{job}]")
    answer = bide.json("logs", "--cause", "--stream", "out", job)
    assert answer["cause"]["offset"] in range(400_000, 800_000)


def test_the_cause_goes_with_no_other_choice_of_lines(bide: Shell, ended: str) -> None:
    assert bide("logs", "--cause", "--tail", "2", ended).returncode == 2


def test_a_pattern_that_is_none_is_refused(bide: Shell, ended: str) -> None:
    assert bide("logs", "--grep", "(", ended).returncode == 2


@pytest.mark.parametrize("pattern", ["(?:(?:a{1000}){1000}){3}", "(" * 3000 + ")" * 3000, "a" * 120_000])
def test_a_pattern_that_costs_too_much_is_refused_at_once(bide: Shell, ended: str, pattern: str) -> None:
    for words in (
        ("logs", "--grep", pattern, ended),
        ("wait", "--until-log", pattern, ended),
        ("service", "start", "web", "--ready-log", pattern, "--", "sleep", "9"),
    ):
        done = bide(*words)
        assert (done.returncode, done.stdout) == (2, b""), done
        assert len(done.stderr.splitlines()) == 1
        sentences = (b"invalid repetition size", b"and 2000 is the most", b"have at most 65536 bytes together")
        assert any(sentence in done.stderr for sentence in sentences)


def test_in_json_text_comes_with_its_offsets(bide: Shell, ended: str) -> None:
    answer = bide.json("logs", "--tail", "1", ended)
    assert answer["job"] == ended
    assert answer["out"] == {"text": "out 5\n", "offset": 24, "next": 30, "size": 30, "head": 0}


def test_in_json_what_is_no_text_is_there_byte_for_byte(bide: Shell) -> None:
    data = b"a\xff\x00b\xc3"
    job = bide.background(r"printf 'a\377\000b\303'")
    bide("wait", job)
    answer = bide.json("logs", "--stream", "out", job)["out"]
    assert (answer["text"], b64decode(answer["base64"])) == ("a\ufffd\x00b\ufffd", data)
    events = [json.loads(line) for line in bide.out("logs", "-f", "--json", "--stream", "out", job).splitlines()[:-1]]
    assert b"".join(b64decode(event["base64"]) for event in events) == data


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_in_a_stream_of_json_each_text_begins_where_it_says(step: int, capsys: pytest.CaptureFixture[str]) -> None:
    data = "aé€😀\n".encode() + b"\xe2\x82"
    sinks = JsonSinks(raw=False)
    for at in range(0, len(data), step):
        sinks.write(OUT, data[at : at + step], at)
    sinks.finish()
    *whole, cut = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "".join(event["text"] for event in whole) == "aé€😀\n"
    assert all(data[event["offset"] :].startswith(event["text"].encode()) for event in whole)
    assert (cut["offset"], b64decode(cut["base64"])) == (len(data) - 2, b"\xe2\x82")


def test_much_output_is_printed_byte_for_byte(bide: Shell, tmp_path: Path) -> None:
    data = os.urandom(3_500_000)
    (tmp_path / "data").write_bytes(data)
    job = bide.background("cat data")
    bide("wait", job)
    assert bide("logs", job).stdout == data


@pytest.mark.parametrize(("script", "lines"), [("seq 300000", 200_000), ("seq 9; printf '%03000000d' 7", 1)])
def test_the_last_lines_are_whole_also_if_they_are_long(bide: Shell, script: str, lines: int) -> None:
    job = bide.background(script)
    bide("wait", job)
    whole = bide("logs", job).stdout
    expected = b"".join(whole.splitlines(keepends=True)[-lines:])
    assert len(expected) > 1024 * 1024
    assert bide("logs", "--tail", str(lines), job).stdout == expected
    assert bide("logs", "--tail", "400000", job).stdout == whole


def test_what_was_dropped_is_said(bide: Shell) -> None:
    job = bide.background("seq 1 200000", "--output-cap", "256K")
    bide("wait", job)
    done = bide("logs", job)
    assert done.stdout.endswith(b"199999\n200000\n")
    assert b"were dropped by its output cap" in done.stderr
    assert len(done.stdout) < 1_000_000


def test_in_json_what_was_dropped_is_an_object(bide: Shell) -> None:
    job = bide.background("seq 1 200000", "--output-cap", "256K")
    bide("wait", job)
    dropped, *pieces, ended = map(json.loads, bide.out("logs", "-f", "--json", "--stream", "out", job).splitlines())
    assert (dropped["event"], dropped["stream"], dropped["from"]) == ("dropped", "out", 0)
    assert pieces[0]["offset"] == dropped["to"]
    assert ended["event"] == "ended"


def test_following_goes_on_to_the_end(bide: Shell, tmp_path: Path) -> None:
    job = bide.background(f"echo a; echo x >&2; until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo b")
    with bide.started("logs", "-f", job) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"a\n"
        assert process.stderr.readline() == b"x\n"
        (tmp_path / "go").touch()
        assert process.stdout.read() == b"b\n"
        assert process.wait() == 0


def test_following_can_begin_with_the_last_lines(bide: Shell, ended: str) -> None:
    assert bide("logs", "-f", "--tail", "1", "--stream", "out", ended).stdout == b"out 5\n"


def test_following_in_json_is_one_object_per_line(bide: Shell) -> None:
    job = bide.background("printf 'gr\\303'; sleep 0.1; printf '\\274n\\n'")
    lines = [json.loads(line) for line in bide.out("logs", "-f", "--json", job).splitlines()]
    assert "".join(line.get("text", "") for line in lines) == "grün\n"
    assert lines[0]["stream"] == "out"
    assert lines[0]["offset"] == 0
    assert lines[-1]["event"] == "ended"
    assert lines[-1]["job"]["exit_code"] == 0


def test_nobody_reading_is_no_complaint(bide: Shell) -> None:
    job = bide.background("seq 1 500000")
    bide("wait", job)
    with bide.started("logs", job) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"1\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141
