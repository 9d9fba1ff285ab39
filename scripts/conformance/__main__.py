"""Compare Jeton's ids with the references' on everything that the shared data holds.

One line a set; exit code 0 where all is equal but for the listed differences, 1 where something
else differs, 2 where the shared data is missing or the arguments are wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from jeton._files import write_whole
from scripts.conformance import board, disagreements
from scripts.conformance.running import run

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "concepts" / "exactness.md"


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.board and (options.only is not None or options.no_corpora):
        print(
            "error: the board shows a whole run\nhint: leave out --only and --no-corpora",
            file=sys.stderr,
        )
        return 2
    golden = options.shared / "data" / "golden"
    if not golden.is_dir():
        print(
            f"error: no golden sets at {golden}; the comparison needs the shared data folder with "
            "data/golden, data/vocab, data/corpora and data/crosscheck\n"
            "hint: put it beside the project, or pass --shared FOLDER",
            file=sys.stderr,
        )
        return 2
    if options.disagreements:
        return disagreements.report(options.shared)
    try:
        outcome = run(
            options.shared,
            only=options.only,
            threads=options.threads,
            with_corpora=not options.no_corpora,
            say=lambda line: print(line, flush=True),
        )
        if options.json is not None:
            text = json.dumps(outcome.to_json(), ensure_ascii=False, indent=1)
            write_whole(options.json, text + "\n")
        if options.board:
            document = DOCUMENT.read_text(encoding="utf-8")
            document = board.PART.replaced(document, board.render(outcome))
            table = disagreements.render(options.shared)
            document = disagreements.PART.replaced(document, table)
            write_whole(DOCUMENT, document)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    n_compared = len(outcome.sets) + len(outcome.corpora)
    n_compared += sum(each.vocabulary is not None for each in outcome.crosschecks)
    if not n_compared:
        print(f"error: nothing is named like {options.only!r}", file=sys.stderr)
        return 2
    print(f"{n_compared} compared, {outcome.n_unexpected} with unexpected differences")
    return 1 if outcome.n_unexpected else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.conformance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results as JSON")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        help="only names like this: gpt2_hf, '*_spm', crosscheck/llama.cpp, corpus/udhr",
    )
    parser.add_argument(
        "--threads", type=_numbers, default=(1, 2, 8), metavar="N,N", help="default: 1,2,8"
    )
    parser.add_argument("--no-corpora", action="store_true", help="leave out whole corpora")
    parser.add_argument(
        "--board", action="store_true", help="rewrite the tables of docs/concepts/exactness.md"
    )
    parser.add_argument(
        "--disagreements",
        action="store_true",
        help="compare the references with one another instead, and print what parts them",
    )
    parser.add_argument(
        "--shared",
        type=Path,
        default=ROOT.parent / "shared",
        help="the shared folder (default: ../shared beside the project)",
    )
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    if not all(1 <= number <= 256 for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers from 1 to 256")
    return numbers


if __name__ == "__main__":
    sys.exit(main())
