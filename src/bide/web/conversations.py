"""The routes of conversations, each a translation and nothing more."""

from __future__ import annotations

from bide.beside import Conversations
from bide.model import fields
from bide.model.errors import BadRequest
from bide.model.llm.conversation import conversation_to_json
from bide.web.http import Reply
from bide.web.request import HttpRequest

_START: dict[str, fields.Kind] = {
    "cli": fields.is_text,
    "owner": fields.is_text,
    "title": fields.is_text,
    "active": fields.is_flag,
    "recorded": fields.is_flag,
}
_ACTIVATE: dict[str, fields.Kind] = dict.fromkeys(("cli", "conversation", "owner"), fields.is_text)


async def show_all(conversations: Conversations, request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/conversations`."""
    found = await conversations.list(owner=request.query.get("owner"), cli=request.query.get("cli"))
    await reply.json({"conversations": [conversation_to_json(one) for one in found]})


async def show(conversations: Conversations, request: HttpRequest, reply: Reply, which: str) -> None:
    """`GET /v1/conversations/{conversation}`."""
    await reply.json(conversation_to_json(await conversations.get(which, owner=request.query.get("owner"))))


async def start(conversations: Conversations, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/conversations`."""
    body = fields.given(request.json(), _START, "'conversations'")
    if "cli" not in body:
        raise BadRequest(detail="a conversation needs a cli, such as claude or codex")
    await reply.json(conversation_to_json(await conversations.start(**body)))


async def activate(conversations: Conversations, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/conversations/active`."""
    body = fields.given(request.json(), _ACTIVATE, "'active'")
    if "cli" not in body:
        raise BadRequest(detail="say of which cli: claude, codex, …")
    await conversations.activate(body["cli"], body.get("conversation"), owner=body.get("owner"))
    await reply.json({})


async def drop(conversations: Conversations, request: HttpRequest, reply: Reply, which: str) -> None:
    """`DELETE /v1/conversations` and `DELETE /v1/conversations/{conversation}`."""
    query = request.query
    gone = await conversations.drop(which or None, cli=query.get("cli"), owner=query.get("owner"))
    await reply.json({"dropped": gone})
