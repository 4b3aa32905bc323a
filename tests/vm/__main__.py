"""python -m tests.vm: boot a real machine and try on it what no test can. `--help` says how."""

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tests.vm import clock, daemon, image, logout, places, restart
from tests.vm.cuts import Cuts
from tests.vm.machine import Machine
from tests.vm.table import Table

HOME = "/root/.local/state/bide"
LIMIT_SECONDS = 30 * 60
CUTS = 20
PARTS = ("limits", "logout", "clock", "restart", "cuts")


class Stopped(Exception):
    """A signal asks to stop."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/vm", description="Try bide on a real Debian 12 with systemd, in an emulator."
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these, of {', '.join(PARTS)}")
    parser.add_argument("--cuts", type=int, default=CUTS, help="how often the power is cut (%(default)s)")
    parser.add_argument(
        "--seed", default=secrets.token_hex(4), help="repeats the choices of a run, though not its timing"
    )
    parser.add_argument(
        "--base",
        type=Path,
        metavar="DIR",
        help="keep the installed Debian there, and take it from there if it is there",
    )
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    if lacking := image.missing():
        print(f"scripts/vm: {lacking}", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, _stop)
    signal.alarm(LIMIT_SECONDS)
    folder = Path(tempfile.mkdtemp(prefix="bide-vm.", dir="/var/tmp"))
    table = Table()
    try:
        _try(given, folder, table)
    except (Stopped, KeyboardInterrupt) as why:
        table.add("run", f"ends within {LIMIT_SECONDS // 60} minutes", str(why) or "interrupted", good=False)
    finally:
        signal.alarm(0)
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"\n{table}\n\nvm: {len(table.rows)} rows, {len(table.failed)} failed; seed {given.seed}; {table.seconds:.0f} s"
    )
    return 1 if table.failed else 0


def _try(given: argparse.Namespace, folder: Path, table: Table) -> None:
    parts = given.parts or PARTS
    made = image.build(folder, base=given.base)
    table.note("the image is made")
    with Machine(made, folder, HOME) as machine:
        machine.boot()
        table.note(f"the machine is up, {machine.boots[0]:.0f} s after power on")
        if "limits" in parts:
            with table.part(places.AREA):
                places.run(machine, table)
        if "logout" in parts:
            with table.part(logout.AREA):
                logout.run(machine, table)
        daemon.install(machine)
        if "clock" in parts:
            with table.part(clock.AREA):
                clock.Clock(machine, table).run()
        if "restart" in parts:
            with table.part(restart.AREA):
                restart.run(machine, table)
        if "cuts" in parts:
            with table.part("power cut"):
                _cut(machine, table, given.cuts, given.seed)


def _cut(machine: Machine, table: Table, number: int, seed: str) -> None:
    cuts = Cuts(machine, table, seed)
    cuts.prepare()
    for count in range(1, number + 1):
        cuts.cut(count)
    cuts.finish()
    tally = cuts.tally
    seen = (
        f"{tally.given} ids and {tally.ends} ends were given out; {tally.asked_again} requests with a key were sent again; "
        f"{tally.dropped} unflushed blocks were lost; ends: {', '.join(f'{count} {reason}' for reason, count in tally.reasons.most_common())}; "
        f"{len(tally.faults)} faults"
    )
    table.add("power cut", f"{number} cuts under load", seen, good=not tally.faults)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise Stopped("the time is up" if number == signal.SIGALRM else f"stopped by {signal.Signals(number).name}")


if __name__ == "__main__":
    sys.exit(main())
