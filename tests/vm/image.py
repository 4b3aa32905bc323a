"""A Debian 12 with systemd, sshd and bide, made from Debian's packages and the wheels of constraints.txt."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = (
    "systemd-sysv", "udev", "dbus", "dbus-user-session", "libpam-systemd", "openssh-server", "python3", "python3-venv",
    "linux-image-cloud-amd64", "initramfs-tools", "lz4", "iproute2", "procps", "kmod",
)  # fmt: skip
"""What a server has: the stock kernel and systemd, logins by ssh, a service manager for each user."""
NEEDED = {
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "qemu-system-x86_64": "qemu-system-x86",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "setpriv": "util-linux",
}
USER = "ada"
"""An ordinary user of the machine."""
VENV = "/opt/bide"
CONTROL_PORT = 2222
READY = "vm: ready"
"""What the console says when somebody can log in."""
_SIZE = 4 << 30

_INITRAMFS = {
    "etc/initramfs-tools/conf.d/small": "MODULES=list\nCOMPRESS=lz4\nFSTYPE=ext4\n",
    "etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\nvirtio_net\next4\ncrc32c_generic\n",
}
_MODULES = (
    "aesni_intel", "ghash_clmulni_intel", "sha512_ssse3", "sha256_ssse3", "sha1_ssse3", "crc32_pclmul", "crct10dif_pclmul",
    "evdev", "button", "serio_raw", "qemu_fw_cfg", "kvm_amd", "kvm_intel", "powernow_k8", "joydev", "pcspkr",
)  # fmt: skip
"""Drivers that nothing here needs. The emulated processor is slow, and each takes its time at every boot."""
_FILES = {
    "etc/hostname": "vm\n",
    "etc/hosts": "127.0.0.1 localhost vm\n",
    "etc/fstab": "/dev/vda / ext4 defaults 0 0\n",
    "etc/modprobe.d/vm.conf": "".join(f"blacklist {name}\n" for name in _MODULES),
    # A network without waiting: the address is always the same.
    "etc/systemd/system/network-static.service": (
        "[Unit]\nDefaultDependencies=no\nBefore=network.target ssh.service\nWants=network.target\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        "ExecStart=/sbin/ip link set lo up\nExecStart=/sbin/ip link set eth0 up\nExecStart=/sbin/ip address add 10.0.2.15/24 dev eth0\n"
        "[Install]\nWantedBy=sysinit.target\n"
    ),
    # The tests' own way in: without PAM it makes no login session, so that what is tested of logins is not disturbed.
    "etc/systemd/system/control.service": (
        "[Unit]\nAfter=network-static.service\n"
        f"[Service]\nType=notify\nExecStart=/usr/sbin/sshd -D -p {CONTROL_PORT} -o UsePAM=no -o PidFile=/run/control.pid\n"
        f'ExecStartPost=/bin/sh -c "echo {READY} > /dev/ttyS0"\nKillMode=process\n'
        "[Install]\nWantedBy=multi-user.target\n"
    ),
}
_MASKED = (
    "systemd-networkd.service", "systemd-networkd.socket", "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer",
    "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer", "getty@tty1.service", "serial-getty@ttyS0.service",
    "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount",
    "dev-hugepages.mount", "systemd-update-utmp.service", "modprobe@configfs.service", "modprobe@drm.service",
    "modprobe@efi_pstore.service", "modprobe@fuse.service", "modprobe@loop.service", "modprobe@dm_mod.service",
)  # fmt: skip
"""Units that nothing here needs, for the same reason."""


class Image:
    """The files that a machine is started from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk = folder / "disk.img"
        self.kernel = folder / "vmlinuz"
        self.initrd = folder / "initrd"
        self.key = folder / "key"


def missing() -> str:
    """What this machine lacks, as a sentence that says what to do; empty if nothing."""
    if os.uname().machine != "x86_64":
        return f"this starts an x86_64 machine with its stock kernel, and here is {os.uname().machine}"
    if os.geteuid() != 0:
        return "run this as root: it makes the files of a whole system, with their owners"
    lacking = sorted({package for program, package in NEEDED.items() if shutil.which(program) is None})
    return (
        f"install Debian's packages first: apt-get install --no-install-recommends {' '.join(lacking)}"
        if lacking
        else ""
    )


def build(folder: Path, *, base: Path | None = None) -> Image:
    """Make the image in a folder. With `base`, the system without bide is kept there, or taken from there."""
    image = Image(folder)
    root = (base or folder) / "root"
    if not (root / "opt").is_dir():
        root.parent.mkdir(parents=True, exist_ok=True)
        _install_debian(root)
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "vm", "-f", str(image.key))
    _configure(root, image.key.with_suffix(".pub").read_text())
    _install_bide(root, _wheels(folder / "wheels"))
    shutil.copy(next((root / "boot").glob("vmlinuz-*")), image.kernel)
    shutil.copy(next((root / "boot").glob("initrd.img-*")), image.initrd)
    with image.disk.open("wb") as file:
        file.truncate(_SIZE)
    _run("mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=1", "-d", str(root), str(image.disk))
    if base is None:
        shutil.rmtree(root)
    return image


def _install_debian(root: Path) -> None:
    hook = "; ".join(
        f'mkdir -p "$1/{Path(name).parent}"; printf %s {shlex.quote(text)} > "$1/{name}"'
        for name, text in _INITRAMFS.items()
    )
    _run(
        "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=directory", f"--include={','.join(PACKAGES)}",
        "--aptopt=Acquire::Languages \"none\"", "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
        f"--essential-hook={hook}", "bookworm", str(root),
    )  # fmt: skip


def _configure(root: Path, key: str) -> None:
    for name, text in _FILES.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    _run("chroot", str(root), "systemctl", "--quiet", "enable", "ssh", "network-static", "control")
    _run("chroot", str(root), "systemctl", "--quiet", "mask", *_MASKED)
    if not (root / "home" / USER).is_dir():
        _run("chroot", str(root), "useradd", "--create-home", "--shell", "/bin/bash", "--uid", "1000", USER)
    for home in ("root", f"home/{USER}"):
        keys = root / home / ".ssh"
        keys.mkdir(mode=0o700, exist_ok=True)
        (keys / "authorized_keys").write_text(key)
    _run("chroot", str(root), "chown", "-R", f"{USER}:{USER}", f"/home/{USER}")


def _wheels(folder: Path) -> Path:
    """Wheels of bide and of what it depends on, for the machine's Python, in the versions of constraints.txt."""
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    _run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), ".")
    platforms = [f"--platform={name}_x86_64" for name in ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "linux")]
    _run(
        *pip, "download", "--dest", str(folder), "--find-links", str(folder), "--constraint", "constraints.txt",
        "--python-version=3.11", "--only-binary=:all:", *platforms, *map(str, folder.glob("bide-*.whl")),
    )  # fmt: skip
    return folder


def _install_bide(root: Path, wheels: Path) -> None:
    inside = root / "root" / "wheels"
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(wheels, inside)
    if not (root / VENV[1:] / "bin" / "pip").exists():
        _run("chroot", str(root), "python3", "-m", "venv", VENV)
    pip = f"{VENV}/bin/pip"
    _run("chroot", str(root), pip, "install", "--quiet", "--no-index", "--find-links=/root/wheels", "bide")
    _run(
        "chroot",
        str(root),
        pip,
        "install",
        "--quiet",
        "--no-index",
        "--find-links=/root/wheels",
        "--no-deps",
        "--force-reinstall",
        "bide",
    )
    shutil.rmtree(inside)
    link = root / "usr/local/bin/bide"
    link.unlink(missing_ok=True)
    link.symlink_to(f"{VENV}/bin/bide")


def _run(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        sys.exit(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}it failed with {done.returncode}")
