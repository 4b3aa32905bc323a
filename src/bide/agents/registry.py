"""The tools of an agent, from Python and from TOML, and their schemas for a provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from bide.agents.providers import schemas
from bide.agents.tool import Run, Tool
from bide.model.errors import BadRequest, BadSettings
from bide.model.handles import AWAIT
from bide.model.handletools import ToolSettings, check_tool
from bide.model.schema import Json
from bide.model.spawning import AgentToolSettings, Spawn, check_spawn
from bide.settings import filled


class Tools:
    """Tools by name."""

    def __init__(self, *tools: Tool) -> None:
        """With these to begin with."""
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool | None:
        """The tool of this name, if there is one."""
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        """What an assistant can call."""
        return [*self._tools, *([AWAIT] if self.stateful else [])]

    @property
    def stateful(self) -> bool:
        """Whether there is anything to await."""
        return any(tool.spawn.stateful for tool in self)

    def applier(self, name: str) -> str | None:
        """Return the tool by which the assistant applies input to a handle of this tool: the same, or another that can."""
        first = [found] if (found := self.get(name)) else []
        return next((tool.name for tool in [*first, *self] if "apply" in tool.actions), None)

    def add(self, tool: Tool) -> None:
        """One more. Raises BadRequest if its name is taken."""
        if tool.name in self._tools:
            raise BadRequest(detail=f"there is a tool {tool.name!r} already; give this one another name")
        self._tools[tool.name] = tool

    def tool(
        self, description: str, *, spawn: Spawn | None = None, required: tuple[str, ...] = (), **properties: Json
    ) -> Callable[[Run], Run]:
        """Decorates a coroutine function that does the calls of a tool of its name."""

        def added(run: Run) -> Run:
            name: str = run.__name__
            self.add(Tool(name, description, run, properties, required, spawn or Spawn()))
            return run

        return added

    def command(
        self, name: str, command: str | tuple[str, ...], description: str = "", *, spawn: Spawn | None = None
    ) -> None:
        """One more, that is a command without arguments; what takes some is a `Tool` of `ToolSettings`."""
        self.add(Tool(name, description, ToolSettings(command, description), spawn=spawn or Spawn()))

    def configured(self, found: Mapping[str, Any], path: str) -> None:
        """Those of a parsed TOML file, `[conversation.tools.NAME]`; `path` is for the errors. Raises BadSettings."""
        rows = found.get("conversation", {}).get("tools", {})
        for name, said in cast("dict[str, dict[str, Any]]", rows).items():
            where = f"conversation.tools.{name}"
            settings = filled(AgentToolSettings(), said, path, f"{where}.")
            wrong = check_tool(name, settings) or check_spawn(settings.spawn)
            if wrong is not None:
                raise BadSettings(path=path, detail=f"{where!r} {wrong}")
            self.add(Tool(name, settings.description, settings, spawn=settings.spawn))

    def schemas(self, provider: str = "plain", *, combinators: bool | None = None) -> list[Json]:
        """The tools as a provider wants them; `await` is among them only if one is stateful."""
        return schemas(self, provider, combinators=combinators)
