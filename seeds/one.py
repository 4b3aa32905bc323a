"""Run one check in a folder and print its result as JSON: `python -m seeds.one NUMBER FOLDER`."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from seeds.registry import Skip, load
from seeds.trial import Trial, brief


def run(number: int, folder: Path) -> dict[str, object]:
    """Run the check of a number."""
    trial = Trial(folder)
    trace = ""
    try:
        load()[number].work(trial)
    except Skip as skip:
        return {"result": "skip", "evidence": str(skip), "broken": []}
    except Exception as error:
        trace = traceback.format_exc()
        trial.fault(f"{type(error).__name__}: {brief(str(error), 300)}")
    finally:
        trial.close()
    claims = trial.claims
    evidence = "; ".join(claims.broken or claims.held) or "the check claimed nothing"
    return {"result": claims.result, "evidence": evidence, "broken": claims.broken, "held": claims.held, "trace": trace}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), Path(sys.argv[2]))), flush=True)
