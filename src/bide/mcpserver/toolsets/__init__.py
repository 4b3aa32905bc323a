"""The vocabularies: each a set of tools, switched on by name."""

from bide.mcpserver.tool import Tool
from bide.mcpserver.toolsets import core, handles, llm
from bide.mcpserver.toolsets.bash import BashTool
from bide.mcpserver.toolsets.job import JobTools
from bide.mcpserver.toolsets.process.tools import ProcessTools
from bide.mcpserver.toolsets.sessions import SessionTools
from bide.settings import Settings

NAMES = ("core", "job", "sessions", "process", "handles", "llm")
"""All there are."""


def made(settings: Settings | None = None) -> dict[str, tuple[Tool, ...]]:
    """Every toolset by its name; what they remember is for as long as the daemon lives."""
    job = JobTools(None if settings is None else settings.mcp.job)
    settings = settings or Settings()
    return {
        "core": core.TOOLS,
        "job": (job.tool(), BashTool(job).tool()),
        "sessions": SessionTools(settings.sessions).tools(),
        "process": ProcessTools(settings.mcp.process).tools(),
        "handles": handles.tools(settings.mcp.handles),
        "llm": llm.tools(),
    }
