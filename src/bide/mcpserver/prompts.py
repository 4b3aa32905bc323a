"""Workflows that people repeat, ready to be asked for by name. Nothing here knows the protocol."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Prompt(Struct, frozen=True):
    """A text with places to fill."""

    name: str
    description: str
    places: Mapping[str, str]
    text: str
    toolset: str = "core"
    """Its tools are what the text speaks of."""

    def filled(self, given: Mapping[str, str]) -> str:
        """The text with the caller's words in it."""
        return self.text.format_map({place: given.get(place, "") for place in self.places})


PROMPTS = (
    Prompt(
        "parallel_checks",
        "Run checks side by side and report on all of them",
        {"checks": "the commands, one per line"},
        "Run each of these commands with bide's run tool, background true, each with a short name:\n{checks}\n"
        "Then make one await call for all of them. Do not poll. Report which passed and which failed; for each failure quote the lines "
        "that show why (use logs with grep where the answer left them out).",
    ),
    Prompt(
        "watch_server",
        "Start a dev server, wait until it is ready, and keep an eye on it",
        {"command": "how to start it", "port": "the port it listens on"},
        "Start this with bide's run tool, named 'server', with until port {port}: {command}\n"
        "When it is ready say so and go on with the work. If a later step fails because of the server, read its logs first. "
        "When the work is done, kill it and confirm that nothing of it is left.",
    ),
    Prompt(
        "second_opinion",
        "Have another program look at the work while you go on",
        {"command": "the command line of the reviewer", "question": "what it is to judge"},
        "Run this with bide's run tool in the background, named 'review', and go on with your own work meanwhile: {command}\n"
        "It is to judge: {question}\nBefore you finish, await 'review' once, weigh what it says, and tell where you disagree.",
    ),
    Prompt(
        "review_loop",
        "Have several LLMs review the work until they approve",
        {"what": "what to review", "clis": "the reviewers, such as claude, codex, gemini"},
        "Have this reviewed with bide's llm_review by {clis}: {what}\nWhile it says running, call it again with the same reviewId. "
        "Approved with conditions is not approved, and silence is no agreement. Fix what was found and ask for the next round with the same "
        "reviewId; after round 3 tell your user what is still open. Go on without a reviewer that is missing, and say so.",
        "llm",
    ),
)
