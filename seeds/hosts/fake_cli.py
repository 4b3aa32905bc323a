"""Play an LLM command line: `fake_cli.py NAME FOLDER ARGS...`. It keeps what it was given in FOLDER/calls.jsonl and does what the prompt says.

A prompt may hold directives, `[[sleep=2 exit=3 say=hello]]`; `_` in a value stands for a blank and `|` for a line's end.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

HELP = {
    "claude": "-p --print --model --output-format --input-format --include-partial-messages --verbose --allowed-tools --allowedTools"
    " --disallowed-tools --disallowedTools --permission-mode --mcp-config --strict-mcp-config --agent --agents --fork-session"
    " --system-prompt --append-system-prompt --max-budget-usd --max-turns --effort --exclude-dynamic-system-prompt-sections"
    " --fallback-model --json-schema --add-dir -c --continue -r --resume --session-id --dangerously-skip-permissions",
    "codex": "exec resume --last -m --model -s --sandbox -a --ask-for-approval --full-auto --dangerously-bypass-approvals-and-sandbox --json"
    " --skip-git-repo-check -C --cd --add-dir --output-schema --search -p --profile -c --config --ephemeral -i --image"
    " --ignore-user-config --ignore-rules",
    "gemini": "-p --prompt -m --model --approval-mode -y --yolo --allowed-tools --allowed-mcp-server-names --include-directories"
    " -s --sandbox --policy --admin-policy -o --output-format --skip-trust -r --resume",
    "grok": "-p --single -m --model --output-format --always-approve --permission-mode --effort --reasoning-effort --tools"
    " --disallowed-tools --max-turns --cwd --sandbox --rules --system-prompt-override --allow --deny -r --resume -c --continue",
    "vibe": "-p --prompt --output --agent --effort --reasoning-effort --enabled-tools --disabled-tools --trust --max-turns --max-price"
    " --max-tokens --workdir --add-dir --resume -c --continue --version --auto-approve",
}
OTHERS = ("update", "upgrade", "install", "login", "auth", "whoami")
MODEL = "fake-model"
USAGE = {"input_tokens": 1000, "output_tokens": 20}


def directives(text: str) -> dict[str, str]:
    """Return what the prompt asks for."""
    found = re.findall(r"\[\[(.*?)\]\]", text, re.DOTALL)
    return dict(word.split("=", 1) for one in found for word in one.split() if "=" in word)


def emit(line: Any) -> None:
    """Write a line to stdout."""
    sys.stdout.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    sys.stdout.flush()


def session_of(args: list[str]) -> str:
    """Return the conversation that is gone on with, or a new one."""
    for flag in ("--resume", "--session-id", "-r"):
        if flag in args:
            return args[args.index(flag) + 1]
    if "resume" in args and "--last" not in args:
        return args[-2]
    return str(uuid.uuid4())


def form_of(args: list[str]) -> str:
    """Return the format that the flags name."""
    for flag in ("--output-format", "--output", "-o"):
        if flag in args:
            return args[args.index(flag) + 1]
    return "json" if "--json" in args else "text"


def claude(form: str, session: str, say: str, do: dict[str, str]) -> list[Any]:
    """Return the lines of Claude Code's answer."""
    cached = {
        "cache_read_input_tokens": int(do.get("cread", 0)),
        "cache_creation_input_tokens": int(do.get("ccreate", 0)),
    }
    result = {"type": "result", "subtype": "success", "is_error": do.get("bad") == "1", "result": say}
    result |= {"session_id": session, "total_cost_usd": 0.0125, "num_turns": 2, "usage": USAGE | cached}
    if form == "json":
        return [result]
    text = {"role": "assistant", "model": MODEL, "content": [{"type": "text", "text": say}]}
    return [
        {"type": "system", "subtype": "init", "session_id": session, "model": MODEL},
        {"type": "assistant", "session_id": session, "message": text},
        result,
    ]


def codex(_: str, session: str, say: str, do: dict[str, str]) -> list[Any]:
    """Return the lines of Codex's answer."""
    return [
        {"type": "thread.started", "thread_id": session},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": say}},
        {"type": "turn.completed", "usage": USAGE | {"cached_input_tokens": int(do.get("cread", 0))}},
    ]


def gemini(form: str, session: str, say: str, _: dict[str, str]) -> list[Any]:
    """Return the lines of Gemini CLI's answer."""
    if form == "json":
        return [{"session_id": session, "response": say, "stats": {"models": {}}}]
    return [
        {"type": "init", "session_id": session, "model": MODEL},
        {"type": "message", "role": "assistant", "content": say, "delta": True},
        {"type": "result", "status": "success", "stats": USAGE | {"total_tokens": 1020, "cached": 0}},
    ]


def grok(form: str, session: str, say: str, _: dict[str, str]) -> list[Any]:
    """Return the lines of Grok Build's answer."""
    end = {"stopReason": "EndTurn", "sessionId": session, "requestId": "r1"}
    return [{"text": say, **end}] if form == "json" else [{"type": "text", "data": say}, {"type": "end", **end}]


def vibe(form: str, _: str, say: str, __: dict[str, str]) -> list[Any]:
    """Return the lines of Mistral Vibe's answer."""
    message = {"role": "assistant", "content": say}
    return [[message]] if form == "json" else [message]


CLIS = {"claude": claude, "codex": codex, "gemini": gemini, "grok": grok, "vibe": vibe}


def tell(name: str, args: list[str], do: dict[str, str]) -> None:
    """Write the answer in the format that the flags name."""
    say = do.get("say", f"{name} says hello").replace("_", " ").replace("|", "\n")
    form = form_of(args)
    if form in ("text", "plain"):
        emit(say)
        return
    for line in CLIS[name](form, session_of(args), say, do):
        emit(line)


def told_of_itself(name: str, folder: str, args: list[str]) -> bool:
    """Answer what is no request: version, help, login, upgrade."""
    if args[-1:] == ["--version"]:
        emit({"claude": "2.1.325 (Claude Code)", "codex": "codex-cli 0.166.0"}.get(name, f"{name} 1.2.3"))
    elif "--help" in args or "-h" in args:
        emit("\n".join(f"  {flag}" for flag in HELP[name].split()))
    elif args[:1] and args[0] in OTHERS:
        with Path(folder, "others.jsonl").open("a") as file:
            file.write(json.dumps({"cli": name, "argv": args}) + "\n")
    else:
        return False
    return True


def record(name: str, folder: str, args: list[str], stdin: str) -> int:
    """Keep what it was given; return how often it was called with these words."""
    kept: dict[str, Any] = {"cli": name, "argv": args, "stdin": stdin, "cwd": str(Path.cwd()), "pid": os.getpid()}
    kept |= {"at": time.time(), "env": dict(os.environ)}
    for flag in ("--output-schema", "--mcp-config"):
        path = Path(args[args.index(flag) + 1]) if flag in args else None
        if path is not None and path.exists():
            kept[flag] = {"path": str(path), "text": path.read_text(), "mode": oct(path.stat().st_mode & 0o777)}
    calls = Path(folder, "calls.jsonl")
    with calls.open("a") as file:
        file.write(json.dumps(kept) + "\n")
    return sum(1 for line in calls.read_text().splitlines() if json.loads(line)["argv"] == args)


def prepare(do: dict[str, str]) -> None:
    """Set what a SIGTERM does, and start a child."""

    def farewell(*_: object) -> None:
        time.sleep(0.3)
        emit(do["late"].replace("_", " ") * int(do.get("times", 1)))
        os._exit(0)

    if "late" in do:
        signal.signal(signal.SIGTERM, farewell)
    if do.get("deaf") == "1":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in do:
        subprocess.Popen(["sleep", do["child"]])


def speak(do: dict[str, str]) -> None:
    """Write what comes before the answer."""
    if "err" in do:
        sys.stderr.write(do["err"].replace("_", " ") + "\n")
        sys.stderr.flush()
    if "partial" in do:
        emit(do["partial"].replace("_", " "))
    left, line = int(do.get("flood", 0)), b"x" * 65535 + b"\n"
    while left > 0:
        os.write(2 if do.get("flooderr") == "1" and left % 131072 < 65536 else 1, line)
        left -= len(line)


def pass_time(do: dict[str, str]) -> None:
    """Sleep, and meanwhile write a little if that is asked for."""
    until = time.monotonic() + (10**6 if do.get("hang") == "1" else float(do.get("sleep", 0)))
    while (rest := until - time.monotonic()) > 0:
        time.sleep(min(rest, float(do.get("tick", 1))))
        if "tick" in do and do.get("on") == "out":
            emit({"type": "tick"})
        elif "tick" in do:
            sys.stderr.write(".")
            sys.stderr.flush()


def main() -> int:
    """Do what the words and the prompt say."""
    name, folder, *args = sys.argv[1:]
    if told_of_itself(name, folder, args):
        return 0
    stdin = "" if sys.stdin.isatty() else sys.stdin.read()
    do = directives("\n".join([*args, stdin]))
    count = record(name, folder, args, stdin)
    prepare(do)
    speak(do)
    pass_time(do)
    if "signal" in do:
        os.kill(os.getpid(), int(do["signal"]))
    if "exit" in do and count > int(do.get("fails", -1)) >= 0:
        del do["exit"]
    if "exit" not in do and do.get("silent") != "1":
        tell(name, args, do)
    return int(do.get("exit", 0))


if __name__ == "__main__":
    sys.exit(main())
