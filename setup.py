"""Compiles what is written in C, the keeper and the scanner of output, into the package; everything else about the build is in pyproject.toml."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Command, Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build

SOURCES = Path("src/bide/keeper/c")
PROGRAM = Path("bide/keeper/bide-keeper")
SCANNER_SOURCES = Path("src/bide/excerpts/c")
SCANNER = Path("bide/excerpts/scan.so")
FLAGS = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-D_GNU_SOURCE", "-fno-plt", "-s"]
STATIC = ["-static", "-no-pie"]
SHARED = ["-shared", "-fPIC", "-nostdlib", "-ffreestanding"]
"""The scanner needs no library of its own, so that it loads into any Python of the platform."""

LINUX_ONLY = f"bide runs on Linux only, and this is {sys.platform}: its keeper needs pidfds, splice and subreapers."
NO_COMPILER = (
    "bide needs a C compiler to build its keeper and found none (tried musl-gcc, cc, gcc, clang); install one "
    "(Debian and Ubuntu: apt-get install gcc libc6-dev; Fedora: dnf install gcc glibc-devel; Alpine: apk add gcc musl-dev) "
    "or set CC."
)


class BuildKeeper(Command):
    """Compile the keeper, one executable from all of its C files, and the scanner, a library."""

    description = "compile the keeper and the scanner of output"
    user_options = [("inplace", "i", "put it in the source tree, as an editable install does")]
    boolean_options = ["inplace"]

    def initialize_options(self) -> None:
        self.inplace = False
        self.editable_mode = False  # set by setuptools for `pip install -e`
        self.build_lib: str | None = None

    def finalize_options(self) -> None:
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def run(self) -> None:
        root = Path("src") if self.inplace or self.editable_mode else Path(self.build_lib or "build")
        compile_c("keeper", root / PROGRAM, SOURCES, attempts())
        compile_c("scanner of output", root / SCANNER, SCANNER_SOURCES, shared_attempts())

    def get_source_files(self) -> list[str]:
        return [str(path) for folder in (SOURCES, SCANNER_SOURCES) for path in sorted(folder.glob("*.[ch]"))]

    def get_outputs(self) -> list[str]:
        return [str(Path(self.build_lib or "build") / made) for made in (PROGRAM, SCANNER)]

    def get_output_mapping(self) -> dict[str, str]:
        return {}


def compile_c(what: str, target: Path, folder: Path, tries: list[list[str]]) -> None:
    """Compile the C files of a folder to `target` with the first compiler that can; what runs from there is not disturbed."""
    if sys.platform != "linux":
        sys.exit(LINUX_ONLY)
    sources = sorted(str(path) for path in folder.glob("*.c"))
    if not sources:
        sys.exit(f"there are no C files in {folder}; the source tree is not complete.")
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    said = ""
    try:
        for command in tries:
            words = [*command, *FLAGS, "-o", str(fresh), *sources]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                sys.stderr.write(done.stderr)
                fresh.chmod(0o755)
                fresh.replace(target)
                return
            said = f"$ {shlex.join(words)}\n{done.stderr}"
    finally:
        fresh.unlink(missing_ok=True)
    sys.exit(f"{said}the {what} could not be compiled; the compiler's words are above.")


def attempts() -> list[list[str]]:
    """The compilers to try, best first. musl makes the smallest and fastest keeper; glibc cannot always link statically."""
    given = shlex.split(os.environ.get("CC", ""))
    if given:
        if shutil.which(given[0]) is None:
            sys.exit(f"CC is {given[0]!r}, which is not on PATH; install it, correct CC, or unset it.")
        return [[*given, *STATIC], given]
    tries = [["musl-gcc", *STATIC]] if shutil.which("musl-gcc") else []
    plain = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if plain:
        tries += [[plain, *STATIC], [plain]]
    return tries or sys.exit(NO_COMPILER)


def shared_attempts() -> list[list[str]]:
    """The same compilers, to make a library."""
    return [[*(word for word in words if word not in STATIC), *SHARED] for words in attempts()]


class Build(build):
    """The keeper comes first: a missing compiler is said before anything is copied."""

    sub_commands = [("build_keeper", None), *build.sub_commands]


class PlatformWheel(bdist_wheel):
    """A wheel for this platform and any Python 3: it carries a program, and a library that ctypes loads, but no extension module."""

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


class PlatformDistribution(Distribution):
    """Not pure, so that wheels and installs go to the platform's folders."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build": Build, "build_keeper": BuildKeeper, "bdist_wheel": PlatformWheel},
    distclass=PlatformDistribution,
)
