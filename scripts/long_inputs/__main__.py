"""Run every kind of tokenizer on texts without a friendly boundary, at growing sizes.

Prints each case that is flagged as it is found, and a summary. Exit code 0 when nothing is flagged,
1 when something is, 2 when the vocabularies are missing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from jeton._files import write_whole
from jeton.errors import JetonError
from scripts.long_inputs.board import PART, Case, flags, render
from scripts.long_inputs.grid import planned
from scripts.long_inputs.measuring import TIME_LIMIT_S, Measured, measure
from scripts.long_inputs.subjects import SUBJECTS, Subject
from scripts.long_inputs.texts import Text

__all__ = ["main", "run_subject"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "concepts" / "long-inputs.md"
SHARED = ROOT.parent / "shared"
SIZES_MB = (1.0, 4.0, 16.0)
ATTEMPTS = 3
"""How often a text on which something is flagged is run; the fastest counts."""
GIVE_UP_S = 15.0
"""A case that took longer is not run at the next size."""


def run_subject(
    subject: Subject,
    plan: Iterable[tuple[Text, Sequence[int]]],
    vocab: Path,
    *,
    limit_s: float = TIME_LIMIT_S,
) -> Iterator[Case]:
    """Yield every case of one tokenizer: each text of the plan at its sizes.

    Raises:
        JetonError: The tokenizer does not load.
        OSError: Nor is its file there.
    """
    tokenizer = subject.load(vocab)
    for text, sizes_bytes in plan:
        cases: dict[str, Case] = {}
        for _ in range(ATTEMPTS):
            slowest = 0.0
            for n_bytes in sizes_bytes:
                for measured in measure(tokenizer, text, n_bytes, limit_s=limit_s):
                    name = measured.operation
                    case = cases.setdefault(name, Case(subject.name, subject.kind, text.name, name))
                    case.add(n_bytes, measured)
                    slowest = max(slowest, case.worst_seconds())
                if slowest > GIVE_UP_S:
                    break
            # What else runs on the machine can only make a case slower.
            if slowest > GIVE_UP_S or not any(flags(case) for case in cases.values()):
                break
        yield from cases.values()


def _machine() -> str:
    from benches.machine import header

    head = header(kind="long inputs", command="", distributions=[])
    machine = head["machine"]
    return f"Measured {head['date']} on {machine['cpu']} ({machine['system']}), one thread"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", action="store_true", help=f"rewrite docs/{PAGE.name}")
    parser.add_argument(
        "--results",
        type=Path,
        help="keep every figure in this folder, a file for each tokenizer, and go on there",
    )
    parser.add_argument(
        "--again", action="store_true", help="measure what is flagged in --results once more"
    )
    parser.add_argument(
        "--full", action="store_true", help="every text at every size (scripts/long_inputs/grid.py)"
    )
    parser.add_argument("--shared", type=Path, default=SHARED, help="the shared data folder")
    parser.add_argument("--only", default="", help="tokenizers whose name or kind contains this")
    parser.add_argument(
        "--text", action="append", help="texts whose name contains this; may be repeated"
    )
    parser.add_argument(
        "--sizes-mb",
        type=lambda given: [float(part) for part in given.split(",")],
        default=list(SIZES_MB),
        help="sizes of the texts in megabytes, rising, by comma (default 1,4,16)",
    )
    parser.add_argument(
        "--limit-s",
        type=float,
        default=TIME_LIMIT_S,
        help="CPU seconds after which an operation is stopped (default 60)",
    )
    return parser


def _read(path: Path) -> list[Case]:
    """The cases that an earlier run kept."""
    cases = json.loads(path.read_text(encoding="utf-8"))
    for case in cases:
        case["by_size"] = {int(n): Measured(**m) for n, m in case["by_size"].items()}
    return [Case(**case) for case in cases]


def _tell(case: Case, say: Callable[[str], None]) -> None:
    if found := flags(case):
        shown = ", ".join(
            f"{n // 1000} KB {'none' if m.seconds is None else f'{m.seconds:.3f} s'}"
            for n, m in case.by_size.items()
        )
        say(f"{case.text} | {case.operation}: {'; '.join(found)} ({shown})")


def main(arguments: list[str] | None = None, *, say: Callable[[str], None] | None = None) -> int:
    """Run; return the exit code."""
    say = say or (lambda line: print(line, flush=True))
    options = _parser().parse_args(arguments)
    vocab = options.shared / "data" / "vocab"
    if not vocab.is_dir():
        print(
            f"error: no vocabularies at {vocab}\n"
            "hint: put the shared data folder beside the project, or pass --shared FOLDER",
            file=sys.stderr,
        )
        return 2
    sizes = sorted(int(size * 1e6) for size in options.sizes_mb)
    wanted = options.text or [""]
    cases: list[Case] = []
    n_not_loaded = 0
    for subject in SUBJECTS:
        if options.only not in subject.name and options.only not in subject.kind:
            continue
        kept = options.results and options.results / (re.sub(r"\W+", "-", subject.name) + ".json")
        before = _read(kept) if kept and kept.is_file() else []
        again = {case.text for case in before if flags(case)} if options.again else set()
        plan = planned(subject, sizes, full=options.full)
        if before:
            plan = ((text, at) for text, at in plan if text.name in again)
        else:
            plan = ((text, at) for text, at in plan if any(part in text.name for part in wanted))
        known = {(case.text, case.operation): case for case in before}
        if again or not before:
            say(f"# {subject.name}")
            try:
                for case in run_subject(subject, plan, vocab, limit_s=options.limit_s):
                    kept_case = known.setdefault((case.text, case.operation), case)
                    for n_bytes, measured in case.by_size.items():
                        kept_case.add(n_bytes, measured)
                    _tell(kept_case, say)
            except (JetonError, OSError) as error:
                n_not_loaded += 1
                say(f"not loaded: {str(error).splitlines()[0]}")
                continue
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                listed = [asdict(case) for case in known.values()]
                write_whole(kept, json.dumps(listed, ensure_ascii=False, indent=1) + "\n")
        cases += known.values()
    if options.table:
        content = render(cases, machine=_machine(), n_not_loaded=n_not_loaded)
        PART.rewrite(PAGE, content)
    n_flagged = sum(bool(flags(case)) for case in cases)
    say(f"{len(cases)} cases, {n_flagged} flagged, {n_not_loaded} tokenizers not loaded")
    return 1 if n_flagged or n_not_loaded else 0


if __name__ == "__main__":
    sys.exit(main())
