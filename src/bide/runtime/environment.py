"""The environment a job runs in. Pure: from what to what, in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping

UNATTENDED = {
    "CI": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
}
"""Nobody is there to page, answer or look at colours. A job's own `env` overrides each."""

ON_A_TERMINAL = {"TERM": "xterm-256color"}
_NOT_ON_A_TERMINAL = ("NO_COLOR",)
_OF_ANOTHER_TERMINAL = ("LINES", "COLUMNS")
"""How large the caller's is; what the job's own `env` says here is the size of its terminal."""
_OURS = ("BIDE_JOB", "BIDE_PARENT", "BIDE_HOME", "BIDE_OWNER", "BIDE_SESSION", "BIDE_SESSION_FOLDER")


def build(
    base: Mapping[str, str],
    overlay: Mapping[str, str],
    *,
    defaults: bool,
    pty: bool,
    ours: Mapping[str, str],
    unset: Collection[str] = (),
) -> dict[str, str]:
    """Base, then defaults for unattended runs, less what was unset, then what the caller set, then what links the job to bide."""
    env = {key: value for key, value in base.items() if key and "=" not in key and "\0" not in key + value}
    if pty:
        env = {key: value for key, value in env.items() if key not in _OF_ANOTHER_TERMINAL}
    if defaults:
        env |= UNATTENDED
        if pty:
            env |= ON_A_TERMINAL
            for key in _NOT_ON_A_TERMINAL:
                env.pop(key, None)
        if not _speaks_utf8(env):
            env["LC_ALL"] = "C.UTF-8"
    parent = base.get("BIDE_JOB")
    for key in (*_OURS, *unset):
        env.pop(key, None)
    env |= overlay
    if parent:
        env["BIDE_PARENT"] = parent
    env |= ours
    env.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return env


def without_ours(env: Mapping[str, str]) -> dict[str, str]:
    """An environment without what links one job to bide, and without what no program can be given."""
    fit = {key: value for key, value in env.items() if key and "=" not in key and "\0" not in key + value}
    return {key: value for key, value in fit.items() if key not in _OURS}


def _speaks_utf8(env: Mapping[str, str]) -> bool:
    value = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    return value.lower().replace("-", "").endswith("utf8")
