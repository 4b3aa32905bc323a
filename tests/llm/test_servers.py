"""MCP servers that a request names (192)."""

import json

import pytest

from bide.kinds.llm.servers import with_servers
from bide.model.errors import BadRequest
from bide.model.llm.ask import Ask


def test_192_a_cli_is_told_of_the_mcp_servers_that_are_described() -> None:
    described = {"sqry": "sqry mcp --root '/a b'", "broken": "'"}

    def options(cli: str, *names: str, **given: object) -> tuple[object, list[str]]:
        ask, notes = with_servers(Ask.of(cli, "hi", mcp_servers=names, options=given), described)
        return dict(ask.options), [note.code for note in notes]

    server = {"mcpServers": {"sqry": {"command": "sqry", "args": ["mcp", "--root", "/a b"]}}}
    assert options("claude", "sqry") == ({"mcp_config": json.dumps(server, sort_keys=True)}, [])
    assert options("claude", "sqry", mcp_config="mine.json") == ({"mcp_config": "mine.json"}, ["mcp_server_ignored"])
    told = ["a=1", 'mcp_servers.sqry.command="sqry"', 'mcp_servers.sqry.args=["mcp", "--root", "/a b"]']
    assert options("codex", "sqry", config=["a=1"]) == ({"config": told}, [])
    assert options("gemini", "sqry", "exa") == ({"allowed_mcp_server_names": ["sqry", "exa"]}, [])
    assert options("grok", "sqry") == ({}, ["mcp_server_ignored"])
    assert options("claude", "exa") == ({}, ["mcp_server_ignored"])
    assert options("claude") == ({}, [])
    for cli, wanted in (("claude", 1), ("codex", 1), ("gemini", 0), ("grok", 0)):
        default = Ask.of(cli, "hi", mcp_servers=("sqry", "exa"), mcp_optional=True)
        ask, notes = with_servers(default, described)
        assert (len(ask.options), notes) == (wanted, [])
        assert "exa" not in str(ask.options)
        assert with_servers(default, {})[0].options == {}
    for names, said in ((("a b",), "cannot be an MCP server"), (("broken",), "cannot be read")):
        with pytest.raises(BadRequest, match=said):
            options("claude", *names)
