"""The daemon as a service of systemd, by the unit that the documentation shows."""

import re
from pathlib import Path

from tests.vm.image import VENV
from tests.vm.machine import Machine

_DOCUMENT = Path("docs/behaviour.md")


def documented() -> str:
    """The [Service] section of the documentation, with the Python of the machine."""
    found = re.search(r"^    \[Service\]\n(?:    .+\n)+", _DOCUMENT.read_text(), re.MULTILINE)
    assert found is not None, f"{_DOCUMENT} shows no unit"
    lines = [line[4:] for line in found[0].splitlines()]
    return "\n".join(lines).replace("%h/bide/.venv/bin/python", f"{VENV}/bin/python") + "\n"


def install(machine: Machine) -> None:
    """Have it started with the machine, as root."""
    machine.put(f"{documented()}[Install]\nWantedBy=multi-user.target\n", "/etc/systemd/system/bide.service")
    machine.run("systemctl daemon-reload && systemctl --quiet enable --now bide")
