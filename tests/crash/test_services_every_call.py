"""The daemon killed at the system calls it makes while a service ends and is started again."""

import secrets
from pathlib import Path

from tests.crash.killer import Killer
from tests.crash.patience import until
from tests.crash.place import Json, Place
from tests.crash.sweeping import sweep_daemon

ONCE = "echo . >> $0; test $(wc -l < $0) -gt 1 && exec sleep 1000; exit 1"


def test_the_daemon_may_die_at_every_system_call_of_a_restart(place: Place, killer: Killer, tmp_path: Path) -> None:
    def runs(name: str) -> list[Json]:
        return place.call("GET", "/v1/jobs", name=name)["jobs"]

    def once() -> None:
        name = f"web-{secrets.token_hex(4)}"
        starts = tmp_path / name
        service = {"restart": "always", "restarts": 1}
        place.submit(["sh", "-c", ONCE, str(starts)], name=name, service=service)
        until(lambda: [job["phase"] for job in runs(name)] == ["running", "ended"])
        assert [job["service"]["run"] for job in runs(name)] == [1, 0]
        # A job runs before its program has written its first line.
        until(lambda: starts.read_text() == ".\n.\n")
        place.call("POST", f"/v1/jobs/{name}/kill", {"grace_ms": 0, "signal": 9})
        assert len(runs(name)) == 2

    sweep_daemon(place, killer, 6, once)
