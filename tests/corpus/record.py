"""Record logs of real tools that fail: run recipes and keep what each writes. See README.md."""

from __future__ import annotations

import argparse
import json
import lzma
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECIPES, LOGS, MANIFEST = HERE / "recipes", HERE / "logs", HERE / "manifest.toml"
USER, HOST, FOLDER, HOME = "app", "build", Path("/srv/app/shop"), "/srv/home"
SECONDS = 400
PATHS = (
    "/srv/app/.venv/bin",
    "/srv/app/tools/node_modules/.bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/bin",
    "/bin",
    "/usr/local/bin",
)
REGISTRIES = re.compile(
    rb"\b(?:(?:registry|files|proxy|deb|security|repo1?|index|static|auth)[\w-]*(?:\.[\w-]+)+|pypi|npmjs)\.(?:org|io|com)\b"
)
"""Hosts of package registries, by the words that their names begin with."""
Json = dict[str, Any]


def headers(recipe: Path) -> dict[str, list[str]]:
    """Return the `# key: value` lines of a recipe."""
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"^# (tool|how|decisive): (.*)$", recipe.read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(key, []).append(value)
    return found


def shell(recipe: Path, function: str) -> list[str]:
    """Return the command that runs one function of a recipe as another user, on a host with another name."""
    inside = f"hostname {HOST}; cd {FOLDER}; exec setpriv --reuid {USER} --regid {USER} --init-groups bash -c '. {recipe}; {function}'"
    environment = [
        f"PATH={':'.join(PATHS)}:/sbin:/usr/sbin",
        f"HOME={HOME}",
        f"USER={USER}",
        "LANG=C.UTF-8",
        "TERM=dumb",
    ]
    return ["env", "-i", *environment, "unshare", "--uts", "sh", "-c", inside]


def recorded(recipe: Path) -> tuple[int, bytes, bytes]:
    """Prepare and run a recipe in an empty folder; return the exit code and the two streams."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    shutil.chown(FOLDER, USER, USER)
    copy = FOLDER.parent / "recipe.sh"
    shutil.copy(recipe, copy)
    copy.chmod(0o644)
    subprocess.run(shell(copy, "prepare"), check=True, stdin=subprocess.DEVNULL, timeout=SECONDS, stdout=sys.stderr)
    with (FOLDER.parent / "out").open("w+b") as out, (FOLDER.parent / "err").open("w+b") as err:
        code = subprocess.run(
            shell(copy, "run"), check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=SECONDS
        ).returncode
        out.seek(0)
        err.seek(0)
        return code, scrubbed(out.read()), scrubbed(err.read())


def scrubbed(data: bytes) -> bytes:
    """Return a stream without the hosts of registries."""
    return REGISTRIES.sub(b"registry.example", data)


def row(recipe: Path, code: int, out: bytes, err: bytes) -> Json:
    """Return what the manifest says of a log; the decisive lines must be in it."""
    said = headers(recipe)
    decisive = said["decisive"]
    streams = [stream for stream in (out, err) if decisive[0].encode() in stream]
    missing = [line for line in decisive if line.encode() not in out + b"\n" + err]
    if missing or not code:
        raise SystemExit(f"{recipe.stem}: exit code {code}, without {missing}")
    share = streams[0].index(decisive[0].encode()) / len(streams[0])
    where = ("start", "middle", "end")[min(int(share * 3), 2)]
    facts: Json = {"tool": said["tool"][0], "how": said["how"][0], "exit_code": code, "decisive": decisive}
    return {"name": recipe.stem, **facts, "cause": where, "out_size": len(out), "err_size": len(err)}


def write(rows: list[Json]) -> None:
    """Write the manifest, sorted by name."""
    tables = [
        "[[log]]\n" + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in each.items())
        for each in sorted(rows, key=lambda each: each["name"])
    ]
    MANIFEST.write_text("\n".join(tables), encoding="utf-8")


def record(recipe: Path) -> None:
    """Record one recipe in place of what was recorded before."""
    code, out, err = recorded(recipe)
    found = row(recipe, code, out, err)
    for kind, stream in (("out", out), ("err", err)):
        path = LOGS / f"{recipe.stem}.{kind}.xz"
        path.unlink(missing_ok=True)
        if stream:
            path.write_bytes(lzma.compress(stream, preset=9 | lzma.PRESET_EXTREME))
    rows: list[Json] = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["log"] if MANIFEST.exists() else []
    write([each for each in rows if each["name"] != recipe.stem] + [found])
    sys.stdout.write(f"{recipe.stem}: exit code {code}, {len(out)} + {len(err)} bytes, cause at the {found['cause']}\n")


def main() -> None:
    """Record the recipes that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*")
    for name in parser.parse_args().name or sorted(path.stem for path in RECIPES.glob("*.sh")):
        record((RECIPES / f"{name}.sh").resolve())


if __name__ == "__main__":
    main()
