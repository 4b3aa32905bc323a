"""python -m bide.daemon --home DIR: what clients start when no daemon answers."""

from bide.daemon.main import main

if __name__ == "__main__":
    main()
