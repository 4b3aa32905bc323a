"""Stateful tools and batches of calls, for programs that embed bide: tools are functions or commands, and spawned they are jobs.

tools = agents.Tools(agents.Tool.of(search, spawn=agents.Spawn(stateful=True)))
async with bide.connect() as jobs, agents.coordinate(jobs, tools, owner="my-agent") as agent:
    responses = await agent.batch([agents.Call(call.id, call.name, call.arguments) for call in reply.tool_calls])
"""

from bide.agents.calls import Call, Response
from bide.agents.context import Cancellation, Context
from bide.agents.coordinator import Coordinator, coordinate
from bide.agents.delivery import News
from bide.agents.following import Change, Following
from bide.agents.handles import Handles
from bide.agents.questions import Answerer, Answering, Denied, at_terminal, by_command
from bide.agents.registry import Tools
from bide.agents.tasks import Channel, Tasks, open_tasks
from bide.agents.tool import Tool
from bide.agents.turnend import Inquire, TurnEnd
from bide.model.handletools import ToolSettings
from bide.model.question import Form, Policy, Question
from bide.model.spawning import Lifecycle, Notifications, Spawn
from bide.model.task import progress

__all__ = [
    "Answerer",
    "Answering",
    "Call",
    "Cancellation",
    "Change",
    "Channel",
    "Context",
    "Coordinator",
    "Denied",
    "Following",
    "Form",
    "Handles",
    "Inquire",
    "Lifecycle",
    "News",
    "Notifications",
    "Policy",
    "Question",
    "Response",
    "Spawn",
    "Tasks",
    "Tool",
    "ToolSettings",
    "Tools",
    "TurnEnd",
    "at_terminal",
    "by_command",
    "coordinate",
    "open_tasks",
    "progress",
]
