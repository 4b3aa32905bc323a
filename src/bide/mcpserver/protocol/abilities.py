"""The SDK's server, and what it tells each era that it can do."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from bide.mcpserver.protocol.forms import CAPABILITY
from bide.mcpserver.tool import Caller


class Served(Server[Caller]):
    """The low-level server; to clients of the handshake it says what the SDK has no words for."""

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """Tasks are a capability of its own in 2025-11-25, and an extension after that. Prompts never change."""
        if protocol_version in MODERN_PROTOCOL_VERSIONS:
            found = super().get_capabilities(
                notification_options, experimental_capabilities, extensions, protocol_version=protocol_version
            )
            return found.model_copy(update={"prompts": types.PromptsCapability(list_changed=False)})
        told = NotificationOptions(resources_changed=True, tools_changed=True)
        found = super().get_capabilities(told, experimental_capabilities, {})
        return found.model_copy(update={"tasks": CAPABILITY, "extensions": None})
