"""The home, the daemon and the keeper."""

import json
import os
import stat
import time

from bide.cli.checks.finding import Finding
from bide.cli.checks.settings import check_settings
from bide.cli.daemon import info
from bide.client.start import SOCKET
from bide.model.errors import BideError
from bide.model.units import show_duration, show_size
from bide.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bide.client.blocking import Link
    from bide.client.http1 import Json

KEEPER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "keeper", "bide-keeper")
MIGRATIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "store", "migrations")
REBUILT = "index-rebuilt.json"
"""Where the daemon leaves what there is to say of the last rebuild."""
_LATELY = 7 * 86400
_HEAD = 100
_LITTLE = 1 << 30
_TOO_LITTLE = 50 << 20
_OF_A_JOB = 12
"""The inodes that the folder of a job takes."""
_FEW = 100 * _OF_A_JOB
_TOO_FEW = 5 * _OF_A_JOB
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs", "fuse.rclone", "afs", "lustre")
_MEMORY = ("tmpfs", "ramfs")
_REMOUNT = "mount it read-write, or set BIDE_HOME to a folder elsewhere"


def home_checks(link: "Link") -> "Iterator[Finding]":
    """Everything about the home of this link."""
    yield check_home(link.home)
    folder = nearest_folder(link.home)
    yield check_filesystem(filesystem_of(folder))
    disk = os.statvfs(folder)
    writable = not is_read_only(folder)
    for finding in (check_space(disk.f_bavail * disk.f_frsize), check_inodes(disk.f_favail, disk.f_files)):
        yield finding if writable else Finding(finding.level, finding.what, finding.text)
    yield check_settings(link.home)
    yield check_database(os.path.join(link.home, "bide.db"))
    yield from check_quarantine(link.home)
    yield check_daemon(link)
    yield from check_stalls(link)
    yield check_keeper(KEEPER)


def nearest_folder(path: str) -> str:
    """The path itself, or the closest folder above it that exists."""
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def is_read_only(folder: str) -> bool:
    """Whether the file system of a folder is mounted read-only: nothing can be freed or started there."""
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def check_home(home: str) -> Finding:
    """Can it be used, and is it ours alone."""
    if is_read_only(nearest_folder(home)):
        return Finding("fail", "home", f"{home} is on a file system that is read-only", _REMOUNT)
    return _check_writable_home(home) if os.path.lexists(home) else _check_missing_home(home)


def _check_writable_home(home: str) -> Finding:
    if not os.path.isdir(home) or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return Finding("fail", "home", f"{home} is not a folder that can be written", "set BIDE_HOME to another folder")
    found = os.stat(home)
    if (foreign := _check_owners(home, found.st_uid)) is not None:
        return foreign
    mode = found.st_mode & 0o777
    if mode & 0o077:
        return Finding("warn", "home", f"{home} has mode {mode:o}: others can look in", f"chmod 700 {home}")
    return Finding("ok", "home", home)


def _check_owners(home: str, uid: int) -> "Finding | None":
    """Are the home and what is in it ours: the daemon may not be able to write a file that another user made."""
    if uid != os.geteuid():
        return Finding("fail", "home", f"{home} belongs to user {uid}", "set BIDE_HOME to a folder of yours")
    with os.scandir(home) as entries:
        foreign = sorted(entry.name for entry in entries if entry.stat(follow_symlinks=False).st_uid != uid)
    if not foreign:
        return None
    text = f"another user owns files in {home}: {', '.join(foreign)}"
    return Finding("fail", "home", text, f"as root: chown -R {uid} {home}")


def _check_missing_home(home: str) -> Finding:
    above = nearest_folder(home)
    if os.access(above, os.W_OK | os.X_OK):
        return Finding("ok", "home", f"{home} (made when it is first needed)")
    return Finding("fail", "home", f"{home} cannot be made: {above} is not writable", "set BIDE_HOME to another folder")


def check_filesystem(kind: str) -> Finding:
    """Is it one on which a database and locks are safe."""
    if kind in _NETWORK:
        return Finding(
            "warn", "filesystem", f"{kind}: locks and the database are not safe there", "set BIDE_HOME to a local disk"
        )
    if kind in _MEMORY:
        return Finding(
            "warn", "filesystem", f"{kind}: jobs are forgotten when the machine restarts", "set BIDE_HOME to a disk"
        )
    return Finding("ok", "filesystem", kind)


def filesystem_of(path: str) -> str:
    """The kind of file system a path is on, from the kernel's list of mounts."""
    path, best, kind = os.path.realpath(path), -1, "unknown"
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            _, point, found, *_ = line.split()
            point = point.replace("\\040", " ").rstrip("/")
            if (path == point or path.startswith(f"{point}/")) and len(point) >= best:
                best, kind = len(point), found
    return kind


def check_space(free: int) -> Finding:
    """Is there room for output."""
    if free < _TOO_LITTLE:
        return Finding(
            "fail", "disk", f"{show_size(free)} free", "free some: 'bide forget' removes ended jobs and their output"
        )
    if free < _LITTLE:
        return Finding("warn", "disk", f"{show_size(free)} free", "jobs that write much can fill it; use --output-cap")
    return Finding("ok", "disk", f"{show_size(free)} free")


def check_inodes(free: int, total: int) -> Finding:
    """Is there room for more files."""
    if not total:
        return Finding("ok", "inodes", "this filesystem does not limit them")
    text = f"{free} of {total} free"
    if free < _TOO_FEW:
        return Finding("fail", "inodes", text, "remove some files: 'bide forget' removes ended jobs")
    if free < _FEW:
        return Finding("warn", "inodes", text, f"a job takes about {_OF_A_JOB}; remove files that nobody needs")
    return Finding("ok", "inodes", text)


def check_database(path: str) -> Finding:
    """Can this version read it."""
    return _check_files(path) or _check_head(path)


def _check_head(path: str) -> Finding:
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except FileNotFoundError:
        return Finding("ok", "database", "made when it is first needed")
    except OSError as error:
        return Finding("fail", "database", f"{path} cannot be read: {error.strerror}", "give it back to its owner")
    if not head.startswith(b"SQLite format 3\0"):
        return Finding("warn", "database", f"{path} is damaged", "the next daemon rebuilds it from the job folders")
    found, known = int.from_bytes(head[60:64], "big"), len(os.listdir(MIGRATIONS))
    if found > known:
        advice = "upgrade bide, or set BIDE_HOME to another folder"
        return Finding("fail", "database", f"{path} has schema {found}, and this bide knows up to {known}", advice)
    return _check_rebuilt(os.path.dirname(path)) or Finding("ok", "database", path)


def _check_files(path: str) -> "Finding | None":
    """Are the files of the database files that we can use."""
    for one in (path, f"{path}-wal", f"{path}-seal"):
        try:
            found = os.stat(one)
        except OSError:
            continue
        if not stat.S_ISREG(found.st_mode):
            what = "the next daemon puts it aside and rebuilds the database from the job folders"
            return Finding("warn", "database", f"{one} is not a file", what)
        mine = found.st_uid == os.geteuid() and found.st_mode & 0o600 != 0o600
        if not mine and not os.access(one, os.R_OK | os.W_OK):
            return Finding("fail", "database", f"{one} cannot be written", "make it writable (chown, chmod, chattr -i)")
    return None


def check_quarantine(home: str) -> "Iterator[Finding]":
    """Is there anything in it that was a job or a session."""
    folder = os.path.join(home, "quarantine")
    try:
        found = sorted(os.listdir(folder))
    except OSError:
        return
    if found:
        shown = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        text = f"{len(found)} folders that could not be read are in {folder}: {shown}"
        yield Finding("warn", "quarantine", text, "look what is in them; remove those that nobody needs")


def _check_rebuilt(home: str) -> "Finding | None":
    """Tell of the last time that the index was rebuilt, if that was lately."""
    try:
        with open(os.path.join(home, REBUILT), encoding="utf-8") as file:
            last: Json = json.load(file)
        age = time.time() - last["at_ms"] / 1000
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if age > _LATELY:
        return None
    text = f"rebuilt from {last['jobs']} job folders {show_duration(max(age, 0) * 1000)} ago: {last['why']}"
    if last["aside"] is None:
        return Finding("ok", "database", text)
    return Finding(
        "warn", "database", text, f"what could not be read is kept in {last['aside']}; remove it if you need none of it"
    )


def check_daemon(link: "Link") -> Finding:
    """Does it answer, and is it of this version."""
    try:
        found = info(link)
    except BideError as error:
        return Finding("fail", "daemon", str(error), "see 'bide daemon logs'")
    socket = os.path.join(link.home, SOCKET)
    if found is None:
        return _check_no_daemon(link.home, socket)
    if found["version"] != VERSION:
        text = f"process {found['pid']} has version {found['version']}, this is {VERSION}"
        return Finding("warn", "daemon", text, "bide daemon restart  (jobs go on)")
    mode = os.stat(socket).st_mode & 0o777
    if mode & 0o077:
        return Finding("warn", "daemon", f"its socket {socket} has mode {mode:o}", "bide daemon restart")
    return Finding(
        "ok", "daemon", f"process {found['pid']}, version {found['version']}, {found['running']} jobs running"
    )


def _check_no_daemon(home: str, socket: str) -> Finding:
    if is_read_only(nearest_folder(home)):
        return Finding("fail", "daemon", "none runs, and none can be started: the home is read-only", _REMOUNT)
    left = f" ({socket} is left from an earlier one)" if os.path.lexists(socket) else ""
    return Finding("ok", "daemon", f"none runs; it is started when it is needed{left}")


def check_stalls(link: "Link") -> "Iterator[Finding]":
    """Has anything kept the daemon from answering others."""
    try:
        found = info(link)
    except BideError:
        return
    if found is None or "stalls" not in found:
        return
    stalls: Json = found["stalls"]
    limit, busy = stalls["limit_ms"], [one for one in stalls["over_limit"] if one["cpu_ms"] > stalls["limit_ms"]]
    longest = f"the longest it was busy with one thing: {stalls['longest_ms']:g} ms ({stalls['longest_of']})"
    if not busy:
        yield Finding("ok", "stalls", longest)
        return
    worst = max(busy, key=lambda one: one["cpu_ms"])
    text = f"{worst['what']} kept the daemon busy for {worst['cpu_ms']:g} ms; others waited ({limit:g} ms is what is allowed)"
    yield Finding(
        "warn", "stalls", text, "'bide daemon status --json' lists all of them; a fault of bide's: please report it"
    )


def check_keeper(path: str) -> Finding:
    """Is the program that starts jobs there, and does this machine execute it."""
    advice = "install bide again with a C compiler at hand (apt install gcc libc6-dev)"
    if not os.access(path, os.X_OK):
        return Finding("fail", "keeper", f"there is no program {path}", advice)
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        _, status = os.waitpid(os.posix_spawn(path, [path], {}, file_actions=quiet), 0)
    except OSError as error:
        return Finding("fail", "keeper", f"{path} does not run: {error.strerror}", advice)
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 127:
        return Finding("fail", "keeper", f"{path} does not run (status {os.waitstatus_to_exitcode(status)})", advice)
    return Finding("ok", "keeper", path)
