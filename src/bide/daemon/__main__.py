"""python -m bide.daemon --home DIR: what clients start when no daemon answers."""

import gc

# Nearly all that is made before the first request stays: collecting in between is lost time.
gc.disable()

from bide.daemon.main import main  # noqa: E402 - its modules are part of what is made

if __name__ == "__main__":
    main()
