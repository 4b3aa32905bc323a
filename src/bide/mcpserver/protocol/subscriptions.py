"""Who is told of changes, in both eras: subscriptions of a connection, and streams that a client listens to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from bide.api import Jobs
from bide.mcpserver import changes
from bide.mcpserver.changes import Tell, Watch
from bide.mcpserver.scope import Own
from bide.model.errors import BideError

_NOT_FOUND = -32002
_STATE = "bide.watches"
_LIST = "list"
_NOBODY = ""
"""Who is told of a job by a watch: that something changed is not yet what."""

Notes = Callable[[Any, str], Awaitable[tuple[Watch, Callable[[], Awaitable[tuple[str, dict[str, Any]]]]] | None]]
"""A watch of a task and what is told of it; `None` if this client is not told."""


class Subscriptions:
    """Watches for the clients of one door."""

    def __init__(self, jobs: Jobs, group: TaskGroup, own: Callable[[Any], Own], tasks: Notes) -> None:
        """`group` is for watches that belong to a connection."""
        self._jobs = jobs
        self._group = group
        self._own = own
        self._tasks = tasks

    # To 2025-11-25: a connection subscribes.

    async def subscribe(self, ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell this connection of every change from now on."""
        uri = str(params.uri)
        if uri not in _held(ctx):
            try:
                with self._jobs.outbox.answering(_NOBODY):
                    watch = await changes.begin(self._jobs, self._own(ctx), uri)
            except BideError as error:
                raise not_found(ctx, uri, error) from error
            self.hold(ctx, uri, watch, lambda: ctx.session.send_resource_updated(uri))
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell it no more."""
        scope = _held(ctx).pop(str(params.uri), None)
        if scope is not None:
            scope.cancel()
        return types.EmptyResult()

    async def listed(self, ctx: Any) -> None:
        """Whoever has listed what there is, is told when that changes."""
        if not _is_modern(ctx) and _LIST not in _held(ctx):
            watch = await changes.begin_list(self._jobs, self._own(ctx))
            self.hold(ctx, _LIST, watch, ctx.session.send_resource_list_changed)

    def hold(self, ctx: Any, name: str, watch: Watch, tell: Tell) -> None:
        """Watch for as long as the connection lasts."""
        scope = _held(ctx)[name] = anyio.CancelScope()

        async def act() -> None:
            with scope, self._jobs.outbox.answering(_NOBODY):
                await changes.quietly(watch, tell)

        self._group.start_soon(act)

    # From 2026-07-28: a client listens.

    async def listen(self, ctx: Any, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """Say what it will be told of, and tell it until it goes away."""
        with self._jobs.outbox.answering(_NOBODY):
            return await self._listen(ctx, params)

    async def _listen(
        self, ctx: Any, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        honored, watches = await self._begun(ctx, params.notifications)

        async def note(what: types.ServerNotification) -> None:
            await ctx.session.send_notification(what, related_request_id=ctx.request_id)

        acknowledged = types.SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
        await note(types.SubscriptionsAcknowledgedNotification(params=acknowledged))
        async with anyio.create_task_group() as group:
            for watch, made in watches:

                async def tell(made: _Made = made) -> None:
                    await note(await made(meta))

                group.start_soon(changes.quietly, watch, tell)
            await anyio.sleep_forever()
        return types.SubscriptionsListenResult(_meta=meta)

    async def _begun(
        self, ctx: Any, wanted: types.SubscriptionFilter
    ) -> tuple[types.SubscriptionFilter, list[tuple[Watch, _Made]]]:
        """What this client will be told of, and the watches for it. What is not there is left out."""
        own = self._own(ctx)
        watches: list[tuple[Watch, _Made]] = []
        uris: list[str] = []
        for uri in wanted.resource_subscriptions or ():
            try:
                watches.append((await changes.begin(self._jobs, own, uri), partial(_updated, uri)))
            except BideError:
                continue
            uris.append(uri)
        if wanted.resources_list_changed:
            watches.append((await changes.begin_list(self._jobs, own), _list_changed))
        tasks: list[str] = []
        for task in (wanted.model_extra or {}).get("taskIds") or ():
            found = await self._tasks(ctx, str(task))
            if found is not None:
                watches.append((found[0], partial(_task, found[1])))
                tasks.append(str(task))
        honored = types.SubscriptionFilter(
            # Tools change with the daemon only: a stream over HTTP does not live to see it, on stdio the copier tells of it.
            tools_list_changed=(ctx.request is None and wanted.tools_list_changed) or None,
            prompts_list_changed=None,
            resources_list_changed=wanted.resources_list_changed or None,
            resource_subscriptions=uris or None,
            **({"taskIds": tasks} if tasks else {}),
        )
        return honored, watches


_Made = Callable[[dict[str, Any]], Awaitable[types.ServerNotification]]


async def _updated(uri: str, meta: dict[str, Any]) -> types.ServerNotification:
    return types.ResourceUpdatedNotification(params=types.ResourceUpdatedNotificationParams(uri=uri, _meta=meta))


async def _list_changed(meta: dict[str, Any]) -> types.ServerNotification:
    return types.ResourceListChangedNotification(params=types.NotificationParams(_meta=meta))


async def _task(told: Callable[[], Awaitable[tuple[str, dict[str, Any]]]], meta: dict[str, Any]) -> Any:
    method, params = await told()
    return types.Notification[dict[str, Any], str](method=method, params={**params, "_meta": meta})


def not_found(ctx: Any, uri: str, why: BideError) -> MCPError:
    """That there is no such resource, in the words of the client's era."""
    code = types.INVALID_PARAMS if _is_modern(ctx) else _NOT_FOUND
    return MCPError(code=code, message=str(why), data={"uri": uri})


def _is_modern(ctx: Any) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _held(ctx: Any) -> dict[str, anyio.CancelScope]:
    """The watches of a connection by what they watch; they end with it."""
    connection = ctx.session._connection  # noqa: SLF001 - the SDK's place for what ends with a connection, not handed out
    found: dict[str, anyio.CancelScope] | None = connection.state.get(_STATE)
    if found is None:
        held: dict[str, anyio.CancelScope] = {}
        connection.state[_STATE] = held
        connection.exit_stack.callback(lambda: [scope.cancel() for scope in held.values()])
        return held
    return found
