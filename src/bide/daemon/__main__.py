"""python -m bide.daemon --home DIR: what clients start when no daemon answers."""

import gc

gc.disable()  # nothing of what is loaded here becomes garbage, and looking for it takes a seventh of the start

from bide.daemon.main import main  # noqa: E402

if __name__ == "__main__":
    main()
