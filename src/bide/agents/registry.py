"""The tools of an agent, from Python and from TOML, and their schemas for a provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, overload

from msgspec.structs import replace

from bide.agents.providers import schemas
from bide.agents.tool import Tool
from bide.agents.turnend import Inquire
from bide.model.errors import BadRequest, BadSettings
from bide.model.handles import AWAIT, guidance
from bide.model.handletools import ToolSettings
from bide.model.schema import Json
from bide.model.spawning import Spawn
from bide.settings import agent_tools

Function = Callable[..., object]
F = TypeVar("F", bound=Callable[..., object])


class Tools:
    """Tools by name."""

    def __init__(self, *tools: Tool | Function) -> None:
        """Begin with these; a function is a tool as `Tool.of` has it."""
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

    def add(self, tool: Tool | Function) -> None:
        """Add a tool, or a function as one. Raises BadRequest if its name is taken."""
        if not isinstance(tool, Tool):
            tool = Tool.of(tool)
        if tool.name in self._tools:
            raise BadRequest(detail=f"there is a tool {tool.name!r} already; give this one another name")
        self._tools[tool.name] = tool

    @overload
    def tool(self, function: F) -> F: ...

    @overload
    def tool(
        self,
        *,
        name: str = "",
        description: str = "",
        spawn: Spawn | None = None,
        reads_input: bool = False,
        asks: bool = False,
        inquire: Inquire | None = None,
    ) -> Callable[[F], F]: ...

    def tool(
        self,
        function: Function | None = None,
        *,
        name: str = "",
        description: str = "",
        spawn: Spawn | None = None,
        reads_input: bool = False,
        asks: bool = False,
        inquire: Inquire | None = None,
    ) -> object:
        """Decorate a function that does the calls of a tool, with or without arguments; see `Tool.of`."""

        def added(function: Function) -> Function:
            made = Tool.of(
                function,
                name=name,
                description=description,
                spawn=spawn,
                reads_input=reads_input,
                asks=asks,
                inquire=inquire,
            )
            self.add(made)
            return function

        return added if function is None else added(function)

    def command(
        self, name: str, command: str | tuple[str, ...], description: str = "", *, spawn: Spawn | None = None
    ) -> None:
        """One more, that is a command without arguments; what takes some is a `Tool` of `ToolSettings`."""
        self.add(Tool(name, description, ToolSettings(command, description), spawn=spawn or Spawn()))

    def configured(self, found: Mapping[str, Any], path: str) -> None:
        """Take a parsed TOML file, `[conversation.tools.NAME]`; `path` is for the errors. Raises BadSettings.

        What the file says of a tool that is there already, without a command, is how that may be spawned.
        """
        for name, settings in agent_tools(found, path).items():
            if settings.command:
                self.add(Tool(name, settings.description, settings, spawn=settings.spawn))
                continue
            known = self.get(name)
            if known is None:
                detail = f"'conversation.tools.{name}' needs a command; or add the tool itself before this file is read"
                raise BadSettings(path=path, detail=detail)
            self._tools[name] = replace(known, spawn=settings.spawn)

    @property
    def instructions(self) -> str:
        """Return how to use these tools, for the system prompt of a model; empty where none is stateful."""
        return guidance([tool.name for tool in self if tool.spawn.stateful], applies=self.applier("") is not None)

    def schemas(self, provider: str = "plain", *, combinators: bool | None = None) -> list[Json]:
        """The tools as a provider wants them; `await` is among them only if one is stateful."""
        return schemas(self, provider, combinators=combinators)
