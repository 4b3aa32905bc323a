"""One open session, and its file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from bide.keeper import told
from bide.keeper.folder import sync_folder
from bide.model.job import Job
from bide.model.session import Session, is_later
from bide.model.state import Held
from bide.model.times import from_stamp, stamp
from bide.store.sessions import SessionRow

FILE = "session.json"


@dataclass(slots=True)
class Place:
    """One open session."""

    id: str
    owner: str
    created_at: datetime
    last_active_at: datetime
    held: Held
    seq: int = 0
    first: int = 0
    """The greatest number that an earlier session of this id gave."""
    reserved: int = 0
    """Numbers up to this one may have been given, says the file that is being written, …"""
    durable: int = 0
    """… and the file that is on disk."""
    ending: bool = False
    bytes: int | None = None
    """Bytes of its ended jobs, at most; `None` before they were counted."""
    vars_bytes: int = 0
    """Bytes of its vars as JSON, when its file was last read or written."""
    trimming: bool = False
    trims_later: bool = False

    def holds(self, job: Job) -> bool:
        """Return whether a job belongs to this session, and not to an earlier one of the same id."""
        return job.session == self.id and is_later(job.id, self.id, self.first)

    def encoded(self) -> bytes:
        """Return the text of its file, and note how much of it the vars take."""
        held = self.held
        body: dict[str, Any] = {
            "id": self.id,
            "owner": self.owner,
            "created_at": stamp(self.created_at),
            "seq": self.reserved,
            "first": self.first,
            "cwd": held.cwd,
            "base_env": dict(held.base_env),
            "env": dict(held.env),
            "unset": list(held.unset),
            "shell": dict(held.shell),
            "note": held.note,
        }
        # Vars may be large: they are put into words once, and measured by that.
        said = json.dumps(dict(held.vars))
        self.vars_bytes = len(said)
        return f'{json.dumps(body)[:-1]}, "vars": {said}}}'.encode()

    def row(self, ended_at: datetime | None = None, why: str = "") -> SessionRow:
        """What its row says."""
        return SessionRow(self.id, self.owner, self.created_at, self.last_active_at, self.seq, ended_at, why)

    def session(self, running: int) -> Session:
        """As callers see it."""
        held = self.held
        return Session(
            id=self.id,
            cwd=held.cwd,
            created_at=self.created_at,
            last_active_at=self.last_active_at,
            owner=self.owner,
            env=held.env,
            unset=held.unset,
            vars=held.vars,
            seq=self.seq,
            first=self.first,
            running=running,
            note=held.note,
        )


def read_place(folder: str, name: str) -> Place | None:
    """The session of a folder; `None` if its file is missing or damaged."""
    try:
        with open(os.path.join(folder, FILE), "rb") as file:
            body: dict[str, Any] = json.load(file)
        created_at = cast("datetime", from_stamp(body["created_at"]))
        held = Held(
            cwd=body["cwd"],
            base_env=_texts(body["base_env"]),
            env=_texts(body["env"]),
            unset=tuple(body["unset"]),
            vars=dict(body["vars"]),
            shell=_texts(body.get("shell", {})),
            note=body.get("note", ""),
        )
        place = Place(body["id"], body["owner"], created_at, created_at, held)
        place.reserved = place.durable = int(body.get("seq", 0))
        place.first = int(body.get("first", 0))
        place.vars_bytes = len(json.dumps(body["vars"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return place if place.id == name else None


def _texts(value: Mapping[str, str]) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()}


def write_place(folder: str, data: bytes, *, new: bool) -> None:
    """Put down the file of a session; with `new`, in a folder that is made for it."""
    if new:
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder, 0o700)
    write_whole(os.path.join(folder, FILE), data, sync=True)
    sync_folder(folder)
    if new:
        sync_folder(os.path.dirname(folder))


def write_whole(path: str, data: bytes, *, sync: bool) -> None:
    """The file has either what it had or all of this."""
    temporary = f"{path}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        told.write_all(fd, data)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
