"""Make a release and try it: wheels, source, bill of materials, and a page of what was measured.

    python -m scripts.release             # compiled by a profile, for this machine's interpreters
    python -m scripts.release --plain     # compiled once
    python -m scripts.release --zig 2_17  # once, against an old C library (maturin and zig)
    python -m scripts.release --try       # tries the wheels that are there, writes the page

Wheels are made for each CPython 3.11 to 3.14 (and 3.14t) that is found, on each target that the
compiler has. A wheel of this machine's kind is installed into a fresh environment; its commands run
there. What could not be made or run is named on the page.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.marked import Part

__all__ = ["Trial", "differences", "interpreters", "main", "try_wheel"]

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "build" / "release"
TOOLS = ROOT / "build" / "release-venv" / "bin"
PAGE = ROOT / "docs" / "reference" / "release.md"
WANTED = ("3.11", "3.12", "3.13", "3.14", "3.14t")
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
)
RIVALS = ("tiktoken", "tokenizers")
N_STARTS = 7
RELEASE = Part("release", "make release")

SMOKE = """
import os, subprocess, sys, tempfile, threading
import jeton
tok = jeton.load("jeton-general-32k")
text = "The patient was given hydroxychloroquine. na\\u00efve \\u4e2d\\u6587 \\U0001f469"
ids = tok.encode(text)
assert tok.decode(ids) == text and tok.count(text) == len(ids) and len(tok) == tok.vocab_size
found = []
threads = [threading.Thread(target=lambda: found.append(tok.encode_batch([text] * 500).to_lists()))
           for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(found) == 8 and all(row == ids for rows in found for row in rows)
if "t" in sys.abiflags:
    assert not sys._is_gil_enabled(), "importing jeton switched the GIL on"
mine = jeton.train(iter(["low lower lowest"] * 20), vocab_size=262)
assert mine.decode(mine.encode("lowest")) == "lowest"
os.chdir(tempfile.mkdtemp())
run = lambda *words: subprocess.run([sys.executable, "-m", "jeton", *words], check=True,
                                    capture_output=True, text=True, encoding="utf-8").stdout
assert run("--version").strip() == "jeton " + jeton.__version__
run("demo")
run("audit", "jeton-demo/requests.jsonl", "--logs", "--html", "report.html")
run("trace", "encode", "-t", "jeton-general-32k", "--text", "lowest")
assert "<svg" in open("report.html", encoding="utf-8").read()
print(jeton.__version__)
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """A wheel in a fresh environment.

    Attributes:
        wheel: Its file name.
        wheel_mb: Its size.
        own_mb: Installed size of the package alone.
        all_mb: With all that it needs.
        n_packages: Packages that it needs, itself included.
        import_ms: Time of the import, the median of fresh interpreters.
        is_run: False: no interpreter here can run it.
    """

    wheel: str
    wheel_mb: float
    own_mb: float = 0.0
    all_mb: float = 0.0
    n_packages: int = 0
    import_ms: float = 0.0
    is_run: bool = False


def interpreters() -> dict[str, Path]:
    """The interpreters that are found, by version; 3.14t is the free-threaded one."""
    names = [shutil.which(f"python{version}") for version in WANTED]
    folder = Path.home() / ".pyenv" / "versions"
    found: dict[str, Path] = {}
    for path in [*map(Path, filter(None, names)), *sorted(folder.glob("*/bin/python3"))]:
        code = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2] + sys.abiflags)"
        asked = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if asked.stdout.strip() in WANTED:
            found[asked.stdout.strip()] = path
    return dict(sorted(found.items()))


def _targets() -> list[str]:
    listed = subprocess.run(
        ["rustup", "target", "list", "--installed"], capture_output=True, text=True, check=False
    )
    return [target for target in TARGETS if target in listed.stdout.split()]


def _build(mode: Sequence[str], out: Path) -> None:
    """Make the source archive, and a wheel for each interpreter and target."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": _commit_time()}
    env["PATH"] = f"{TOOLS}{os.pathsep}{env['PATH']}"  # zig is a package of the tools
    env["RUSTFLAGS"] = f"--remap-path-prefix={Path.home()}=~ --remap-path-prefix={ROOT}=."
    maturin = str(TOOLS / "maturin")
    _run([maturin, "sdist", "--out", str(out)], env=env)
    for target in _targets():
        is_own = target.startswith(platform.machine()) and target.endswith("gnu")
        how = [*mode] if is_own else ["--zig"]
        where = [] if is_own and "--pgo" in mode else ["--target", target]
        for python in interpreters().values():
            build = [maturin, "build", "--release", "--locked", "--interpreter", str(python)]
            _run([*build, *how, *where, "--out", str(out)], env=env)


def _commit_time() -> str:
    shown = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return shown.stdout.strip()


def _run(words: Sequence[str], **options: object) -> str:
    done = subprocess.run(words, cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True, **options)  # type: ignore[call-overload]
    return str(done.stdout)


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _environment(folder: Path, python: Path, *packages: str) -> Path:
    """A fresh environment with packages in it; return its interpreter."""
    _run([str(python), "-m", "venv", "--without-pip", str(folder)])
    inside = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(inside), "install", "--quiet"]
    _run([*install, "--no-compile", "--disable-pip-version-check", *packages])
    return inside


def _import_ms(python: Path, name: str) -> float:
    """Time of an import inside fresh interpreters: the median."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    times = []
    for _ in range(N_STARTS + 1):
        times.append(float(_run([str(python), "-I", "-c", code.format(name)])) * 1000)
    return statistics.median(times[1:])  # the first compiles the modules


def _site(folder: Path) -> Path:
    return next(folder.glob("lib/python*/site-packages"))


def try_wheel(wheel: Path, python: Path | None, bill: Path | None = None) -> Trial:
    """Install a wheel into a fresh environment and run its commands there.

    Args:
        wheel: The wheel.
        python: An interpreter of its version; None: there is none.
        bill: File for the bill of materials of the environment.
    """
    size = wheel.stat().st_size / 1e6
    if python is None:
        return Trial(wheel.name, size)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "venv"
        inside = _environment(folder, python, str(wheel))
        script = Path(name) / "smoke.py"
        script.write_text(SMOKE, encoding="utf-8")
        _run([str(inside), "-I", str(script)])
        site = _site(folder)
        own = _megabytes(site / "jeton") - _megabytes_of_caches(site / "jeton")
        everything = _megabytes(site) - _megabytes_of_caches(site)
        n_packages = len(list(site.glob("*.dist-info")))
        if bill is not None:
            cyclonedx = str(TOOLS / "cyclonedx-py")
            _run([cyclonedx, "environment", str(inside), "--output-file", str(bill)])
        ms = _import_ms(inside, "jeton")
        return Trial(wheel.name, size, own, everything, n_packages, ms, is_run=True)


def _megabytes_of_caches(folder: Path) -> float:
    return sum(_megabytes(cache) for cache in folder.rglob("__pycache__"))


def _rival(name: str, python: Path) -> Trial:
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name) / "venv"
        inside = _environment(folder, python, name)
        site = _site(folder)
        own = _megabytes(site / name) - _megabytes_of_caches(site / name)
        all_mb = _megabytes(site) - _megabytes_of_caches(site)
        version = next(site.glob(f"{name}-*.dist-info")).name.split("-")[1].removesuffix(".dist")
        n_packages = len(list(site.glob("*.dist-info")))
        ms = _import_ms(inside, name)
        return Trial(f"{name} {version}", 0.0, own, all_mb, n_packages, ms, is_run=True)


def differences(one: Path, other: Path) -> list[str]:
    """Members in which two wheels differ, by name; empty: they are equal to the byte."""
    if one.read_bytes() == other.read_bytes():
        return []
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        names = dict.fromkeys([*first.namelist(), *second.namelist()])
        both = {*first.namelist()} & {*second.namelist()}
        differ = [n for n in names if n not in both or first.read(n) != second.read(n)]
        return differ or ["the archive itself: order, times or compression"]


def _version_of(wheel: Path) -> str:
    match = re.search(r"-cp(\d)(\d+)-cp\d+(t?)-", wheel.name)
    assert match, wheel.name
    return f"{match[1]}.{match[2]}{match[3]}"


def _rows(trials: Sequence[Trial]) -> Iterator[str]:
    yield "| | wheel, MB | installed, MB | with all it needs, MB | packages | import, ms |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for one in trials:
        size = f"{one.wheel_mb:.1f}" if one.wheel_mb else ""
        if one.is_run:
            yield (
                f"| `{one.wheel}` | {size} | {one.own_mb:.1f} | {one.all_mb:.0f} | "
                f"{one.n_packages} | {one.import_ms:.0f} |"
            )
        else:
            yield f"| `{one.wheel}` (not run here) | {size} | | | | |"


def _missing(wheels: Sequence[Path]) -> Iterator[str]:
    """Parts of a full release that are not there."""
    made = {
        (_version_of(wheel), wheel.name.rsplit("-", 1)[1].removesuffix(".whl")) for wheel in wheels
    }
    for version in WANTED:
        if version not in {v for v, _ in made}:
            yield f"- CPython {version}: no wheel was made, for lack of the interpreter or of time"
    for target in TARGETS:
        machine, libc = target.split("-")[0], "musl" if target.endswith("musl") else "many"
        if not any(libc in name and machine in name for _, name in made):
            yield f"- {target}: `rustup target add {target}` was not possible where this was made"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and try; return 1 where something failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--plain", action="store_true", help="compile once, without a profile")
    parser.add_argument("--zig", metavar="GLIBC", help="compile once with zig, for manylinux_GLIBC")
    parser.add_argument("--try", dest="only_try", action="store_true", help="build nothing")
    parser.add_argument("--again", metavar="WHEEL", help="compare with a wheel of another build")
    given = parser.parse_args(arguments)
    mode = ["--zig", "--compatibility", f"manylinux_{given.zig}"] if given.zig else ["--pgo"]
    if not given.only_try:
        shutil.rmtree(DIST, ignore_errors=True)
        _build([] if given.plain else mode, DIST)
    wheels, sources = sorted(DIST.glob("*.whl")), sorted(DIST.glob("*.tar.gz"))
    if not wheels:
        print(f"error: there is no wheel in {DIST.relative_to(ROOT)}", file=sys.stderr)
        return 1
    print(_run([str(TOOLS / "twine"), "check", "--strict", *map(str, [*wheels, *sources])]))
    known = interpreters()
    trials = []
    for number, wheel in enumerate(wheels):
        runs_here = platform.machine() in wheel.name and "musl" not in wheel.name
        python = known.get(_version_of(wheel)) if runs_here else None
        bill = DIST / f"{wheel.name.split('-cp')[0]}-environment.cdx.json" if not number else None
        trials.append(try_wheel(wheel, python, bill))
        print(trials[-1])
    first = next(iter(known.values()))
    trials += [_rival(name, first) for name in RIVALS]
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"
        for path in sorted(DIST.iterdir())
        if path.suffix in (".whl", ".gz", ".json")
    ]
    (DIST / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    again = ""
    if given.again:
        other = Path(given.again)
        same = next(wheel for wheel in wheels if wheel.name == other.name)
        found = differences(same, other)
        again = "equal to the byte" if not found else f"different in {', '.join(found)}"
        print(f"{other.name}, built again: {again}")
    _write_page(trials, wheels, sources, again)
    return 0


def _write_page(
    trials: Sequence[Trial], wheels: Sequence[Path], sources: Sequence[Path], again: str
) -> None:
    lines = [
        f"Made on {platform.machine()}, {platform.libc_ver()[0]} {platform.libc_ver()[1]}.",
        "",
        *_rows(trials),
        "",
        f"Source: `{sources[0].name}`, {sources[0].stat().st_size / 1e6:.1f} MB."
        if sources
        else "",
        *(["", f"A second build of one wheel: {again}."] if again else []),
        "",
        "Not made or not run here:",
        "",
        *_missing(wheels),
    ]
    RELEASE.rewrite(PAGE, "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
