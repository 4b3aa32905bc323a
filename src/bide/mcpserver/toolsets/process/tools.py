"""The toolset `process`: its names, fields, defaults and texts are those of seed 003."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec.structs import replace

from bide.mcpserver import spelling
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets.process import capabilities, manage, output, outputs
from bide.mcpserver.toolsets.process.capabilities import meta
from bide.mcpserver.toolsets.process.catalog import CATALOG
from bide.mcpserver.toolsets.process.errors import refuse
from bide.mcpserver.toolsets.process.run import LINES, LONGEST, TIMEOUT, run
from bide.mcpserver.toolsets.process.session import session
from bide.model.schema import Json, budget, fields, flag, number, whole, words
from bide.model.schema import text as string
from bide.settings import ProcessSettings

_ID = string("The process identifier returned by process__run.", minLength=1)


class ProcessTools:
    """The tools, what each process may use, and how often each agent called."""

    def __init__(self, allowed: ProcessSettings) -> None:
        """Nobody has called."""
        self._allowed = allowed
        self._invocations: dict[str, int] = {}
        self._made: dict[str, Tool] = {}

    def tools(self) -> tuple[Tool, ...]:
        """The toolset as clients see it."""
        made = (
            self._tool(
                "process.run",
                "On timeout, returns the partial output captured before the kill, with state='timed_out' and exit_code=null. For commands that "
                "may exceed 1 hour, or servers, pass background=true and use process__monitor, process__logs and process__kill.",
                (_RUN, outputs.RUN),
                lambda call, given: run(call, given, self._allowed),
                destructive=True,
            ),
            self._tool(
                "process.monitor",
                "With wait, answers when the process ends, or after so many seconds. Use process__logs for its output.",
                (_MONITOR, outputs.MONITOR),
                manage.monitor,
                reads_only=True,
            ),
            self._tool(
                "process.kill",
                "Everything the process started is terminated as well.",
                (_KILL, outputs.KILL),
                manage.kill,
                destructive=True,
            ),
            self._tool("process.list", "", (_LIST, outputs.LIST), manage.list_, reads_only=True),
            self._tool(
                "process.logs",
                "For output as it comes, call it again with the next_offset of the answer before.",
                (_LOGS, outputs.LOGS),
                output.logs,
                reads_only=True,
            ),
            self._tool("agent.session", "", (fields(()), outputs.SESSION), self._session, reads_only=True),
            self._tool(
                "capabilities.list",
                "'notify' means that the person is told of each call.",
                (_CATEGORY, outputs.CAPABILITIES),
                self._capabilities,
                reads_only=True,
            ),
            self._tool(
                "capabilities.describe",
                "Inputs, outputs, side effects, patterns and errors.",
                (_CAPABILITY, outputs.CAPABILITY),
                self._describe,
                reads_only=True,
            ),
        )
        self._made = {tool.name: tool for tool in made}
        return made

    def _tool(
        self,
        name: str,
        more: str,
        schemas: tuple[Json, Json],
        act: Callable[[Call, Json], Awaitable[Answer]],
        **hints: bool,
    ) -> Tool:
        """A tool for a capability; `more` is what a caller must know beyond its purpose."""
        capability = CATALOG[name]
        description = f"{capability.purpose} {more}".rstrip()
        tool = Tool(
            spelling.listed(name),
            description,
            schemas[0],
            partial(self._counted, act),
            refuse=refuse,
            output=schemas[1],
            meta=meta(capability),
        )
        return replace(tool, **hints)

    async def _capabilities(self, _: Call, given: Json) -> Answer:
        return capabilities.list_(given)

    async def _describe(self, _: Call, given: Json) -> Answer:
        return capabilities.describe(given, self._made)

    async def _counted(self, act: Callable[[Call, Json], Awaitable[Answer]], call: Call, given: Json) -> Answer:
        self._invocations[_session_of(call)] = self._invocations.get(_session_of(call), 0) + 1
        return await act(call, given)

    async def _session(self, call: Call, _: Json) -> Answer:
        return await session(call, self._allowed, self._invocations[_session_of(call)])


def _session_of(call: Call) -> str:
    return call.caller.connection or call.caller.owner


_RUN = fields(
    ("command",),
    command=string(
        "The command to execute. Passed to the shell as a single string, unless args are given.", minLength=1
    ),
    args=words(
        "Arguments to pass to the command, which is then run without a shell. Each element is a separate argument. "
        "Preferred over embedding arguments in the command string."
    ),
    working_directory=string(
        "Directory to execute the command in. Must be within the agent's workspace. Defaults to the workspace root."
    ),
    environment={
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Additional environment variables. Cannot override system-protected variables: the answer names those it left out.",
    },
    timeout=whole(
        f"Maximum foreground execution time in seconds. Maximum {LONGEST}; does not apply with background=true.",
        default=TIMEOUT,
        minimum=1,
    ),
    background={
        **flag("If true, start the process in the background and return immediately with a process_id."),
        "default": False,
    },
    stdin=string("Input to feed to the process via stdin. Ignored if background=true."),
    cpu_limit=number(
        "CPU limit as a fraction of one core (e.g. 0.5 = half a core), by which the process is slowed. Cannot exceed the agent's allocated CPU, its default.",
        minimum=0.01,
    ),
    memory_limit=whole("Memory limit in bytes. Cannot exceed the agent's allocated memory, its default.", minimum=1),
    stdout_lines=whole(
        "Number of trailing lines of each stream to include in stdout_summary and stderr_summary: whole lines, as many as fit in 64 KiB.",
        default=LINES,
        minimum=0,
    ),
    budget=budget("the last lines, as stdout_lines says"),
)
_MONITOR = fields(
    ("process_id",),
    process_id=_ID,
    wait=whole("Seconds to wait for its end. Default: answers at once.", minimum=0),
)
_CATEGORY = fields((), category=string("The first part of the names, or a tag: 'process', 'agent'. Default: all."))
_CAPABILITY = fields(("name",), name=string("process.run, for example.", minLength=1))
_KILL = fields(
    ("process_id",),
    process_id=_ID,
    signal=string(
        "SIGTERM for graceful shutdown, SIGKILL for forced termination.",
        enum=list(manage.SIGNALS),
        default="SIGTERM",
    ),
    force_after=whole(
        "Seconds to wait after SIGTERM before sending SIGKILL. 0: SIGTERM without escalation.",
        default=manage.FORCE_AFTER,
        minimum=0,
        maximum=86_400,
    ),
)
_LIST = fields(
    (),
    state_filter=string("Filter by state.", enum=list(manage.FILTERS), default="all"),
    limit=whole("Maximum number of processes to return. Most recent first.", default=manage.LIMIT, minimum=1),
)
_LOGS = fields(
    ("process_id",),
    process_id=_ID,
    stream=string("Which output stream.", enum=["stdout", "stderr", "both"], default="both"),
    offset=whole("Byte offset to start reading from, in each stream.", minimum=0),
    limit=whole("Maximum bytes to return of each stream. Default returns all available output.", minimum=1),
    stdout_offset=whole("Byte offset in stdout, instead of offset.", minimum=0),
    stderr_offset=whole("Byte offset in stderr, instead of offset.", minimum=0),
    budget=budget("as limit says"),
)
