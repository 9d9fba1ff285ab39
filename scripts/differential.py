"""Compare Jeton with published libraries on very many edge texts.

``python -m scripts.differential`` prints one line a family: texts compared, equal, different, and
the seed that repeats the run. A difference is shrunk to a smallest text and shown with what both
sides gave; the exit code is then 1. A family whose tokenizer does not load is named with the
reason and skipped. Batches have seeds of their own: ``--first-batch`` takes a run up again, and
``--first-batch N --cases 2000`` repeats batch N alone.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.differential.families import families
from tests.differential.harness import Difference, Family, Outcome, run

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
DEFAULT_CASES = 200_000
DEFAULT_SEED = 1
MADE_IN_THE_RUN = ROOT / "build" / "differential"
"""Where the file of a tokenizer that was made in the run is kept when it differs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the families that were asked for; 0: all equal, 1: a difference, 2: nothing compared."""
    options = _parse(arguments)
    available = families(SHARED if SHARED.is_dir() else None)
    chosen = _choose(available, options.family)
    if options.list:
        print("\n".join(family.name for family in chosen))
        return 0
    if not chosen:
        print(f"error: no family matches {', '.join(options.family)}", file=sys.stderr)
        print("hint: --list names them all", file=sys.stderr)
        return 2
    _silence_libraries()
    outcomes = []
    for family in chosen:
        outcome = run(
            family,
            cases=options.cases,
            seed=options.seed,
            first_batch=options.first_batch,
            on_difference=_show,
        )
        outcomes.append(outcome)
        print(describe(outcome), flush=True)
    if options.json:
        text = json.dumps([_to_dict(outcome) for outcome in outcomes], indent=1)
        Path(options.json).write_text(f"{text}\n", encoding="utf-8")
    if any(outcome.different for outcome in outcomes):
        return 1
    return 0 if any(outcome.cases for outcome in outcomes) else 2


def _silence_libraries() -> None:
    """Keep panics that libraries write to file descriptor 2 off the screen; ours stay there."""
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)


def describe(outcome: Outcome) -> str:
    """One family in one line."""
    if outcome.not_loadable:
        return f"{outcome.family}: not loadable: {outcome.not_loadable}"
    line = (
        f"{outcome.family}: {outcome.cases} cases, {outcome.equal} equal, "
        f"{outcome.different} different, seed {outcome.seed}, {outcome.seconds:.1f} s"
    )
    if outcome.known:
        line += f"; {outcome.known} differ as documented"
    if outcome.unanswered:
        line += f"; the reference failed on {outcome.unanswered}"
    if outcome.stopped:
        line += f"; given up after too many: {', '.join(outcome.stopped)}"
    if outcome.n_tokenizers > 1 and outcome.refused:
        refused = sum(outcome.refused.values())
        line += f"; {refused} of {outcome.n_tokenizers} tokenizers refused"
        line += "".join(f"\n    {n} x {why}" for why, n in outcome.refused.most_common(12))
    return line


def _show(found: Difference) -> None:
    """Print a difference as soon as it is known; escapes show what a terminal would hide."""
    print(f"DIFFERENT {found.family}: {found.check} (batch {found.batch})")
    print(f"    text     {found.text!a}")
    print(f"    jeton    {_short(found.ours)}")
    print(f"    expected {_short(found.theirs)}")
    if found.detail:
        MADE_IN_THE_RUN.mkdir(parents=True, exist_ok=True)
        name = f"{found.family}-{found.check}-{found.batch}.json".replace("/", "-").replace(
            " ", "-"
        )
        (MADE_IN_THE_RUN / name).write_text(found.detail, encoding="utf-8")
        print(f"    tokenizer build/differential/{name}")
    sys.stdout.flush()


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 400 else f"{text[:400]} ... ({len(text)} characters)"


def _to_dict(outcome: Outcome) -> dict[str, Any]:
    return {
        "family": outcome.family,
        "seed": outcome.seed,
        "cases": outcome.cases,
        "equal": outcome.equal,
        "different": outcome.different,
        "different_as_documented": outcome.known,
        "reference_failed": outcome.unanswered,
        "stopped_checks": outcome.stopped,
        "tokenizers": outcome.n_tokenizers,
        "refused": dict(outcome.refused),
        "seconds": round(outcome.seconds, 1),
        "not_loadable": outcome.not_loadable or None,
        "differences": [found.to_dict() for found in outcome.differences],
    }


def _choose(available: Sequence[Family], wanted: Sequence[str]) -> list[Family]:
    """Families whose name equals, begins with ``word/`` or matches one of the patterns."""
    if not wanted:
        return list(available)
    return [
        family
        for family in available
        if any(
            fnmatch.fnmatchcase(family.name, word) or family.name.startswith(f"{word}/")
            for word in wanted
        )
    ]


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.differential", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument(
        "--family",
        action="append",
        default=[],
        metavar="NAME",
        help="only these: a name, the part before its slash, or a pattern such as 'hf/*'",
    )
    parser.add_argument(
        "--cases",
        type=int,
        default=DEFAULT_CASES,
        help="texts for each family (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=DEFAULT_SEED, help="chooses the texts (default: %(default)s)"
    )
    parser.add_argument(
        "--first-batch", type=int, default=0, metavar="N", help="skip the batches before this one"
    )
    parser.add_argument("--json", metavar="FILE", help="write the outcomes as JSON, too")
    parser.add_argument("--list", action="store_true", help="name the families and end")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
