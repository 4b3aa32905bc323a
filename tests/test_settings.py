"""What a home's config.toml may say, and what is said of one that cannot be meant."""

import re
import tomllib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields

import bide
from bide import settings
from bide.model.errors import BadSettings
from bide.settings import (
    JobToolSettings,
    McpSettings,
    QueueSettings,
    RetentionSettings,
    SessionSettings,
    Settings,
)

Write = Callable[[str | bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A home with this file."""

    def written(text: str | bytes) -> str:
        (tmp_path / "config.toml").write_bytes(text.encode() if isinstance(text, str) else text)
        return str(tmp_path)

    return written


def test_without_a_file_all_is_as_usual(tmp_path: Path) -> None:
    assert settings.load(str(tmp_path)) == Settings()
    assert settings.load(str(tmp_path / "no" / "such")) == Settings()


def test_an_empty_file_is_as_good_as_none(write: Write) -> None:
    assert settings.load(write("")) == Settings()
    assert settings.load(write("# nothing\n[retention]\n")) == Settings()


def test_what_is_said_counts_and_the_rest_is_as_usual(write: Write) -> None:
    home = write("""
        [queue]
        running = 4
        groups = { gpu = 1, net = 8 }

        [sessions]
        most = 3
        bytes = "1.5M"

        [retention]
        keep = "7d"
        bytes = "20G"
        owner_grace = "1.5m"

        [mcp.job]
        poll_wait = "smart"
        auto_background = true
        auto_background_after = "0s"
    """)
    assert settings.load(home) == Settings(
        QueueSettings(running=4, groups={"gpu": 1, "net": 8}),
        SessionSettings(most=3, bytes=3 << 19),
        RetentionSettings(keep=timedelta(days=7), bytes=20 << 30, owner_grace=timedelta(seconds=90)),
        McpSettings(job=JobToolSettings("smart", auto_background=True, auto_background_after=timedelta(0))),
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("1048576", 1 << 20), ("'512K'", 512 << 10), ("'10M'", 10 << 20), ("'5G'", 5 << 30), ("'1T'", 1 << 40)],
)
def test_sizes(write: Write, text: str, size: int) -> None:
    assert settings.load(write(f"[retention]\nbytes = {text}")).retention.bytes == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("30s", 30), ("0.5m", 30), ("2h", 7200), ("36500d", 36_500 * 86_400)]
)
def test_times(write: Write, text: str, seconds: int) -> None:
    assert settings.load(write(f"[retention]\nkeep = '{text}'")).retention.keep == timedelta(seconds=seconds)


BAD = {
    "unknown key": ("[retention]\nkep = '1d'", "there is no setting 'retention.kep'; did you mean retention.keep"),
    "unknown section": ("[retenton]\nkeep = '1d'", "there is no setting 'retenton'; did you mean retention"),
    "name of the document": (
        "[async]\npollWaitDuration = '5m'",
        "there is no setting 'async.pollWaitDuration'; here it is mcp.job.poll_wait",
    ),
    "dotted name of the document": (
        "bash.autoBackground.thresholdMs = 60000",
        "no setting 'bash.autoBackground.thresholdMs'; here it is mcp.job.auto_background_after",
    ),
    "unlike any": ("[queue]\nzzz = 1", "there is no setting 'queue.zzz'; known are running, waiting, groups"),
    "key outside": ("keep = '1d'", "there is no setting 'keep'; known are queue, sessions, retention"),
    "section as value": ("retention = 5", "'retention' is a section, written [retention]"),
    "number as time": ("[retention]\nkeep = 30", "'retention.keep' must be a time such as '30s'"),
    "no unit": ("[retention]\nkeep = '30'", "'retention.keep' must be a time such as"),
    "unknown unit": ("[retention]\nkeep = '30y'", "'retention.keep' must be a time such as"),
    "negative time": ("[retention]\nkeep = '-1d'", "'retention.keep' must be a time such as"),
    "no number": ("[retention]\nkeep = 'nand'", "'retention.keep' must be a time such as"),
    "no end": ("[retention]\nkeep = 'infd'", "'retention.keep' must be a time such as"),
    "too long": ("[retention]\nkeep = '36501d'", "at most '36500d'"),
    "size in words": ("[retention]\nbytes = 'much'", "'retention.bytes' must be a size such as 1048576"),
    "negative size": ("[retention]\nbytes = -1", "'retention.bytes' must be a size such as"),
    "size as flag": ("[retention]\nbytes = true", "'retention.bytes' must be a size such as"),
    "size beyond reason": ("[retention]\nbytes = '99999999T'", "'retention.bytes' must be a size such as"),
    "text as number": ("[queue]\nrunning = 'four'", "'queue.running' must be a whole number"),
    "half a number": ("[sessions]\nmost = 1.5", "'sessions.most' must be a whole number"),
    "no core": ("[mcp.process]\ncpus = 0", "'mcp.process.cpus' must be a number above 0"),
    "cores as text": ("[mcp.process]\ncpus = '2'", "'mcp.process.cpus' must be a number above 0"),
    "group": ("[queue.groups]\ngpu = 'one'", "'queue.groups.gpu' must be a whole number"),
    "groups": ("[queue]\ngroups = 3", "'queue.groups' must be a section of whole numbers"),
    "unknown key of a toolset": (
        "[mcp.job]\npoll_wat = '5s'",
        "there is no setting 'mcp.job.poll_wat'; did you mean mcp.job.poll_wait",
    ),
    "flag as text": ("[mcp.job]\nauto_background = 'yes'", "'mcp.job.auto_background' must be true or false"),
    "text as number of seconds": ("[mcp.job]\npoll_wait = 5", "'mcp.job.poll_wait' must be text"),
    "tools": (
        "[mcp.handles]\ntools = 3",
        "'mcp.handles.tools' must be a section for each tool, written [mcp.handles.tools.NAME]",
    ),
    "tool": ("[mcp.handles.tools]\ncheck = 'make'", "'mcp.handles.tools.check' must be a section, written ["),
    "key of a tool": ("[mcp.handles.tools.check]\ncomand = 'x'", "did you mean mcp.handles.tools.check.command"),
    "command of a tool": (
        "[mcp.handles.tools.check]\ncommand = [1]",
        "'mcp.handles.tools.check.command' must be text for the shell, or a list of words",
    ),
    "parameter of a tool": (
        "[mcp.handles.tools.check]\ncommand = 'x'\nparameters = { a = 1 }",
        "'mcp.handles.tools.check.parameters.a' must be text",
    ),
    "what is no tool": ("[mcp.handles.tools.check]\n", "'mcp.handles.tools.check' needs a command"),
    "actions as text": (
        "[mcp.handles.tools.check]\nactions = 'spawn'",
        "'mcp.handles.tools.check.actions' must be a list of texts",
    ),
    "unknown builtin": (
        "[mcp.handles]\nbuiltin = ['perl']",
        "'mcp.handles.builtin' lists some of shell, python, terminal",
    ),
    "not TOML": ("[retention\n", "it is not TOML (Expected ']'"),
    "twice": ("[queue]\nrunning = 1\nrunning = 2", "it is not TOML (Cannot overwrite a value (at"),
    "not text": (b"\xff\xfe", "it is not TOML ("),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_meant_is_refused_by_name(write: Write, what: str) -> None:
    text, said = BAD[what]
    home = write(text)
    with pytest.raises(BadSettings) as refused:
        settings.load(home)
    assert str(refused.value).startswith(f"cannot use the settings in {home}/config.toml: ")
    assert said in str(refused.value)
    assert str(refused.value).endswith("; correct or remove it there and try again")
    assert refused.value.code == "bad_settings"


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(BadSettings, match=r"it cannot be read \(Is a directory\)"):
        settings.load(str(tmp_path))


async def test_a_home_with_such_a_file_is_not_opened(write: Write, tmp_path: Path) -> None:
    home = write("[retention]\nkeep = 30")
    with pytest.raises(BadSettings):
        async with bide.local(home):
            pass
    with pytest.raises(BadSettings):
        async with bide.connect(home) as jobs:
            await jobs.list()
    assert not (tmp_path / "bide.db").exists()


def test_every_key_is_documented_with_its_default() -> None:
    page = Path("docs/settings.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| (.*?) \|", page, re.MULTILINE))
    usual = Settings()
    assert set(rows) == set(keys(usual, ""))
    for name, said in rows.items():
        if said.startswith("`"):
            section, _, key = name.rpartition(".")
            home = tomllib.loads(f"[{section}]\n{key} = {said.strip('`')}")
            assert settings.check(home, "config.toml") == usual


def keys(part: Any, within: str) -> Iterator[str]:
    for one in fields(part):
        value = getattr(part, one.name)
        if isinstance(value, Struct):
            yield from keys(value, f"{within}{one.name}.")
        else:
            yield f"{within}{one.name}"
