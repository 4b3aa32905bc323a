"""Fails if a type that users of the library can see is not fully known.

`pyright --verifytypes` takes every module without an underscore for public. Ours are public only as far as `bide.__all__`
leads to them; the rest is read by pyright in strict mode, which does not ask for an annotation on every attribute.
"""

import json
import subprocess
import sys
from typing import Any

PUBLIC = (
    "bide.api.",
    "bide.client.remote.",
    "bide.config.",
    "bide.doors.",
    "bide.model.",
    "bide.runtime.local.",
    "bide.version.",
)


def main() -> None:
    """Ask pyright, and say what is missing."""
    command = ["pyright", "--verifytypes", "bide", "--ignoreexternal", "--outputjson"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    symbols = json.loads(answer)["typeCompleteness"]["symbols"]
    public = [s for s in symbols if s["isExported"] and (s["name"].startswith(PUBLIC) or s["name"].count(".") == 1)]
    faults = [s for s in public if s["isTypeAmbiguous"] or not s["isTypeKnown"]]
    if not public or faults:
        sys.exit("\n".join([f"{len(faults)} of {len(public)} public types are not fully known:", *map(line, faults)]))
    sys.stdout.write(f"{len(public)} public types, all known\n")


def line(symbol: dict[str, Any]) -> str:
    """One symbol, with what pyright says of it."""
    words = [found["message"] for found in symbol["diagnostics"]] or ["a part of it is not known"]
    return f"  {symbol['name']}: {'; '.join(words)}"


main()
