"""promptParts: one order, one prefix, one hash (235, 236, 243); one of two forms (185, 186)."""

import hashlib

import pytest

from bide.kinds.llm import known
from bide.kinds.llm.base import Installed
from bide.model.errors import BadRequest
from bide.model.llm.ask import Ask
from bide.model.llm.prompt import Parts, cache_blocks, last_stable, optimized, prompt_of

FULL = Parts("do it", system="be brief", tools="hammer", context="a wall")


@pytest.mark.parametrize(
    ("parts", "text", "prefix"),
    [
        (FULL, "be brief\n\nhammer\n\na wall\n\ndo it", "be brief\n\nhammer\n\na wall"),
        (Parts("do it"), "do it", ""),
        (Parts("do it", context="a wall"), "a wall\n\ndo it", "a wall"),
        (Parts("t", system="s", context="c"), "s\n\nc\n\nt", "s\n\nc"),
    ],
)
def test_235_parts_are_joined_in_one_order_and_empty_ones_left_out(parts: Parts, text: str, prefix: str) -> None:
    found = prompt_of(None, parts)
    assert (found.text, parts.prefix) == (text, prefix)
    assert found.prefix_hash == hashlib.sha256(prefix.encode()).hexdigest()


def test_236_the_hash_of_the_prefix_does_not_depend_on_the_task_and_does_on_the_rest() -> None:
    hashes = {prompt_of(None, Parts(task, system="s")).prefix_hash for task in ("one", "two")}
    assert len(hashes) == 1
    assert prompt_of(None, Parts("one", system="other")).prefix_hash not in hashes


def test_tokens_are_a_quarter_of_the_bytes_rounded_up() -> None:
    assert prompt_of(None, Parts("t", system="äöü")).prefix_tokens == 2
    assert prompt_of(None, Parts("t", system="12345")).prefix_tokens == 2
    assert prompt_of("no parts", None).prefix_tokens == 0


@pytest.mark.parametrize(
    ("prompt", "parts", "said"),
    [
        ("a", Parts("b"), "provide exactly one of `prompt` or `promptParts`"),
        (None, None, "one of `prompt` or `promptParts` is required"),
        ("", None, "the prompt is empty"),
        (None, Parts(""), "the task of promptParts is empty"),
        ("x" * 100_001, None, "input_too_large"),
        ("a\0b", None, "invalid_input"),
        (None, Parts("t", cached=("task",)), "cacheControl has no part 'task'"),
    ],
)
def test_185_186_what_cannot_be_sent_is_refused_in_one_sentence(
    prompt: str | None, parts: Parts | None, said: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        Ask.of("claude", prompt, parts=parts)
    assert said in str(refused.value)


def test_the_longest_prompt_is_taken() -> None:
    assert len(Ask.of("claude", "x" * 100_000).said().text) == 100_000


def test_blocks_for_claude_read_as_the_prompt_and_never_cache_the_task() -> None:
    parts = Parts("do it", system="s", context="c", cached=("system", "tools"))
    blocks = cache_blocks(parts)
    assert "".join(block["text"] for block in blocks) == parts.text
    assert ["cache_control" in block for block in blocks] == [True, False, False]
    assert blocks[0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert last_stable(parts) == "context"


def test_an_optimized_prompt_has_no_blanks_that_say_nothing() -> None:
    assert optimized("  a  \n\n\n\nb \n  c\n") == "a\n\nb\n  c"
    assert Ask.of("claude", "a   \n", optimize=True).said().text == "a"
    with pytest.raises(BadRequest, match="optimizePrompt"):
        Ask.of("claude", parts=Parts("t", system="s", cached=("system",)), optimize=True)


@pytest.mark.parametrize("prompt", ["review", "help", "resume", "fork"])
def test_199_a_prompt_that_is_the_name_of_a_command_of_codex_is_none(prompt: str) -> None:
    ask = Ask.of("codex", prompt)
    found = known.named("codex").command(ask, ask.said(), Installed("codex"))
    assert (found.words[-1], found.input) == ("-", prompt.encode())
