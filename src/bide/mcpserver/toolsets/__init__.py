"""The vocabularies: each a set of tools, switched on by name."""

from bide.mcpserver.tool import Tool
from bide.mcpserver.toolsets import core
from bide.mcpserver.toolsets.bash import BashTool
from bide.mcpserver.toolsets.job import JobTools


def made() -> dict[str, tuple[Tool, ...]]:
    """Every toolset by its name; what they remember is for as long as the daemon lives."""
    job = JobTools()
    return {"core": core.TOOLS, "job": (job.tool(), BashTool(job).tool())}
