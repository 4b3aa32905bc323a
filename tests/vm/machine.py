"""A machine that can be used, restarted, and whose power can be cut."""

import os
import random
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from tests.vm.disk import Cut, Disk
from tests.vm.image import CONTROL_PORT, READY, Image

BOOT_SECONDS = 240.0
"""How long a machine may take until one can log in. It takes 25 s on two free cores."""
COMMAND_SECONDS = 120.0
_nothing = threading.Event()

Done = subprocess.CompletedProcess[str]

_KERNEL = "root=/dev/vda rw console=ttyS0 quiet mitigations=off nowatchdog net.ifnames=0 fsck.mode=skip systemd.show_status=0 panic=5 no_timer_check"
_SSH = (
    "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
    "-o", "ConnectTimeout=60", "-o", "GSSAPIAuthentication=no",
)  # fmt: skip
_TIED = ("setpriv", "--pdeathsig", "KILL")
"""What begins so ends with the thread that started it, however that ends."""


def pause(seconds: float) -> None:
    """Let time pass."""
    _nothing.wait(seconds)


class Machine:
    """One machine on one disk. Use it as a context: nothing is left when that ends."""

    def __init__(self, image: Image, folder: Path, home: str) -> None:
        self.image = image
        self.folder = folder
        self.socket = folder / "bide.sock"
        """Here, the socket of the daemon over there."""
        self._home = home
        self._console = folder / "console"
        self._seen = 0
        self._disk_address = folder / "disk.sock"
        self._disk = Disk(image.disk, self._disk_address)
        self._qemu: subprocess.Popen[bytes] | None = None
        self._control: subprocess.Popen[bytes] | None = None
        self.port, self._control_port = _free_ports(2)
        self.boots: list[float] = []
        """Seconds from power on, or from the request to restart, until one could log in."""

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        self._die()
        self._disk.close()

    # Power.

    def boot(self) -> None:
        """Switch it on, and return when one can log in."""
        began = time.monotonic()
        self._console.write_bytes(b"")
        self._seen = 0
        self._qemu = subprocess.Popen(
            [
                *_TIED, "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off,svm=off", "-smp", "2",
                "-m", "1024", "-nodefaults", "-no-user-config", "-display", "none", "-kernel", str(self.image.kernel),
                "-initrd", str(self.image.initrd), "-append", _KERNEL, "-serial", f"file:{self._console}",
                "-blockdev", f"driver=nbd,node-name=disk,server.type=unix,server.path={self._disk_address}",
                "-device", "virtio-blk-pci,drive=disk,write-cache=on", "-device", "virtio-rng-pci",
                "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22,"
                f"hostfwd=tcp:127.0.0.1:{self._control_port}-:{CONTROL_PORT}",
                "-device", "virtio-net-pci,netdev=net,romfile=",
            ],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self._come_up(began)

    def cut(self, kept: float, choice: random.Random) -> Cut:
        """Cut the power. This part (0 to 1) of what its disk has not been told to flush survives."""
        self.die_now()
        self._die()
        return self._disk.cut(kept, choice)

    def die_now(self) -> None:
        """Stop it between two instructions; may be called from any thread, before `cut`."""
        if self._qemu is not None:
            self._qemu.kill()

    def restart(self) -> None:
        """Restart it in order, and return when one can log in again."""
        began = time.monotonic()
        self.run("systemctl --no-block reboot")
        self._hang_up()
        self._come_up(began)

    def _come_up(self, began: float) -> None:
        self._wait_for_console(began)
        self.socket.unlink(missing_ok=True)
        forward = f"{self.socket}:{self._home}/bide.sock"
        self._control = subprocess.Popen(
            [*_TIED, "ssh", *_SSH, "-N", "-M", "-S", str(self._master), "-i", str(self.image.key), "-p", str(self._control_port),
             "-o", "ExitOnForwardFailure=yes", "-L", forward, "root@127.0.0.1"],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        while not (self._master.exists() and self.socket.exists()):
            assert self._control.poll() is None, "ssh does not reach the machine"
            pause(0.05)
        self.boots.append(time.monotonic() - began)

    def _wait_for_console(self, began: float) -> None:
        assert self._qemu is not None
        while True:
            said = self._console.read_text(errors="replace")
            if (place := said.find(READY, self._seen)) >= 0:
                self._seen = place + len(READY)
                return
            assert self._qemu.poll() is None, f"the emulator ended with {self._qemu.returncode}"
            assert time.monotonic() - began < BOOT_SECONDS, (
                f"it does not come up; its console ends with:\n{said[-3000:]}"
            )
            pause(0.1)

    def _die(self) -> None:
        self._hang_up()
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
            self._qemu = None

    def _hang_up(self) -> None:
        if self._control is not None:
            self._control.kill()
            self._control.wait()
            self._control = None
        for left in (self._master, self.socket):
            with suppress(FileNotFoundError):
                left.unlink()

    @property
    def _master(self) -> Path:
        return self.folder / "control"

    # Commands.

    def run(
        self, command: str, *, check: bool = True, within: float = COMMAND_SECONDS, data: bytes | None = None
    ) -> str:
        """Run a shell command as root, outside any login session, and return what it says."""
        done = subprocess.run(
            ["ssh", "-S", str(self._master), "root@vm", command],
            input=data if data is not None else b"", capture_output=True, check=False, timeout=within,
        )  # fmt: skip
        said = done.stdout.decode(errors="replace")
        assert not check or done.returncode == 0, (
            f"{command}: {done.returncode}\n{said}{done.stderr.decode(errors='replace')}"
        )
        return said

    def status(self, command: str, *, within: float = COMMAND_SECONDS) -> tuple[int, str]:
        """Run a shell command as root, outside any login session; return its exit status, and what it says on both streams."""
        done = subprocess.run(
            ["ssh", "-S", str(self._master), "root@vm", f"({command}) 2>&1"],
            stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=within,
        )  # fmt: skip
        return done.returncode, done.stdout.decode(errors="replace")

    def login(self, user: str, command: str, *, check: bool = True, within: float = COMMAND_SECONDS) -> Done:
        """Log in by ssh as a person does, run a shell command, and log out."""
        done = subprocess.run(
            ["ssh", *_SSH, "-S", "none", "-i", str(self.image.key), "-p", str(self.port), f"{user}@127.0.0.1", command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False, timeout=within,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def put(self, text: str, place: str) -> None:
        """Write a file over there."""
        self.run(f"cat > {place}", data=text.encode())


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    try:
        return [it.getsockname()[1] for it in sockets]
    finally:
        for it in sockets:
            it.close()


def size_of(folder: Path) -> int:
    """Bytes that a folder takes on disk."""
    return sum(
        entry.stat().st_blocks * 512 for entry in folder.rglob("*") if not entry.is_symlink() and os.path.lexists(entry)
    )
