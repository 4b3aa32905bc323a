"""What a job wrote, made safe for a terminal or a page. Pure.

Colours, tabs and newlines stay. Every other escape sequence goes, and so do C1 controls and characters that are not
seen or turn the text around. Other controls and bytes that are not UTF-8 are shown as `\\x..`.
"""

import codecs
import re

_CSI = "(?:\x1b\\[|[\x9b\udc9b])"
_STRING = "(?:\x1b[\\]P_^X]|[\x90\x98\x9d-\x9f\udc90\udc98\udc9d-\udc9f])"
_STRING_END = "\x07\x18\x1a\x9c\udc9c"
_INVISIBLE = "\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"

_TOKEN = re.compile(
    f"(?P<csi>{_CSI}(?P<args>[0-?]*)[ -/]*(?P<final>[@-~])?)"
    f"|(?P<string>{_STRING}[^\n\x1b{_STRING_END}]*[{_STRING_END}]?)"
    f"|(?P<dropped>\x1b[ -/]*[0-~]|[\x80-\x9f\udc80-\udc9f{_INVISIBLE}])"
    "|(?P<rewrite>\r+\n?)"
    "|(?P<shown>[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\udca0-\udcff])"
)
_UNFINISHED = re.compile(f"(?:\x1b[ -/]*|{_CSI}[0-?]*[ -/]*|\r+)\\Z")
_REST_OF_STRING = re.compile(f"[^\n\x1b{_STRING_END}]*([\n\x1b{_STRING_END}])?")
_UNSAFE_BYTE = re.compile(rb"[^\t\n\x20-\x7e]")
_COLOUR = re.compile(r"[0-9;:]*")
_HELD_MAX = 256
_RESET = "\x1b[0m"


class Sanitizer:
    """One stream of output, in pieces cut anywhere."""

    def __init__(self) -> None:
        """At the beginning of a stream."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._held = ""
        self._in_string = False
        self._coloured = False

    def feed(self, data: bytes) -> bytes:
        """The next piece, safe; the start of a sequence that is not complete yet is kept back."""
        if not (self._held or self._in_string or self._decoder.getstate()[0] or _UNSAFE_BYTE.search(data)):
            return data
        return self._clean(self._held + self._decoder.decode(data))

    def finish(self) -> bytes:
        """What was kept back, and the end of any colour that was left on."""
        text = self._held + self._decoder.decode(b"", final=True)
        rest = self._clean(text.rstrip("\r"), last=True)
        reset = _RESET.encode() if self._coloured else b""
        self._coloured = False
        return rest + reset

    def _clean(self, text: str, *, last: bool = False) -> bytes:
        self._held = ""
        if self._in_string:
            text = self._leave_string(text)
        if not last:
            unfinished = _UNFINISHED.search(text)
            if unfinished is not None and len(unfinished.group()) <= _HELD_MAX:
                self._held = unfinished.group()
                text = text[: unfinished.start()]
        return _TOKEN.sub(self._replace, text).encode()

    def _leave_string(self, text: str) -> str:
        rest = _REST_OF_STRING.match(text)
        if rest is None or rest[1] is None:
            return ""
        self._in_string = False
        return text[rest.start(1) :] if rest[1] in "\n\x1b" else text[rest.end() :]

    def _replace(self, match: "re.Match[str]") -> str:
        kind = match.lastgroup
        found = match.group()
        if kind == "string":
            self._in_string = match.end() == len(match.string) and found[-1] not in _STRING_END
        elif kind == "rewrite":
            return "\n" if found[-1] == "\n" else "\r\x1b[K"
        elif kind == "shown":
            return f"\\x{ord(found) & 0xFF:02x}"
        elif kind == "csi" and match["final"] == "m" and _COLOUR.fullmatch(match["args"]):
            self._coloured = match["args"].strip("0;:") != ""
            return f"\x1b[{match['args']}m"
        return ""


def safe_text(text: str) -> str:
    """Text that came whole, safe for a terminal."""
    cleaner = Sanitizer()
    return (cleaner.feed(text.encode("utf-8", "backslashreplace")) + cleaner.finish()).decode()


def plain_text(text: str) -> str:
    """Text that came whole, without colours, safe wherever plain text is shown; its lines stay."""
    return re.sub("\x1b\\[[0-9;:]*[mK]", "", safe_text(text)).replace("\r", "\n")


def one_line(text: str, limit: int | None = None) -> str:
    """Text as a single printable line without colours, for a table or a sentence; cut to `limit` characters."""
    line = " ".join(plain_text(text).split())
    if limit is not None and len(line) > limit:
        return line[: max(0, limit - 1)] + "…"
    return line
