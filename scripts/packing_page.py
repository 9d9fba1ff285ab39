"""Write the table of packing.md that compares the methods, from runs on one set of lengths.

``python -m scripts.packing_page`` rewrites the part between markers; ``--check`` only says whether
it is up to date (exit code 1 when it is not).
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

import jeton
from jeton.planning.packing.result import METHODS
from scripts.marked import Part

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "packing.md"
PART = Part("methods", "python -m scripts.packing_page")

N_DOCUMENTS = 50_000
MEDIAN_TOKENS = 400
LONGEST_TOKENS = 4096
CAPACITIES = (4096, 32_768)
N_RANKS = 8


def lengths() -> NDArray[np.int64]:
    """Log-normal lengths with sigma 1, by quantiles, in an order that is mixed but always the same.

    Steps of the golden ratio through the quantiles mix them.
    """
    normal = NormalDist(math.log(MEDIAN_TOKENS), 1.0)
    golden = (math.sqrt(5) - 1) / 2
    drawn = (normal.inv_cdf((golden * (place + 1)) % 1) for place in range(N_DOCUMENTS))
    each = [min(LONGEST_TOKENS, max(1, round(math.exp(value)))) for value in drawn]
    return np.array(each, dtype=np.int64)


def table() -> str:
    """Returns one row for each capacity and method."""
    documents = lengths()
    lines = [
        "| capacity | method | bins | padding | of padded rows saved | spread over 8 ranks | ranks "
        "wait |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for capacity in CAPACITIES:
        for method in METHODS:
            packed = jeton.pack(
                documents, capacity=capacity, method=method, n_ranks=N_RANKS, seed=0
            )
            report, ranks = packed.report, packed.report.ranks
            lines.append(
                f"| {capacity:,} | `{method}` | {report.n_bins:,} | {report.padding_share:.2%} | "
                f"{report.saved_share:.1%} | {ranks.spread:.3f} | {ranks.waiting_share:.1%} |"
            )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    return PART.update(PAGE, table(), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
