"""The example agent, run as its readers run it."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"


def test_the_example_agent_races_two_is_asked_about_the_loser_and_told_of_it_in_the_next_turn() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split("turn 2\n")
    assert first.startswith("tools: ['crate_search', 'github_search', 'await']\n")
    raced = next(line for line in first.splitlines() if line.startswith("  model hears: await:"))
    assert '"completed": [{"id": "crates", "state": "stopped", "result": "tokio, async-std (async runtime)"}]' in raced
    assert '"pending": [{"id": "github", "state": "' in raced
    assert "model is asked about: ['github']" in first
    assert '"id": "github", "state": "running", "timed_out": true' in first
    assert "And?" in second
    assert '"id": "github", "state": "stopped", "result": "smol for async runtime\\n"' in second
    assert "The code search found smol." in second
