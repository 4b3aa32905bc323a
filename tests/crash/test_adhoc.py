from pathlib import Path
from tests.crash.place import Place
from tests.crash.producing import Gate, Producers, check_all
from bide.model.errors import BideError
from tests.crash.patience import until


class Poor(Place):
    @property
    def command(self) -> list[str]:
        return ["sh", "-c", 'ulimit -n 100; exec "$@"', "sh", *super().command]


def test_few_descriptors(tmp_path: Path, producers: Producers, gate: Gate) -> None:
    place = Poor(tmp_path)
    try:
        place.start()
        made, jobs, errors = [], [], []
        for i in range(60):
            one = producers.make(gate=gate.path)
            try:
                jobs.append(place.submit(one.argv))
                made.append(one)
            except BideError as error:
                errors.append((i, one.ran, str(error)))
        print(len(jobs), errors[:3], errors[-1:])
        for job in jobs[:5]:
            place.kill_keeper(job)
        gate.open()
        check_all(place, place.ends(jobs), made)
        one = producers.make()
        one.check(place, place.end(place.submit(one.argv)))
        print((place.home / "daemon.log").read_text()[-1500:])
        print([e for e in errors if e[1]])
    finally:
        place.close()
