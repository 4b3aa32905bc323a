"""What the build makes, without a network: pip with the test environment's own setuptools, on a copy of the tree."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "bide"
KEEPER = "bide/keeper/bide-keeper"
SCANNER = "bide/excerpts/scan.so"
CLEAN = shutil.ignore_patterns("__pycache__", "*.egg-info", "bide-keeper*", "scan.so*")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    copy = tmp_path / "tree"
    copy.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=CLEAN)
    return copy


def pip(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run pip as a user would, with these variables changed."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", *words]
    return subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=False)


def wheel_of(tree: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tree / "out"), str(tree), **env)


@pytest.mark.slow
def test_a_wheel_is_for_this_platform_and_carries_the_keeper_and_every_file_of_the_package(tree: Path) -> None:
    done = wheel_of(tree)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tree / "out").iterdir()
    assert wheel.name.startswith("bide-")
    assert "-py3-none-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        mode = archive.getinfo(KEEPER).external_attr >> 16
        packed = {name for name in archive.namelist() if name.startswith("bide/")}
    assert mode & 0o111 == 0o111
    assert packed == {KEEPER, SCANNER, *files_of_the_package()}


def files_of_the_package() -> set[str]:
    """Everything under src/bide but what is written in C: its sources are not shipped, and it is built anew."""
    found = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    return {
        name
        for name in found
        if "__pycache__" not in name and not name.startswith(("bide/keeper/c/", "bide/excerpts/c/", KEEPER, SCANNER))
    }


@pytest.mark.slow
def test_the_keeper_compiles_without_a_warning(tree: Path) -> None:
    compiler = next(name for name in ("cc", "gcc", "clang") if shutil.which(name))
    done = wheel_of(tree, CC=f"{compiler} -Werror")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_an_editable_install_puts_the_keeper_into_the_source_tree(tree: Path) -> None:
    target = tree / "site"
    words = ("--no-deps", "--no-build-isolation", "--target", str(target), "--editable", str(tree))
    done = pip("install", *words)
    assert done.returncode == 0, done.stderr
    assert os.access(tree / "src" / KEEPER, os.X_OK)


@pytest.mark.slow
def test_a_source_distribution_carries_the_keepers_sources_and_no_program(tree: Path) -> None:
    build = "import sys, setuptools.build_meta as b; print(b.build_sdist(sys.argv[1]))"
    command = [sys.executable, "-c", build, str(tree / "out")]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (sdist,) = (tree / "out").iterdir()
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    sources = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("c/*.[ch]")}
    assert sources
    assert sources <= packed
    assert f"src/{KEEPER}" not in packed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ({"PATH": "", "CC": ""}, "bide needs a C compiler to build its keeper and found none"),
        ({"CC": "no-such-compiler"}, "CC is 'no-such-compiler', which is not on PATH"),
    ],
)
def test_without_a_compiler_the_build_stops_with_one_sentence(tree: Path, env: dict[str, str], sentence: str) -> None:
    done = wheel_of(tree, **env)
    assert done.returncode != 0
    said = [line for line in (done.stdout + done.stderr).splitlines() if sentence in line]
    assert len(said) == 1
    assert "Traceback" not in done.stdout + done.stderr
