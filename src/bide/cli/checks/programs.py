"""Questions to systemd and its login manager, by their own programs."""

import os


def answer(*words: str) -> str:
    """Return what a program writes; empty if it cannot be run."""
    read_end, write_end = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write_end, 1), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    try:
        pid = os.posix_spawnp(words[0], words, os.environ, file_actions=actions)
    except OSError:
        os.close(read_end)
        return ""
    finally:
        os.close(write_end)
    with os.fdopen(read_end) as said:
        text = said.read().strip()
    os.waitpid(pid, 0)
    return text


def kill_mode(unit: str, *, user: bool) -> str:
    """Return a unit's KillMode; empty if systemd cannot be asked."""
    return answer("systemctl", *(["--user"] if user else []), "show", "-p", "KillMode", "--value", unit)


def ends_sessions() -> bool | None:
    """Tell whether logout ends the processes of a session (KillUserProcesses of logind); `None` if it cannot be asked."""
    name, path = "org.freedesktop.login1", "/org/freedesktop/login1"
    said = answer("busctl", "get-property", name, path, f"{name}.Manager", "KillUserProcesses")
    return {"b true": True, "b false": False}.get(said)
