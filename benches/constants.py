"""Time the core with other values of its constants: does any value from half to twice do the same?

``python -m benches.constants --table`` lists the constants. ``python -m benches.constants`` builds
the core with all of them halved and with all of them doubled, in a copy of the tree below
``build/constants/``, and times both beside the build as it is and a second copy of that, which
shows the noise. ``--only NAME`` changes some; ``--only NAME=VALUE`` sets one. Ids must be equal.
"""

from __future__ import annotations

import argparse
import compileall
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from benches import constant_table, constant_work
from benches.ablation import Build, ask, real_time
from benches.constant_table import Change
from benches.isolated import ROOT
from benches.machine import describe_machine

__all__ = ["main", "moved", "summary"]

FOLDER = ROOT / "build" / "constants"
LEFT_OUT = ("docs", "tests", "studies", "examples", "fuzz", "benches")
"""Folders that a build does not read."""
LEAST_BAND = 0.03
"""A ratio that is nearer to 1 is none, however still the machine was."""
TIMEOUT_S = 300.0

Seconds = dict[str, dict[str, list[float]]]
"""Row -> build -> seconds, one of each round."""


def _copy_tree(to: Path) -> None:
    """Copy what is tracked or new, without what a build does not read; times of files are kept."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name]
    wanted = [name for name in names if name.split("/")[0] not in LEFT_OUT]
    for name in wanted:
        source, target = ROOT / name, to / name
        if not source.is_file():
            continue
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _copy_dependencies(to: Path) -> None:
    """Begin with the compiled dependencies of the project's own release build, if there are any."""
    own = ROOT / "target" / "release"
    if own.is_dir() and not to.is_dir():
        shutil.copytree(own, to / "release", symlinks=True, copy_function=shutil.copy2)


def build(name: str, changes: Sequence[Change], *, folder: Path = FOLDER) -> Path:
    """Build the package with changed constants; return the folder that has it."""
    tree = folder / "tree"
    _copy_tree(tree)
    _copy_dependencies(folder / "target")
    sources: dict[str, str] = {}
    for change in changes:
        file = change.constant.file
        source = sources.get(file) or (tree / "crates" / file).read_text(encoding="utf-8")
        sources[file] = constant_table.rewritten(source, change)
    for file, source in sources.items():
        (tree / "crates" / file).write_text(source, encoding="utf-8")
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    command = [sys.executable, "-m", "maturin", "build", "--release", "--locked"]
    command += ["--interpreter", sys.executable, "--target-dir", str(folder / "target")]
    subprocess.run([*command, "--out", str(wheels)], cwd=tree, check=True)
    target = folder / "builds" / name
    shutil.rmtree(target, ignore_errors=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    # Loads are timed with their imports: no build may have its modules compiled and another not.
    compileall.compile_dir(target, quiet=1)
    return target


def moved(seconds: Mapping[str, Sequence[float]], name: str) -> tuple[float, float, bool]:
    """Speed of a build over ``as it is``: by least, by median, and if both are beyond the noise.

    The noise of a row is twice the distance of ``again``, the second copy, or 3% if that is more.
    """

    def ratios(of: str) -> tuple[float, float]:
        base, own = seconds["as it is"], seconds[of]
        return min(base) / min(own), median(base) / median(own)

    least, middle = ratios(name)
    band = max(LEAST_BAND, *(2 * abs(ratio - 1) for ratio in ratios("again")))
    beyond = min(least, middle) > 1 + band or max(least, middle) < 1 - band
    return least, middle, beyond


def summary(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Return a Markdown table of ratios; those beyond the noise are bold."""
    names = [name for name in next(iter(rows.values())) if name != "as it is"]
    head = ["row", "as it is, ms", *(f"{name}: least, median" for name in names)]
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for row, seconds in rows.items():
        cells = [row, f"{min(seconds['as it is']) * 1e3:.3g}"]
        for name in names:
            least, middle, beyond = moved(seconds, name)
            mark = "**" if beyond and name != "again" else ""
            cells.append(f"{mark}{least:.2f}x {middle:.2f}x{mark}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _measure(builds: Sequence[Build], options: argparse.Namespace) -> tuple[Seconds, int]:
    """Take turns in fresh processes; the first round fills caches of files, and is not kept."""
    inputs = FOLDER / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    request = {
        "given": constant_work.prepare(inputs, options.shared),
        "priority": options.priority,
    }
    workloads = options.workload or list(constant_work.WORKLOADS)
    found: Seconds = {}
    digests: dict[str, set[str]] = {}
    for number in range(options.rounds + 1):
        turns = builds if number % 2 else builds[::-1]
        for workload, one in product(workloads, turns):
            asked = {**request, "workload": workload}
            answer = ask("benches.constants", one, asked, FOLDER / "caches", timeout_s=TIMEOUT_S)
            for row, (seconds, digest) in answer.items():
                digests.setdefault(row, set()).add(digest)
                of_row = found.setdefault(row, {build.name: [] for build in builds})
                if number:
                    of_row[one.name].append(seconds)
    differing = [row for row, all_digests in digests.items() if len(all_digests) > 1]
    for row in differing:
        print(f"error: the result differs between the builds: {row}", file=sys.stderr)
    return found, 1 if differing else 0


def _figures(seconds: Sequence[float]) -> list[float]:
    """Return the least and the median, four digits of each."""
    return [float(f"{value:.4g}") for value in (min(seconds), median(seconds))]


def _builds(options: argparse.Namespace) -> list[Build]:
    plain = FOLDER / "builds" / "plain"
    if not options.keep or not plain.is_dir():
        build("plain", [])
    found = [Build("as it is", plain, {}), Build("again", plain, {})]
    if options.build:
        return [*found, *options.build]
    is_set = any("=" in words for words in options.only)
    for scale in [1.0] if is_set else options.scale:
        name = "set" if is_set else f"x {scale:g}"
        folder = FOLDER / "builds" / options.name / name.replace(" ", "")
        if not options.keep or not folder.is_dir():
            wanted = constant_table.changes(options.only, scale)
            folder = build(f"{options.name}/{folder.name}", wanted)
        found.append(Build(name, folder, {}))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, check and time; return the exit code: 1 if results differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", action="store_true", help="print the constants, build nothing")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME[=VALUE]", help="NAME or file:NAME"
    )
    parser.add_argument("--scale", type=float, nargs="+", default=[0.5, 2.0], help="powers of two")
    parser.add_argument(
        "--build", action="append", metavar="NAME=FOLDER", help="time this build, make none"
    )
    parser.add_argument("--name", default="all", help="name of these builds, for --keep")
    parser.add_argument("--keep", action="store_true", help="use builds of that name that exist")
    parser.add_argument("--rounds", type=int, default=9, help="processes of each build")
    parser.add_argument("--priority", type=int, help="real-time priority, where it is allowed")
    parser.add_argument(
        "--workload", action="append", choices=constant_work.WORKLOADS, help="may be repeated"
    )
    parser.add_argument(
        "--shared", type=Path, default=ROOT.parent / "shared", help="has data/vocab, data/corpora"
    )
    parser.add_argument("--output", type=Path, help="JSON file for all seconds")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        request = json.loads(options.work)
        real_time(None, request["priority"])
        print(json.dumps(constant_work.work(request["given"], request["workload"])))
        return 0
    if options.table:
        print(constant_table.table())
        return 0
    try:
        options.build = [Build.parse(words) for words in options.build or ()]
        builds = _builds(options)
    except ValueError as error:
        parser.error(str(error))
    rows, code = _measure(builds, options)
    print(summary(rows))
    if options.output:
        record: dict[str, Any] = {
            "kind": "constants",
            "date": datetime.now(UTC).date().isoformat(),
            "machine": describe_machine(),
            "command": "python -m benches.constants",
            "only": options.only,
            "workloads": options.workload,
            "priority": options.priority,
            "rounds": options.rounds,
            "least_and_median_s": {
                row: {name: _figures(values) for name, values in seconds.items()}
                for row, seconds in rows.items()
            },
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
