"""Regular expressions from outside. The only importer of `regex`: an expression that takes for ever must not stop the daemon.

The standard library's engine cannot be interrupted, and holds the interpreter while it searches.
"""

from __future__ import annotations

from typing import Any, cast

from bide.model.errors import BadRequest

_SECONDS = 1.0
"""For one line; even one of a MiB takes a few milliseconds."""


class Pattern:
    """An expression, to be looked for in lines; only in a thread, where it lets others run meanwhile."""

    def __init__(self, expression: str) -> None:
        """Raises BadRequest, which says where it is wrong."""
        import regex  # noqa: PLC0415 - the daemon loads it when somebody searches

        engine = cast("Any", regex)
        self._expression = expression
        try:
            self._compiled = engine.compile(expression.encode())
        except (engine.error, UnicodeEncodeError) as error:
            raise BadRequest(detail=f"{expression!r} is not a regular expression: {error}") from error

    def is_in(self, line: bytes) -> bool:
        """Whether the line has it. Raises BadRequest if that takes too long."""
        try:
            return self._compiled.search(line, timeout=_SECONDS, concurrent=True) is not None
        except TimeoutError as error:
            detail = f"{self._expression!r} takes too long on a line of this output; repeats within repeats are the usual cause"
            raise BadRequest(detail=detail) from error
