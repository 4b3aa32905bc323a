"""Looks through output once, in bounded memory and without the interpreter's lock: `c/scan.c`, by way of ctypes."""

from __future__ import annotations

import ctypes
import functools
import heapq
import struct
from pathlib import Path

from msgspec import Struct

from bide.excerpts.formats import Rule, Word, formats

_LIBRARY = Path(__file__).parent / "scan.so"
_SLOTS = 32768
"""So many shapes of lines are counted at most; a power of two."""
_STATES = 16384
_FIRSTS = 3
_SHAPE = struct.Struct("=Q4Q4LLHBB")
_PLACE = struct.Struct("=QQLL")
_STRONG = 2048
"""So many lines of strong words are known by their places, besides the first ones of each shape."""
_FOUND_MOST = 256
"""So many words are found in one line at most."""


class Shape(Struct, frozen=True):
    """Lines that differ in digits, paths and quoted text alone."""

    count: int
    places: tuple[tuple[int, int], ...]
    """Where the first ones and the last one begin, and how far in them their word is."""
    weight: int
    more: tuple[tuple[int, int], ...]
    """Where more of them begin, if their word is strong."""
    word: int | None
    """Which of the words is the strongest in them."""


class _Words(ctypes.Structure):
    _fields_ = (
        ("states", ctypes.c_uint32),
        ("states_most", ctypes.c_uint32),
        ("literals", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("state", ctypes.c_void_p),
        ("literal", ctypes.c_void_p),
        ("text", ctypes.c_void_p),
        ("queue", ctypes.c_void_p),
    )


class _Scan(ctypes.Structure):
    _fields_ = (
        ("offset", ctypes.c_uint64),
        ("line_start", ctypes.c_uint64),
        ("hash", ctypes.c_uint64),
        ("token", ctypes.c_uint64),
        ("lines", ctypes.c_uint64),
        ("shapes", ctypes.c_void_p),
        ("spare", ctypes.c_void_p),
        ("hits", ctypes.c_void_p),
        ("found", ctypes.c_void_p),
        ("found_most", ctypes.c_uint32),
        ("found_count", ctypes.c_uint32),
        ("slots", ctypes.c_uint32),
        ("within", ctypes.c_uint8 * 108),
        ("strong", ctypes.c_void_p),
        ("strong_most", ctypes.c_uint32),
        ("strong_count", ctypes.c_uint32),
    )


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_LIBRARY))
    library.words_build.argtypes = [ctypes.POINTER(_Words)]
    library.words_build.restype = ctypes.c_uint32
    library.scan_begin.argtypes = [ctypes.POINTER(_Scan), ctypes.c_uint64]
    library.scan_begin.restype = None
    library.scan_feed.argtypes = [ctypes.POINTER(_Scan), ctypes.POINTER(_Words), ctypes.c_char_p, ctypes.c_uint64]
    library.scan_feed.restype = None
    library.words_find.argtypes = [ctypes.POINTER(_Words), ctypes.POINTER(_Scan), ctypes.c_char_p, ctypes.c_uint64]
    library.words_find.restype = ctypes.c_uint32
    library.scan_end.argtypes = [ctypes.POINTER(_Scan), ctypes.POINTER(_Words)]
    library.scan_end.restype = None
    library.scan_shapes.argtypes = [ctypes.POINTER(_Scan)]
    library.scan_shapes.restype = ctypes.c_uint32
    return library


class Automaton:
    """The words of all rules, to be looked for together."""

    def __init__(self, rules: list[Rule]) -> None:
        """Compile the words; those that several rules have are one."""
        merged: dict[bytes, Word] = {}
        for rule in rules:
            for word in rule.words:
                key = word.text.lower()
                known = merged.get(key)
                merged[key] = word if known is None else _either(known, word)
        self.words: tuple[Word, ...] = tuple(merged.values())
        text, rows, at = b"".join(word.text for word in self.words), bytearray(), 0
        for word in self.words:
            flags = word.starts_word | word.ends_word << 1 | word.starts_line << 2 | word.exact << 3 | word.sure << 4
            rows += struct.pack("=LBBBB", at, len(word.text), flags, word.weight, word.cap)
            at += len(word.text)
        self._memory = [
            ctypes.create_string_buffer(_STATES * 512),
            ctypes.create_string_buffer(_STATES * 8),
            ctypes.create_string_buffer(bytes(rows)),
            ctypes.create_string_buffer(text),
            ctypes.create_string_buffer(_STATES * 2),
        ]
        addresses = [ctypes.addressof(one) for one in self._memory]
        self.built = _Words(0, _STATES, len(self.words), 0, *addresses)
        if not _library().words_build(self.built):
            raise ValueError(f"the formats have more words than {_STATES} states can tell apart")
        by_word: dict[bytes, list[Rule]] = {}
        for rule in rules:
            for text in {word.text.lower() for word in rule.words}:
                by_word.setdefault(text, []).append(rule)
        self.rules: tuple[tuple[Rule, ...], ...] = tuple(tuple(by_word[word.text.lower()]) for word in self.words)
        """The rules that each word belongs to."""


class Finder:
    """Finds all words in single lines. For one thread at a time."""

    def __init__(self) -> None:
        """Use the words of all formats."""
        self._words = automaton()
        self._found = (ctypes.c_uint16 * _FOUND_MOST)()
        self._scan = _Scan(found=ctypes.addressof(self._found), found_most=_FOUND_MOST)

    def rules(self, line: str) -> set[Rule]:
        """Return the rules of which the line has a word."""
        data = line.encode("utf-8", "replace")
        count = _library().words_find(self._words.built, self._scan, data, len(data))
        found: list[int] = self._found[:count]
        return {rule for word in set(found) for rule in self._words.rules[word]}


def _either(one: Word, other: Word) -> Word:
    """Return a word that is found wherever either is; Python looks at what was found again."""
    return Word(
        one.text,
        one.starts_word and other.starts_word,
        one.ends_word and other.ends_word,
        one.starts_line and other.starts_line,
        one.exact and other.exact and one.text == other.text,
        max(one.weight, other.weight),
        min(one.cap, other.cap),
        one.sure or other.sure,
    )


@functools.cache
def automaton() -> Automaton:
    """Return the words of all formats."""
    return Automaton([rule for one in formats() for rule in one.rules])


class Scan:
    """One stream on its way through. Costs nothing before the first bytes."""

    def __init__(self, offset: int) -> None:
        """Begin at an offset."""
        self.offset = offset
        """Where the next bytes belong."""
        self._begun: _Begun | None = None

    def feed(self, data: bytes) -> None:
        """Look through the next bytes."""
        if self._begun is None:
            self._begun = _Begun(self.offset)
        begun = self._begun
        _library().scan_feed(begun.scan, begun.words.built, data, len(data))
        self.offset += len(data)

    def skip(self, offset: int) -> None:
        """Go on at another offset: what is between has nothing to be seen."""
        self.offset = offset
        if self._begun is not None:
            _library().scan_end(self._begun.scan, self._begun.words.built)
            _library().scan_begin(self._begun.scan, offset)

    def shapes(self, most: int) -> list[Shape]:
        """Return the shapes of lines with words, the strongest and rarest first, then those of single lines without; at most so many of each."""
        if self._begun is None:
            return []
        begun = self._begun
        _library().scan_end(begun.scan, begun.words.built)
        found = _library().scan_shapes(begun.scan)
        data = ctypes.string_at(begun.scan.spare, found * _SHAPE.size)
        rows = list(_SHAPE.iter_unpack(data))
        telling = heapq.nlargest(most, (row for row in rows if row[11]), key=_promise)
        rare = [row for row in rows if not row[11] and row[9] == 1][:most]
        more = begun.places()
        return [_shape(row, more.get(row[0], [])) for row in (*telling, *rare)]

    def hits(self, word: int) -> int:
        """Return in how many lines a word was the strongest one."""
        return 0 if self._begun is None else self._begun.hits[word]


class _Begun:
    """The memory of a scan."""

    def __init__(self, offset: int) -> None:
        self.words = automaton()
        self._tables = [ctypes.create_string_buffer(_SLOTS * _SHAPE.size) for _ in range(2)]
        self.hits = (ctypes.c_uint32 * len(self.words.words))()
        self.scan = _Scan(slots=_SLOTS)
        self.scan.shapes, self.scan.spare = map(ctypes.addressof, self._tables)
        self.scan.hits = ctypes.addressof(self.hits)
        self._strong = ctypes.create_string_buffer(_STRONG * _PLACE.size)
        self.scan.strong, self.scan.strong_most = ctypes.addressof(self._strong), _STRONG
        _library().scan_begin(self.scan, offset)

    def places(self) -> dict[int, list[tuple[int, int]]]:
        """Return where more lines of strong words begin, and how far in them their word is, by shape."""
        found: dict[int, list[tuple[int, int]]] = {}
        data = ctypes.string_at(self.scan.strong, self.scan.strong_count * _PLACE.size)
        for shape, start, hit, _ in _PLACE.iter_unpack(data):
            found.setdefault(shape, []).append((start, hit))
        return found


def _promise(row: tuple[int, ...]) -> float:
    count, weight = row[9], row[11]
    return (weight + 3) / (1 + count.bit_length())


def _shape(row: tuple[int, ...], more: list[tuple[int, int]]) -> Shape:
    count, word, weight = row[9:12]
    places = list(zip(row[1:5], row[5:9], strict=True))
    shown = places[: min(count, _FIRSTS)] + ([places[-1]] if count > _FIRSTS else [])
    more = [one for one in more if one not in shown]
    return Shape(count, tuple(shown), weight, tuple(more), word - 1 if word else None)
