"""Run as a program by `bide doctor` where no daemon runs: prints, as JSON, what would enforce the limits of a home's jobs."""

from __future__ import annotations

import json
import os
import sys

from bide.keeper.place import find


def main() -> None:
    """Look, say, and leave nothing behind."""
    home = sys.argv[1]
    while not os.path.isdir(home):
        home = os.path.dirname(home)
    place = find(home)
    print(json.dumps(place.to_json()))  # noqa: T201 - that is its answer
    if place.nursery is not None:
        place.nursery.close()


if __name__ == "__main__":
    main()
