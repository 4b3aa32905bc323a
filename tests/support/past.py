"""The past of a home that nobody serves, made older than it is; and settings for one."""

from datetime import timedelta
from pathlib import Path

from tests.support.databases import edited


def settle(home: Path, **settings: object) -> Path:
    """A home with these settings of [retention]."""
    home.mkdir(mode=0o700, exist_ok=True)
    lines = [f"{key} = {value if isinstance(value, int) else repr(value)}" for key, value in settings.items()]
    (home / "config.toml").write_text("\n".join(["[retention]", *lines, ""]))
    return home


def make_older(home: Path, age: timedelta, *jobs: str) -> None:
    """Let these jobs, or all, have ended that much earlier."""
    ms = age // timedelta(milliseconds=1)
    with edited(home / "bide.db") as connection:
        marks = f"id IN ({', '.join('?' * len(jobs))})" if jobs else "1"
        connection.execute(f"UPDATE jobs SET ended_at = ended_at - {ms} WHERE phase = 'ended' AND {marks}", jobs)


def folders(home: Path) -> set[str]:
    """The ids that have a folder; nothing may be under way in `new`."""
    assert list((home / "new").iterdir()) == []
    return {path.name for path in (home / "jobs").iterdir()}
