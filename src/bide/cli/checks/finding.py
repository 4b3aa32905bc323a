"""What one check found."""


class Finding:
    """`ok`, `warn` or `fail`, of what, the fact, and what to do about it."""

    __slots__ = ("advice", "level", "text", "what")

    def __init__(self, level: str, what: str, text: str, advice: str = "") -> None:
        """One line of the doctor's list."""
        self.level = level
        self.what = what
        self.text = text
        self.advice = advice

    def to_json(self) -> dict[str, str]:
        """For --json."""
        return {"level": self.level, "check": self.what, "text": self.text, "advice": self.advice}
