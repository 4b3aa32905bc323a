"""Stands for each LLM command line: refuses what the real one would, says what it was started with, speaks its format.

What it is, is its name; what it does, FAKE_MODE: `ok`, `slow` (says something, then waits for FAKE_GATE), `silent` (waits
without a word), `flood`, `crash`, `linger` (stays after its result), `limited`, `loggedout`, `empty`, `wrong` (leaves with
3 after a good result), `error` (leaves with 0 after a bad one), `late` (writes when it is told to end), `garbage`, `flaky` (the
line fails for the first FAKE_FAILURES starts, with FAKE_STATUS), `halfway` (the line fails after a tool was used), `nomodel` (it knows
no model but its own), `busy` (computes for ever).
FAKE_LOG is a file that gets one line of JSON for each start. FAKE_MODE_CODEX is for codex alone, and FAKE_SAY_CODEX what it answers.
"""

import json
import os
import signal
import sys

NAME = os.path.basename(sys.argv[0])
MODE = os.environ.get(f"FAKE_MODE_{NAME.upper()}") or os.environ.get("FAKE_MODE", "ok")
WITH_VALUE = {
    "claude": "--model --output-format --input-format --permission-mode --mcp-config --agent --agents --system-prompt "
    "--append-system-prompt --max-budget-usd --max-turns --effort --fallback-model --json-schema --add-dir --resume",
    "codex": "--model --sandbox --ask-for-approval -C --add-dir --output-schema --profile -c",
    "gemini": "-p --model --approval-mode --allowed-tools --allowed-mcp-server-names --include-directories -o --resume",
    "grok": "-p --single --prompt-file --model --output-format --effort --tools --max-turns --cwd --resume",
    "vibe": "--output --agent --effort --max-turns --max-price --workdir --add-dir --resume --enabled-tools",
}
ALONE = {
    "claude": "-p --include-partial-messages --verbose --strict-mcp-config --fork-session --continue",
    "codex": "--json --skip-git-repo-check --last --ephemeral --search --dangerously-bypass-approvals-and-sandbox",
    "gemini": "-s --skip-trust",
    "grok": "--always-approve --continue",
    "vibe": "--trust --continue",
}
MANY = ("--allowed-tools", "--disallowed-tools")


def parse(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The flags with their values, and the other words; leaves with 2 where the real one would."""
    valued, alone = WITH_VALUE[NAME].split(), ALONE[NAME].split()
    more = os.environ.get("FAKE_FLAGS", "").split()
    valued, alone = valued + more, alone + more
    found: dict[str, list[str]] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        flag, sign, value = word.partition("=")
        if word in MANY or (NAME == "vibe" and word == "-p"):
            found[word] = taken(queue, most=1 if word == "-p" else 99)
        elif sign and flag in ("--prompt", "--single", "--image"):
            found.setdefault(flag, []).append(value)
        elif word in valued and queue and not queue[0].startswith("-"):
            found.setdefault(word, []).append(queue.pop(0))
        elif word in alone:
            found[word] = []
        elif word.startswith("-") and word != "-":
            sys.stderr.write(f"error: unexpected argument '{word}'\n")
            sys.exit(2)
        else:
            rest.append(word)
    return found, rest


def taken(queue: list[str], most: int) -> list[str]:
    """The words that follow a flag, up to the next one."""
    found: list[str] = []
    while queue and len(found) < most and not queue[0].startswith("-"):
        found.append(queue.pop(0))
    return found


def prompt(flags: dict[str, list[str]], rest: list[str], stdin: str) -> str:
    """What the real one would take for the prompt."""
    if NAME == "claude":
        return rest[0] if rest else stdin
    if NAME == "codex":
        return stdin if rest[-1] == "-" else rest[-1]
    if "--prompt-file" in flags:
        return stdin
    return next((flags[flag][0] for flag in ("-p", "--prompt", "--single") if flags.get(flag)), stdin)


def say(*events: object) -> None:
    for event in events:
        sys.stdout.write(json.dumps(event, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def begin(session: str) -> None:
    if NAME == "claude":
        say({"type": "system", "subtype": "init", "session_id": session, "model": "claude-sonnet-fake"})
    elif NAME == "codex":
        say({"type": "thread.started", "thread_id": session}, {"type": "turn.started"})
    elif NAME == "gemini":
        say({"type": "init", "session_id": session, "model": "gemini-fake"})
    elif NAME == "grok":
        say({"type": "thought", "data": "hm"})
    else:
        say({"role": "user", "content": "…", "session_id": session})


def end(text: str, session: str, error: str = "") -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}
    if NAME == "claude":
        message = {"role": "assistant", "model": "claude-sonnet-fake", "content": [{"type": "text", "text": text}]}
        say(
            {"type": "assistant", "message": message},
            {
                "type": "result",
                "subtype": "success",
                "is_error": bool(error),
                "result": error or text,
                "session_id": session,
                "num_turns": 1,
                "total_cost_usd": 0.01,
                "usage": usage,
            },
        )
    elif NAME == "codex":
        done = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 5}
        say({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": text}})
        say(
            {"type": "turn.failed", "error": {"message": error}} if error else {"type": "turn.completed", "usage": done}
        )
    elif NAME == "gemini":
        say({"type": "message", "role": "assistant", "content": text, "delta": True})
        stats = {"input_tokens": 10, "output_tokens": 5, "cached": 4}
        how = {"status": "error", "error": {"message": error}} if error else {"status": "success"}
        say({"type": "result", "stats": stats, **how})
    elif NAME == "grok":
        say({"type": "text", "data": text})
        how = {"type": "error", "message": error} if error else {"type": "end", "stopReason": "EndTurn"}
        say({**how, "sessionId": session, "num_turns": 1, "usage": usage, "total_cost_usd": 0.01})
    else:
        say({"role": "assistant", "content": error or text, "session_id": session})


def hold() -> None:
    """Wait until the test opens the gate, or for ever."""
    while MODE == "busy":
        pass
    gate = os.environ.get("FAKE_GATE")
    if gate:
        fd = os.open(gate, os.O_RDONLY)
        while os.read(fd, 1) != b"\n":
            pass
    else:
        signal.pause()


def late(_number: int, _frame: object) -> None:
    os.write(1, b"last words\n")
    sys.exit(143)


def fail(session: str) -> int:
    words = {
        "limited": "Usage limit reached. Try again at 3pm",
        "loggedout": "Invalid API key · Please run /login",
        "crash": "something broke",
        "flaky": "read ECONNRESET",
        "halfway": "read ECONNRESET",
    }[MODE]
    if MODE == "halfway":
        used = {"type": "tool_use", "id": "t", "name": "Bash"}
        say({"type": "assistant", "message": {"role": "assistant", "content": [used]}})
    if MODE not in ("crash", "flaky"):
        end("", session, words)
    sys.stderr.write(f"Error: {words}\n")
    return {"crash": 70, "flaky": int(os.environ.get("FAKE_STATUS", "1"))}.get(MODE, 1)


def is_down() -> bool:
    """Whether the line fails this time."""
    with open(os.environ["FAKE_LOG"], encoding="utf-8") as log:
        return MODE == "flaky" and len(log.readlines()) <= int(os.environ.get("FAKE_FAILURES", "1"))


def refuse_model(model: str) -> int:
    words = {
        "claude": f"There's an issue with the selected model ({model}). It may not exist or you may not have access to it.",
        "codex": f"The '{model}' model is not supported when using Codex with a ChatGPT account.",
        "gemini": "ModelNotFoundError: Requested entity was not found.",
        "grok": f"Unknown model: {model}",
        "vibe": f"Active model '{model}' not found in configuration.",
    }[NAME]
    sys.stderr.write(f"Error: {words}\n")
    return 1


def act(text: str, session: str) -> int:
    if MODE in ("limited", "loggedout", "crash", "halfway") or is_down():
        return fail(session)
    if MODE in ("silent", "busy"):
        hold()
    if MODE == "empty":
        return 0
    begin(session)
    if MODE in ("slow", "late"):
        signal.signal(signal.SIGTERM, late if MODE == "late" else signal.SIG_DFL)
        say({"type": "ready"})
        hold()
    if MODE == "garbage":
        sys.stdout.write('not json\n{"half\n')
    while MODE == "flood":
        sys.stdout.write("x" * 65536)
    end(text, session, "it did not work" if MODE == "error" else "")
    if MODE == "linger":
        hold()
    return 3 if MODE == "wrong" else 0


def main() -> int:
    words = sys.argv[1:]
    if words == ["--version"]:
        sys.stdout.write(f"{NAME} {os.environ.get('FAKE_VERSION', '1.2.3')}\n")
        return 0
    if words[-1:] == ["--help"]:
        sys.stdout.write(f"{WITH_VALUE[NAME]} {ALONE[NAME]} {os.environ.get('FAKE_FLAGS', '')}\n")
        return 0
    if words in (["auth", "status"], ["login", "status"]):
        return 1 if MODE == "loggedout" else 0
    first = words.pop(0) if NAME == "codex" else "exec"
    flags, rest = parse(words)
    if first != "exec" or (NAME == "codex" and rest[:1] in (["review"], ["help"])):
        return 2
    resumed = NAME == "codex" and rest[:1] == ["resume"] and bool(rest.pop(0))
    stdin = sys.stdin.buffer.read().decode()
    session = (flags.get("--resume") or ([rest[0]] if resumed and len(rest) > 1 else []) or ["c-1"])[0]
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
        env = {
            key: os.environ[key] for key in ("VIBE_ACTIVE_MODEL", "CLAUDECODE", "CI", "NO_COLOR") if key in os.environ
        }
        entry = {"cli": NAME, "argv": sys.argv[1:], "stdin": stdin, "env": env, "cwd": os.getcwd(), "pid": os.getpid()}
        log.write(json.dumps(entry) + "\n")
    model = flags.get("--model", [os.environ.get("VIBE_ACTIVE_MODEL", "")])[0]
    said = os.environ.get(f"FAKE_SAY_{NAME.upper()}") or f"you said: {prompt(flags, rest, stdin)[:200]}"
    return refuse_model(model) if MODE == "nomodel" and model else act(said, session)


sys.exit(main())
