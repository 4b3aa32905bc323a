"""Check every numbered behaviour of the documents behind bide against the installed program.

The checks know the documents, the README and docs/ only. They reach bide as its users do: through `bide` on PATH, MCP on stdio and HTTP, and
import nothing of it. What only a program that embeds bide can reach is done by the small programs in `hosts/`, which the checks start.
"""
