"""The daemon dies at every system call of what is asked of it."""

import signal
from collections.abc import Callable

from tests.crash.killer import NEVER, Killer
from tests.crash.patience import until
from tests.crash.place import Place


def sweep_daemon(
    place: Place, killer: Killer, sample: int, do: Callable[[], None], *, before: Callable[[], object] = lambda: None
) -> None:
    """Do something once for every system call that the daemon makes for it, killing the daemon there.

    `before` is done with each daemon first, and not counted.
    """

    def once(call: int) -> None:
        place.start()
        killer.plan()
        before()
        tracer = place.world.start([str(killer.program), "-p", str(place.daemon), str(call)])
        until(killer.said)
        do()
        if call == NEVER:
            place.kill_daemon()
        else:
            place.world.signal(tracer, signal.SIGKILL)
            until(lambda: place.world.status(tracer) is not None)

    once(NEVER)
    for point in killer.points(sample):
        once(point)
