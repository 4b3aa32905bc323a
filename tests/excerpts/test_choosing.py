"""What is chosen of an output: causes before consequences and noise, both ends, and never more than the budget."""

from itertools import pairwise

import pytest
from tests.excerpts.reading import excerpt, shown, source

from bide.excerpts.choosing import Chosen
from bide.model.excerpt import Why
from bide.model.output import Stream

WORDS = ("cache", "order", "shard", "queue", "index", "batch", "lease", "region")


def noise(lines: int) -> bytes:
    """A service that goes on: debug lines about errors that are none, retries and errors that come all the time."""
    rows: list[str] = []
    for at in range(lines):
        word, other = WORDS[at % 8], WORDS[at // 8 % 8]
        rows.append(
            f"12:{at // 60 % 60:02}:{at % 60:02} INFO [{word}] {other} processed {at:x} in {at % 900}ms, errors=0"
        )
        if at % 9 == 0:
            rows.append(f"12:00:{at % 60:02} WARN [{other}] connection refused, retrying (attempt {at % 3})")
        if at % 31 == 0:
            rows.append(f"12:00:{at % 60:02} ERROR [{word}] request {at} failed: timeout; will retry")
    return "\n".join(rows).encode() + b"\n"


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("lines", [300, 20_000])
@pytest.mark.parametrize(
    "cause",
    [
        b"Schema mismatch in table ledger\n",
        b"ledger.c:12:5: error: 'total' undeclared\n",
        b"Caused by: java.lang.IllegalStateException: no ledger\n",
        b"Fehler: Hauptbuch fehlt\n",
        "错误: 找不到账本\n".encode(),
        b'{"level":"fatal","msg":"ledger is gone"}\n',
        b"\x1b[31merror\x1b[0m\x1b[1m: ledger\x1b[0m\n",
    ],
)
def test_a_rare_line_is_shown_wherever_it_is(cause: bytes, lines: int, place: float) -> None:
    around = noise(lines)
    at = around.index(b"\n", int((len(around) - 2) * place)) + 1
    found = excerpt(around[:at] + cause + around[at:] + noise(200))
    assert cause.decode().replace("\x1b[31m", "").replace("\x1b[0m", "").replace("\x1b[1m", "") in shown(found)


def test_what_is_shown_fits_the_budget_and_covers_every_byte_with_what_is_left_out() -> None:
    data = noise(5000)
    for budget in (200, 1000, 8000, 40_000):
        found = excerpt(data, budget=budget)
        assert len(shown(found)) <= budget
        pieces = found.pieces[Stream.OUT]
        assert all(one.end <= other.start for one, other in pairwise(pieces))
        assert all(piece.text.endswith("\n") for piece in pieces)
        assert pieces[-1].end == len(data)
        assert pieces[-1].why is Why.LAST


def test_the_text_of_a_piece_is_that_of_its_bytes() -> None:
    data = noise(5000)
    for piece in excerpt(data).pieces[Stream.OUT]:
        if piece.times == 1:
            assert piece.text.encode() == data[piece.start : piece.end]


def test_the_cause_is_found_on_either_stream() -> None:
    found = excerpt(noise(3000), noise(3000) + b"panic: ledger is gone\n" + noise(3000))
    assert found.cause is not None
    assert found.cause[0] is Stream.ERR
    assert "panic: ledger is gone\n" in shown(found)


def test_repeats_are_folded_and_progress_shows_its_last_step() -> None:
    bar = b"".join(b"\rfetching %d%%" % at for at in range(1, 101)) + b"\n"
    (first, second, third) = excerpt(b"again\n" * 500 + bar + b"done\n").pieces[Stream.OUT]
    assert (first.text, first.times) == ("again\n", 500)
    assert (second.text, second.times) == ("fetching 100%\n", 100)
    assert third.text == "done\n"


def test_numbers_that_are_data_are_not_folded() -> None:
    data = b"".join(b"%d\n" % at for at in range(100))
    assert shown(excerpt(data)) == data.decode()


def test_one_very_long_line_is_cut_around_its_cause() -> None:
    data = b"abc " * 500_000 + b"fatal error: ledger is gone " + b"xyz " * 500_000
    assert "fatal error: ledger is gone" in shown(excerpt(data))


def test_zeros_and_bytes_that_are_no_text_are_no_trouble() -> None:
    data = bytes(3_000_000) + b"\xff\xfe error: ledger \xff\n" + bytes(1_000_000) + bytes(range(256)) * 2000
    text = shown(excerpt(data))
    assert "error: ledger" in text
    assert text.replace("\n", "").replace("\t", "").isprintable()


def test_where_chunks_are_cut_changes_nothing() -> None:
    data = noise(500) + b"panic: ledger\n" + noise(100)
    whole, parts = source(data).scan.shapes(2000), source(data, chunk=7).scan.shapes(2000)
    assert sorted(map(repr, whole)) == sorted(map(repr, parts))


def test_frames_of_libraries_give_way_to_those_of_the_user() -> None:
    frames = b"".join(
        b'  File "/usr/lib/python3/site-packages/lib%d.py", line 3, in call\n    return inner()\n' % at
        for at in range(6)
    )
    error = b'Traceback (most recent call last):\n  File "/app/mine.py", line 7, in pay\n    lib()\n' + frames
    text = shown(excerpt(noise(3000) + error + b"KeyError: 'ledger'\n" + noise(3000)))
    assert 'File "/app/mine.py", line 7' in text
    assert "KeyError: 'ledger'" in text
    assert "site-packages" not in text


def test_the_tool_is_named() -> None:
    found: Chosen = excerpt(noise(3000) + b"error[E0308]: mismatched types\n  --> src/main.rs:1:9\n" + noise(300))
    assert found.format == "cargo"


def compiled(files: int, warnings: int) -> bytes:
    """A build with many warnings, in which every fifth file has an error."""
    rows: list[str] = []
    for at in range(files):
        for line in range(warnings):
            rows += [
                f"f{at}.c:{line}:38: warning: suggest parentheses around assignment [-Wparentheses]",
                f"  {line} | int u{at}_{line}(int a) {{ if (a = {line}) return 1; return 0; }}",
                "    |                     ^",
            ]
        if at % 5 == 3:
            rows += [
                f"f{at}.c:16:25: error: 'total_{at}' undeclared",
                f"  16 | return total_{at};",
                "     |        ^~~~",
            ]
    return "\n".join(rows).encode() + b"\n"


@pytest.mark.parametrize("apart", [False, True])
def test_errors_of_different_places_are_each_shown(apart: bool) -> None:
    data = compiled(60, 12)
    found = excerpt(b"gcc -c f.c\n" * 3000 if apart else data, data if apart else b"")
    text = shown(found)
    assert [at for at in range(3, 60, 5) if f"f{at}.c:16:25: error: " not in text] == []
    assert sum(len(piece.text) for piece in found.pieces[Stream.OUT] if piece.why is Why.LAST) < 4000


@pytest.mark.parametrize("budget", [100, 200, 400, 1200])
def test_a_small_budget_shows_the_cause_before_the_end(budget: int) -> None:
    data = noise(3000) + b"fatal: the ledger is gone, because its disk is full\n" + noise(3000)
    found = excerpt(data, budget=budget)
    assert "fatal: the ledger is gone" in shown(found)
    assert len(shown(found)) <= budget
    assert found.cause == (Stream.OUT, data.index(b"fatal: "))


def test_a_cause_that_is_longer_than_a_small_budget_shows_its_beginning() -> None:
    text = shown(
        excerpt(noise(3000) + b"fatal: the ledger" + " ist größer".encode() * 100 + b"\n" + noise(3000), budget=200)
    )
    assert "fatal: the ledger ist größer" in text
    assert "\ufffd" not in text
    assert len(text) <= 200


def test_the_users_frame_is_shown_between_hundreds_of_those_of_libraries() -> None:
    def frames(name: str) -> bytes:
        rows = (
            f'  File "/usr/lib/python3/site-packages/{name}/x{at}.py", line {at}, in call{at}\n    return self.f{at}(x)\n'
            for at in range(150)
        )
        return "".join(rows).encode()

    mine = b'  File "/home/me/shop/views.py", line 51, in checkout\n    total = sum(prices)\n'
    error = (
        b"Traceback (most recent call last):\n"
        + frames("web")
        + mine
        + frames("db")
        + b"db.MissingColumnError: price\n"
    )
    text = shown(excerpt(noise(3000) + error + noise(3000)))
    assert mine.decode() in text
    assert "db.MissingColumnError: price" in text
    java = b"".join(b"\tat org.springframework.web.X%d.call(X.java:%d)\n" % (at, at) for at in range(150))
    error = b"java.lang.IllegalStateException: no ledger\n" + java + b"\tat shop.Cart.total(Cart.java:31)\n" + java
    assert "at shop.Cart.total(Cart.java:31)" in shown(excerpt(noise(3000) + error + noise(3000)))


@pytest.mark.parametrize("named", [False, True])
def test_a_rare_failure_is_shown_among_many_that_are_alike(named: bool) -> None:
    def failed(first: int) -> str:
        names = (f"{WORDS[at % 8]}_{WORDS[at // 8 % 8]}_{WORDS[at // 64 % 8]}" if named else at for at in range(400))
        return "".join(
            f"FAILED tests/test_{WORDS[at % 8]}.py::test_{name} - ValueError: bad q{chr(97 + at % 26)}x{chr(97 + at % 3)} {at + first}\n"
            for at, name in enumerate(names)
        )

    rare = "FAILED tests/test_boot.py::test_settings - ImportError: cannot import name 'Settings' from 'app.cfg'\n"
    summary = failed(0) + rare + failed(400) + "==== 801 failed, 20 passed in 3.1s ====\n"
    assert rare in shown(excerpt(noise(5000) + summary.encode()))


def test_long_runs_of_lines_that_differ_in_numbers_alone_are_folded_at_the_end() -> None:
    data = noise(3000) + b"".join(b"record %d skipped\n" % at for at in range(1000)) + b"done\n"
    text = shown(excerpt(data))
    assert text.count("skipped") <= 8
    assert text.endswith("record 997 skipped\nrecord 998 skipped\nrecord 999 skipped\ndone\n")
    assert "record 996 skipped\n" in text
    other = data.replace(b"record 990 skipped", b"record 990 lost")
    assert "record 990 lost\n" in shown(excerpt(other))


def test_a_folded_line_has_a_newline_even_if_the_output_has_none() -> None:
    (piece,) = excerpt(b"".join(b"%d%%\r" % at for at in range(1, 4))).pieces[Stream.OUT]
    assert (piece.text, piece.times) == ("3%\n", 3)
    bar = noise(3000) + b"".join(b"\rUnpacking %d/50000" % at for at in range(50000))
    last = excerpt(bar).pieces[Stream.OUT][-1]
    assert last.text == "Unpacking 49999/50000\n"
    assert last.times > 1
