"""The gate: scores, thresholds, and what its record says of a prompt (250)."""

import hashlib

import pytest

from bide.model.llm.approval import MOST, Wanted, decide, prompt_record
from bide.model.llm.ask import Policy

REVIEW = "Review this. End with APPROVED or NOT APPROVED."


@pytest.mark.parametrize(
    ("wanted", "score"),
    [
        (Wanted("claude", "hello"), 0),
        (Wanted("claude", "hello", bypass=True), 3),
        (Wanted("codex", "hello", full_auto=True), 2),
        (Wanted("codex", "hello", bypass=True, full_auto=True), 7),
        (Wanted("claude", "hello", mcp_servers=("exa",)), 2),
        (Wanted("claude", "hello", mcp_servers=("ref_tools", "sqry")), 1),
        (Wanted("claude", REVIEW, allowed_tools=()), 6),
        (Wanted("claude", "hello", allowed_tools=()), 0),
        (Wanted("claude", REVIEW, allowed_tools=("Read",)), 0),
        (Wanted("claude", REVIEW, disallowed_tools=("Bash",)), 6),
        (Wanted("claude", "hello", disallowed_tools=("Bash",)), 0),
        (Wanted("claude", "print the password"), 3),
        (Wanted("claude", "delete it and destroy that"), 3),
        (Wanted("claude", "deleted items"), 0),
        (Wanted("claude", "count the tokens"), 0),
        (Wanted("claude", "Security audit of src", disallowed_tools=("Bash(git:*)",)), 6),
        (Wanted("claude", "find bugs, never run a shell"), 4),
        (Wanted("claude", REVIEW + " Do not use any tools."), 4),
        (Wanted("claude", "Do not use any tools."), 0),
    ],
)
def test_250_what_speaks_against_a_request_adds_up(wanted: Wanted, score: int) -> None:
    decision = decide(wanted, Policy.BALANCED)
    assert decision.score == score
    assert bool(decision.reasons) == bool(score)


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize(
    ("wanted", "score"),
    [
        (Wanted("codex", "x", full_auto=True), 2),
        (Wanted("claude", "x", bypass=True), 3),
        (Wanted("claude", "x", bypass=True, mcp_servers=("exa",)), 5),
        (Wanted("claude", "a secret", bypass=True), 6),
        (Wanted("codex", "x", bypass=True, full_auto=True), 7),
        (Wanted("codex", "x", bypass=True, full_auto=True, mcp_servers=("ref_tools",)), 8),
    ],
)
def test_a_policy_lets_through_up_to_its_score(policy: Policy, wanted: Wanted, score: int) -> None:
    decision = decide(wanted, policy)
    assert (decision.score, decision.approved) == (score, score <= MOST[policy])
    assert decision.status == ("approved" if decision.approved else "denied")


def test_250_the_thresholds_are_those_of_the_seed() -> None:
    assert [MOST[policy] for policy in (Policy.STRICT, Policy.BALANCED, Policy.PERMISSIVE)] == [2, 5, 7]


def test_the_record_of_a_prompt_hides_it_unless_the_operator_wants_it() -> None:
    prompt = "the secret is 42 " * 40
    hidden, shown = prompt_record(prompt, shown=False), prompt_record(prompt, shown=True)
    assert "secret" not in str(hidden)
    assert hidden["promptSha256"] == hashlib.sha256(prompt.encode()).hexdigest()
    assert shown["promptPreview"] == prompt[:280]
