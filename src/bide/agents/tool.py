"""What a tool of an agent is: a coroutine of this program or a command, and how it may be spawned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from bide.agents.context import Context
from bide.agents.signature import Typed
from bide.agents.turnend import Inquire
from bide.model.errors import BadRequest
from bide.model.handles import AWAIT, forms
from bide.model.handletools import ACTIONS, ToolSettings, actions_of
from bide.model.limits import Limits
from bide.model.request import Request
from bide.model.schema import Json, fields, text
from bide.model.schemafaults import fault_of
from bide.model.screen import TERMINAL
from bide.model.spawning import Spawn, check_spawn

Run = Callable[[Context, Json], object]
"""Does a call, given its context and arguments: what it returns is the result, what it raises the error.

A coroutine function, or a plain one, which runs in a thread.
"""


class Tool(Struct, frozen=True):
    """A tool as an assistant has it."""

    name: str
    description: str
    work: Run | ToolSettings
    """A function of this program, or a command."""
    properties: Json = field(default_factory=dict[str, Any])
    """The JSON schema of each argument; of a command, what its parameters are."""
    required: tuple[str, ...] = ()
    spawn: Spawn = field(default_factory=Spawn)
    reads_input: bool = False
    """Of a coroutine: `apply` reaches it."""
    asks: bool = False
    """It may ask, and `apply` answers where the assistant may."""
    inquire: Inquire | None = None
    """Who is asked about its handles at the end of a turn, if not the one who is asked about all."""

    @classmethod
    def of(
        cls,
        function: Callable[..., object],
        *,
        name: str = "",
        description: str = "",
        spawn: Spawn | None = None,
        reads_input: bool = False,
        asks: bool = False,
        inquire: Inquire | None = None,
    ) -> Tool:
        """Make a tool of a function: its name, its docstring and its type hints say what the tool is and takes.

        A parameter of type `Context` gets the context of the call. Raises BadRequest for a type that JSON cannot carry.
        """
        work = Typed(function)
        said = work.signature
        return cls(
            name or said.name,
            description or said.description,
            work,
            said.properties,
            said.required,
            spawn or Spawn(),
            reads_input,
            asks,
            inquire,
        )

    def __post_init__(self) -> None:
        """Checked, with what a command says of itself filled in."""
        if isinstance(self.work, ToolSettings):
            said = {key: text(what) for key, what in self.work.parameters.items()}
            force_setattr(self, "properties", self.properties or said)
            force_setattr(self, "required", self.required or self.work.required)
        wrong = check_spawn(self.spawn) or next(self._faults(), None)
        if wrong is not None:
            raise BadRequest(detail=f"the tool {self.name!r}: {wrong}")

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong with it."""
        if not self.name.replace("-", "_").isidentifier() or not self.name.isascii() or len(self.name) > 64:
            yield "a name is up to 64 letters, digits, '_' and '-', beginning with a letter"
        if self.name == AWAIT:
            yield "this name is taken"
        work = cast("object", self.work)
        if not callable(work) and not isinstance(work, ToolSettings):
            yield f"'work' must be a function of a Context and the arguments, or ToolSettings, not {work!r}"
        for key, schema in self.properties.items():
            if (wrong := fault_of(schema, key)) is not None:
                yield wrong
        known = ", ".join(self.properties) or "none"
        yield from (
            f"{key!r} is required and not among its properties; known are {known}"
            for key in self.required
            if key not in self.properties
        )
        if self.spawn.stateful:
            taken = [key for key in ("action", "id", "input") if key in self.properties]
            yield from (f"{key!r} cannot be an argument of a stateful tool" for key in taken)

    @property
    def actions(self) -> tuple[str, ...]:
        """What can be done; nothing but calls where it is not stateful."""
        if not self.spawn.stateful:
            return ()
        if isinstance(self.work, ToolSettings):
            found = actions_of(self.work)
            return tuple(action for action in ACTIONS if action in found or (action == "apply" and self.asks))
        return tuple(action for action in ACTIONS if action != "apply" or self.reads_input or self.asks)

    @property
    def forms(self) -> dict[str, Json]:
        """The fields of each action; those of a call without one under the empty name."""
        if self.spawn.stateful:
            return forms(self.properties, self.required, self.actions)
        return {"": fields(self.required, **self.properties)}


def request_of(tool: Tool, given: Json) -> Request:
    """What is run for a call: the arguments of a command are in its environment, where they cannot be taken for code."""
    work = tool.work
    if not isinstance(work, ToolSettings):
        return Request.of(f"{tool.name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"[:1000])
    said = {key: as_word(given[key]) for key in tool.properties if key in given}
    around = TERMINAL if work.pty else {}
    request = Request.of(work.command, env={**around, **work.env, **said}, stdin=work.stdin, pty=work.pty)
    limits = Limits(timeout=work.timeout) if work.timeout else request.limits
    return replace(request, cwd=work.cwd or None, limits=limits)


def as_word(value: object) -> str:
    """An argument as an environment variable: text as it is, the rest as JSON writes it."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
