"""Whether values have the types that their fields say: what comes from a damaged file may parse and still be of none."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from bide.model.job import Job, Spec

_NATIVE = (datetime, timedelta)
_Plain = tuple[str, datetime, str | None, str, str, str | None, str | None, str | None, str | None]


def check_job(job: Job) -> None:
    """Check a job as it was asked for. Raises ValueError (msgspec.ValidationError is one) or TypeError."""
    plain = (job.id, job.created_at, job.name, job.owner, job.label, job.session, job.key, job.parent, job.fingerprint)
    msgspec.convert(plain, _Plain)
    for text in plain:
        if isinstance(text, str):
            text.encode()  # half a surrogate pair cannot be stored
    msgspec.convert(msgspec.to_builtins(job.spec, builtin_types=_NATIVE), Spec, builtin_types=_NATIVE)
