"""What a terminal of 24 rows and 80 columns shows of some output."""

import pytest

from bide.model.screen import COLUMNS, ROWS, screen_text

CASES = {
    "nothing": (b"", ""),
    "rows are trimmed on the right": (b"one   \r\n  two \r\n\r\n", "one\n  two"),
    "a newline alone goes straight down": (b"ab\ncd", "ab\n  cd"),
    "a carriage return writes over": (b"10%\r100%\r\ndone", "100%\ndone"),
    "a backspace goes back": (b"abd\bc", "abc"),
    "tabs stop at every eighth column": (b"a\tb", "a       b"),
    "colours and titles are left out": (b"\x1b]0;title\x07\x1b[1;31mred\x1b[0m\x1b(B", "red"),
    "the cursor is put somewhere": (b"\x1b[3;5Hx", "\n\n    x"),
    "a position without numbers is the corner": (b"abc\x1b[HX", "Xbc"),
    "the cursor is moved": (b"ab\x1b[2Cc\x1b[1Bd\x1b[1Ae\x1b[2Df", "ab  cfe\n     d"),
    "all is cleared": (b"old\r\nold\x1b[2J\x1b[Hnew", "new"),
    "the rest of a row is cleared": (b"abcdef\r\x1b[3C\x1b[K", "abc"),
    "the beginning of a row is cleared": (b"abcdef\x1b[3D\x1b[1K", "    ef"),
    "the rest of the screen is cleared": (b"a\r\nb\r\nc\x1b[2;1H\x1b[J", "a"),
    "the screen so far is cleared": (b"a\r\nb\r\nc\x1b[2;1H\x1b[1J", "\n\nc"),
    "characters are deleted and inserted": (b"abcdef\r\x1b[2P\x1b[1@_", "_cdef"),
    "characters are wiped": (b"abcdef\r\x1b[2X", "  cdef"),
    "rows are deleted and inserted": (b"a\r\nb\r\nc\x1b[2;1H\x1b[M\x1b[H\x1b[L", "\na\nc"),
    "a region scrolls alone": (b"top\x1b[2;3r\x1b[2;1Ha\r\nb\r\nc\x1b[24;1Hend", "top\nb\nc" + "\n" * 21 + "end"),
    "a reversed newline at the top scrolls down": (b"a\x1b[H\x1bMb", "b\na"),
    "the place is kept and found again": (b"a\x1b7\x1b[9;9Hb\x1b8c", "ac\n\n\n\n\n\n\n\n        b"),
    "another screen is gone when it is left": (b"shell\x1b[?1049h\x1b[Heditor\x1b[?1049l$", "shell$"),
    "another screen while it is shown": (b"shell\x1b[?1049h\x1b[Heditor", "editor"),
    "a reset begins anew": (b"abc\x1bcd", "d"),
    "an unfinished sequence shows nothing": (b"abc\x1b[12", "abc"),
    "an unknown sequence shows nothing": (b"a\x1b[5nb\x1b[?2004hc", "abc"),
    "controls show nothing": (b"a\x07\x00\x0eb", "ab"),
    "wide characters take two columns": ("世界\rx".encode(), "x界"),
    "accents join what they stand on": ("e\u0301!".encode(), "e\u0301!"),
    "marks of direction are left out": ("a\u202eb".encode(), "ab"),
    "bytes that are no text are marked": (b"a\xffb", "a\ufffdb"),
    "numbers beyond reason do no harm": (b"\x1b[99999999;99999999Hx\x1b[99999999L\x1b[Hy", "y"),
}


@pytest.mark.parametrize("what", CASES)
def test_what_is_shown(what: str) -> None:
    data, text = CASES[what]
    assert screen_text(data) == text


def test_long_lines_go_on_below_but_not_before_there_is_more() -> None:
    assert screen_text(b"x" * COLUMNS) == "x" * COLUMNS
    assert screen_text(b"x" * COLUMNS + b"\r\ny") == "x" * COLUMNS + "\ny"
    assert screen_text(b"x" * (COLUMNS + 3)) == "x" * COLUMNS + "\nxxx"
    assert screen_text(("x" * (COLUMNS - 1) + "世").encode()) == "x" * (COLUMNS - 1) + "\n世"


def test_what_has_scrolled_away_is_not_shown() -> None:
    data = b"".join(b"%d\r\n" % number for number in range(100))
    assert screen_text(data) == "\n".join(str(number) for number in range(100 - ROWS + 1, 100))
