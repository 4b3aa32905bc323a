"""Tools that ask before they answer: each round says what is missing, and seals how far it came."""

import hashlib
import hmac
import secrets
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from tests.conformance.answers import Json, text

_KEY = secrets.token_bytes(32)


def elicit(message: str, field: str, kind: str = "string") -> Json:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sample(words: str, most: int) -> Json:
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": most}}


ROOTS: Json = {"method": "roots/list", "params": {}}
NAME = {"user_name": elicit("What is your name?", "name")}
CONFIRM = {"confirm": elicit("Please confirm", "ok", "boolean")}
CONTEXT = {"user_context": elicit("What context should the prompt use?", "context")}

ROUNDS: dict[str, tuple[list[dict[str, Json]], bool]] = {
    "test_input_required_result_elicitation": ([NAME], False),
    "test_input_required_result_sampling": (
        [{"capital_question": sample("What is the capital of France?", 100)}],
        False,
    ),
    "test_input_required_result_list_roots": ([{"client_roots": ROOTS}], False),
    "test_input_required_result_request_state": ([CONFIRM], True),
    "test_input_required_result_multiple_inputs": (
        [{**NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}],
        True,
    ),
    "test_input_required_result_multi_round": (
        [
            {"step1": elicit("Step 1: What is your name?", "name")},
            {"step2": elicit("Step 2: What is your favorite color?", "color")},
        ],
        True,
    ),
    "test_input_required_result_tampered_state": ([CONFIRM], True),
    "test_streaming_elicitation": ([NAME], False),
}
"""The rounds of each tool, and whether it seals its state."""
_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def sealed(words: str) -> str:
    return f"{words}.{hmac.new(_KEY, words.encode(), hashlib.sha256).hexdigest()}"


def unsealed(state: str) -> str:
    words = state.rpartition(".")[0]
    if not hmac.compare_digest(sealed(words).encode(), state.encode()):
        raise MCPError(code=types.INVALID_PARAMS, message="'requestState' is not what was given out")
    return words


def asked(rounds: list[dict[str, Json]], given: Json, *, seals: bool) -> Json | None:
    """What is still to be asked; `None` when everything is answered."""
    state: object = given.get("requestState")
    at = int(unsealed(state).split("-")[-1]) if isinstance(state, str) else 0
    responses: object = given.get("inputResponses")
    answered: Json = responses if isinstance(responses, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    if all(_is_answer(answered.get(key)) for key in rounds[at]):
        at += 1
    if at == len(rounds):
        return None
    found: Json = {"resultType": "input_required", "inputRequests": rounds[at]}
    return {**found, "requestState": sealed(f"round-{at}")} if seals else found


def _is_answer(value: object) -> bool:
    return isinstance(value, dict)


def name_in(given: Json) -> str:
    return str(given["inputResponses"]["user_name"]["content"]["name"])


def allowed(ctx: Any) -> dict[str, Json]:
    """One question of each kind that this client can be asked."""
    able = ctx.session.client_capabilities.model_dump(exclude_none=True)
    every = {**NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}
    return {key: one for key, one in every.items() if _NEEDS[one["method"]] in able}
