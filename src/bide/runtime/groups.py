"""Groups: what may be set for them while we run, over what config.toml says, and kept in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bide.api import Group
from bide.model.errors import BadRequest
from bide.model.llm import choices
from bide.model.schedule import ALL, Rules, lineage, within
from bide.model.turn import Turn, check_turn
from bide.runtime.core import Core
from bide.runtime.sound import with_sound_store
from bide.settings import Settings

_MOST = 1_000_000

Row = tuple[str, bool, int | None, bool]
"""What the database has of a group: name, whether its limit was set, the limit, whether it is paused."""


def rules(settings: Settings, rows: Sequence[Row]) -> Rules:
    """What holds: the settings, and over them what was set while a runtime ran."""
    limits: dict[str, int | None] = {choices.GROUP: settings.llm.running, **settings.queue.groups}
    if settings.queue.running is not None:
        limits[ALL] = settings.queue.running
    limits |= {name: most for name, limited, most, _ in rows if limited}
    paused = frozenset(name for name, _, _, paused in rows if paused)
    return Rules(limits, paused, each={choices.GROUP: settings.llm.running_per_cli})


@dataclass(slots=True)
class _Set:
    """What was set for one group."""

    limited: bool = False
    most: int | None = None
    paused: bool = False


class LocalGroups:
    """Implements api.Groups in this process."""

    def __init__(self, core: Core) -> None:
        """With what was set before."""
        self.core: Core = core
        self._set = {name: _Set(limited, most, paused) for name, limited, most, paused in core.store.groups()}
        core.keeping.renewed = self._keep_all

    @with_sound_store
    async def list(self) -> tuple[Group, ...]:
        """See api.Groups.list."""
        queue = self.core.queue
        waiting = queue.waiting()
        used = {name for group in (*queue.busy, *waiting) for name in lineage(group)}
        limited = {name for name, most in queue.rules.limits.items() if most is not None}
        unset = {choices.GROUP} - self.core.settings.queue.groups.keys() - self._set.keys()
        names = {*(limited - unset), *queue.rules.paused, *used} - {ALL}
        return tuple(self._group(name, waiting) for name in (ALL, *sorted(names)))

    @with_sound_store
    async def limit(self, group: str | None, most: int | None) -> Group:
        """See api.Groups.limit."""
        if most is not None and not 0 <= most <= _MOST:
            raise BadRequest(detail=f"a limit is a whole number from 0 to {_MOST}, not {most}; give none for no limit")
        name = _name(group)
        return await self._change(name, _Set(limited=True, most=most, paused=self._of(name).paused))

    @with_sound_store
    async def pause(self, group: str | None) -> Group:
        """See api.Groups.pause."""
        name = _name(group)
        return await self._change(name, _Set(self._of(name).limited, self._of(name).most, paused=True))

    @with_sound_store
    async def resume(self, group: str | None) -> Group:
        """See api.Groups.resume."""
        name = _name(group)
        return await self._change(name, _Set(self._of(name).limited, self._of(name).most, paused=False))

    def _of(self, name: str) -> _Set:
        return self._set.get(name, _Set())

    async def _change(self, name: str, new: _Set) -> Group:
        """On disk first, then in force."""
        await self._keep(name, new)
        self._set[name] = new
        rows = [(key, one.limited, one.most, one.paused) for key, one in self._set.items()]
        self.core.queue.change(rules(self.core.settings, rows))
        return self._group(name, self.core.queue.waiting())

    async def _keep(self, name: str, new: _Set) -> None:
        store = self.core.store
        await self.core.hub.settled(store.set_group(name, limited=new.limited, most=new.most, paused=new.paused))

    def _keep_all(self) -> None:
        """The database is a new one."""
        for name, one in self._set.items():
            self.core.store.set_group(name, limited=one.limited, most=one.most, paused=one.paused)

    def _group(self, name: str, waiting: dict[str, int]) -> Group:
        queue = self.core.queue
        return Group(
            name=name or None,
            limit=queue.rules.limit(name),
            paused=name in queue.rules.paused,
            running=within(name, queue.busy) if name else sum(queue.busy.values()),
            waiting=within(name, waiting) if name else sum(waiting.values()),
        )


def _name(group: str | None) -> str:
    if group is None:
        return ALL
    if not group:
        raise BadRequest(detail="a group's name cannot be empty; leave it out for all jobs")
    check_turn(Turn(group=group))
    return group
