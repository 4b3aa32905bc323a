"""Starting a job as another one was: the same environment and umask, under a new id."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from bide.keeper import folder, launch, services
from bide.keeper.groups import Group
from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.runtime import starting
from bide.runtime.core import Core


def prepared(
    core: Core, job: Job, path: str, told: bytes | None = None, env: Mapping[str, str | None] | None = None
) -> tuple[Job, folder.Orders, Group]:
    """A new job, ready to be admitted, with what the job in this folder was given; all else is found anew.

    It reads what it is `told` now, not what that one was. `env` is over what that one had, without what is `None`.
    """
    given = services.read_given(path)
    if given is None:
        raise BadRequest(detail=f"{path!r} does not say any more what the job was started with; start it anew with run")
    group = starting.grouped(core, job.id, job.spec.limits)
    orders = folder.Orders(
        env={**_over(given.env, env or {}), folder.MARKER: job.id, "BIDE_HOME": core.home.path},
        umask=given.umask,
        nofile=starting.soft_files(),
        boot=launch.boot_identity(),
        starter=launch.starter(core.home.path),
        groups=group.orders,
        input=told,
    )
    spec = replace(job.spec, enforced=tuple(sorted(group.enforced.items())))
    return replace(job, spec=spec), orders, group


def _over(given: Mapping[str, str], env: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in {**given, **env}.items() if value is not None}
