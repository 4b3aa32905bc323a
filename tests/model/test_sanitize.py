"""What reaches a terminal. Each rule is tried whole and cut at every place."""

import pytest

from bide.model.sanitize import Sanitizer, one_line, plain_text

CASES = {
    "plain text stays": (b"hello\tworld\n", b"hello\tworld\n"),
    "characters of any script stay": ("grüße 世界 🎉\n".encode(), "grüße 世界 🎉\n".encode()),
    "colours stay": (b"\x1b[1;31mred\x1b[0m", b"\x1b[1;31mred\x1b[0m"),
    "colours of many bits stay": (b"\x1b[38:2::1:2:3mx\x1b[m", b"\x1b[38:2::1:2:3mx\x1b[m"),
    "a cursor cannot be moved": (b"a\x1b[2Ab\x1b[10;10Hc\x1b[?1049hd", b"abcd"),
    "a screen cannot be cleared": (b"a\x1b[2J\x1bcb", b"ab"),
    "a private m is not a colour": (b"a\x1b[>4;2mb", b"ab"),
    "a title cannot be set": (b"a\x1b]0;evil\x07b\x1b]2;evil\x1b\\c", b"abc"),
    "the clipboard cannot be written": (b"a\x1b]52;c;ZXZpbA==\x07b", b"ab"),
    "a link is only its text": (b"\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", b"text"),
    "DCS, APC, PM and SOS go": (b"a\x1bPq#0~\x1b\\b\x1b_x\x1b\\c\x1b^y\x1b\\d\x1bXz\x1b\\e", b"abcde"),
    "a string without an end goes to the end of its line": (b"a\x1b]0;evil\nb", b"a\nb"),
    "a string ends where another escape begins": (b"a\x1b]0;evil\x1b[31mb\x1b[0m", b"a\x1b[31mb\x1b[0m"),
    "C1 controls go, in UTF-8": ("a\x9b2Jb\x9d0;evil\x9cc\x85d".encode(), b"abcd"),
    "C1 controls go, as bytes": (b"a\x9b2Jb\x9d0;evil\x9cc\x85d", b"abcd"),
    "a colour by C1 is told the usual way": ("\x9b31mx\x1b[0m".encode(), b"\x1b[31mx\x1b[0m"),
    "text is not turned around": ("a\u202eb\u2066c\u2069d".encode(), b"abcd"),
    "nothing is invisible": ("a\u200bb\u200dc\ufeffd\U000e0041e\u2060f".encode(), b"abcdef"),
    "other controls are shown": (b"a\x00b\x07c\x08d\x7fe", b"a\\x00b\\x07c\\x08d\\x7fe"),
    "bytes that are no text are shown": (b"a\xffb\xc3(c", b"a\\xffb\\xc3(c"),
    "a lone escape is shown": (b"a\x1b\nb", b"a\\x1b\nb"),
    "an odd sequence is dropped as far as it goes": (b"a\x1b[31\nb", b"a\nb"),
    "charsets cannot be switched": (b"a\x1b(0b\x1b)Bc", b"abc"),
    "a return before a newline is a newline": (b"a\r\nb\r\r\nc", b"a\nb\nc"),
    "a lone return rewrites the line, all of it": (b"10%\r20%\n", b"10%\r\x1b[K20%\n"),
    "a colour left on is ended": (b"\x1b[31mred", b"\x1b[31mred\x1b[0m"),
    "a sequence that never ends is dropped": (b"a\x1b[31", b"a"),
    "a character that never ends is shown": (b"a\xe4\xb8", b"a\\xe4\\xb8"),
}


def clean(*pieces: bytes) -> bytes:
    sanitizer = Sanitizer()
    return b"".join([sanitizer.feed(piece) for piece in pieces] + [sanitizer.finish()])


@pytest.mark.parametrize("rule", CASES)
def test_output_is_made_safe(rule: str) -> None:
    data, safe = CASES[rule]
    assert clean(data) == safe


@pytest.mark.parametrize("rule", CASES)
def test_where_output_is_cut_makes_no_difference(rule: str) -> None:
    data, safe = CASES[rule]
    assert {clean(data[:cut], data[cut:]) for cut in range(len(data) + 1)} == {safe}
    assert clean(*(data[at : at + 1] for at in range(len(data)))) == safe


def test_no_two_bytes_make_an_escape_that_is_not_a_colour() -> None:
    for first in range(256):
        for second in range(first % 4, 256, 4):  # each with a quarter of the others: all bytes, in all classes
            safe = clean(bytes([0x1B, first, second, 0x41]))
            assert b"\x1b" not in safe.replace(b"\x1b[K", b"").replace(b"\x1b[m", b"")
            assert b"\x9b" not in safe.replace(b"\\x9b", b"") or first >= 0xC2


def test_clean_bytes_are_passed_on_as_they_are() -> None:
    data = b"x" * 1_000_000
    assert Sanitizer().feed(data) is data


def test_a_very_long_sequence_is_not_kept_in_memory() -> None:
    sanitizer = Sanitizer()
    assert b"".join(sanitizer.feed(b"\x1b[" + b"1;" * 10_000) for _ in range(3)) == b""
    assert sanitizer.feed(b"m after\n").endswith(b"after\n")


def test_a_line_in_a_table_has_no_control_of_any_kind() -> None:
    assert one_line("a\nb\t c\x1b[31md\x1b[0m\re\x07") == "a b cd e\\x07"


def test_a_line_in_a_table_can_be_cut() -> None:
    assert one_line("abcdefgh", 5) == "abcd…"


def test_text_that_cannot_be_encoded_is_shown() -> None:
    assert one_line("a\udc80b") == "a\\udc80b"


def test_plain_text_keeps_its_lines_and_nothing_that_turns_or_hides_it() -> None:
    said = "one\r\ntwo\rthree\x1b[31m red\x1b[0m \u202eevil\u202c\u200b \x1b]0;title\x07\x07"
    assert plain_text(said) == "one\ntwo\nthree red evil \\x07"
