"""What a CLI's words of failure mean, where that can be told: no login, the limit is reached, no such model, the line is down."""

from __future__ import annotations

import re

from bide.model.llm.answer import Fault

_SIGNS = (
    (
        Fault.LOGIN,
        r"not (?:logged|signed) in|please (?:run )?/?(?:log ?in|sign ?in)|invalid api key|incorrect api key"
        r"|authentication[_ ](?:error|failed|required)|unauthorized|\b401\b|oauth token (?:has )?expired|api key not (?:found|set)"
        r"|set (?:an )?auth method|log ?in (?:is )?required|no (?:api key|credentials)",
    ),
    (
        Fault.USAGE_LIMIT,
        r"usage limit|rate[_ -]?limit|quota|too many requests|\b429\b|credit balance is too low|resource[_ ]exhausted"
        r"|limit (?:will )?reset|out of (?:extra )?usage|hit your limit|overloaded",
    ),
    (
        Fault.MODEL,
        r"unknown model|model[_ ]not[_ ]found|modelnotfound|issue with the selected model|unsupported model"
        r"|\bmodel:? ['\"`][^'\"`]+['\"`] (?:was |is |isn't |does )?(?:not )?(?:found|supported|exist)"
        r"|['\"`][^'\"`]+['\"`] model (?:is not supported|does not exist|was not found)",
    ),
    (
        Fault.TRANSIENT,
        r"econnreset|etimedout|econnrefused|epipe|connection (?:reset|refused|failed)|network is unreachable"
        r"|stream disconnected|failed to lookup address|enotfound|socket hang up",
    ),
)
_MEANT = tuple((fault, re.compile(pattern, re.IGNORECASE)) for fault, pattern in _SIGNS)

ADVICE = {
    Fault.LOGIN: "log in with it on this machine, or give it an API key, then ask again",
    Fault.USAGE_LIMIT: "wait until the limit resets, or ask another CLI",
    Fault.MODEL: "leave the model out for the CLI's own default, or name one that it knows",
    Fault.TRANSIENT: "ask again",
}


def meant(words: str) -> Fault:
    """The kind of failure that these words tell of."""
    return next((fault for fault, pattern in _MEANT if pattern.search(words)), Fault.CLI if words else Fault.NONE)
