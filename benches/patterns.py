"""Time split patterns that nobody has written a scanner for, before cl100k's ranks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benches import texts, vocabularies
from benches.cases import Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings

__all__ = ["PATTERNS", "PROGRAM", "main"]

PATTERNS = {
    "camel case": r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\p{N}{1,2}|\s+|[^\sA-Za-z\p{N}]+|[A-Za-z]",
    "hyphens and decimals": r"\p{L}+(?:['-]\p{L}+)*|\p{Nd}+(?:[.,]\p{Nd}+)*|\s+|.",
    "marks and signs": r" ?[\p{L}\p{M}]+| ?\p{N}| ?[\p{P}\p{S}]+|\s+(?!\S)|\s|\S",
    "word boundaries": r"\b\w{1,12}|\w+|[^\w\s]{1,3}\s?|\s",
    "pieces of lines": r"[^\n]{1,24}\n?|\n",
    "identifiers": r"[\p{L}_][\p{L}\p{Nd}_]*|0x[0-9a-f]+|\p{Nd}{1,3}|[ \t]+|\s+|[^\s\p{L}\p{Nd}]+",
}
"""Name -> pattern; each covers every text."""
CAVEATS = (
    "patterns of our own: "
    + "; ".join(f"{name}: `{pattern}`" for name, pattern in PATTERNS.items()).replace("|", "\\|"),
)


def _cases(settings: Settings) -> Iterator[Case]:
    for plain in files_of("cl100k_base"):
        for name, pattern in PATTERNS.items():
            label = name.replace(" ", "-")
            files = vocabularies.with_pattern(plain, pattern, label=label)
            for kind in ("english", "code"):
                sample = texts.sample(kind, max_bytes=settings.warm_bytes // 2)
                title = f"split pattern: {name}, warm"
                yield Case(files, sample, ["pattern"], title=title, group="kinds")


PROGRAM = Program("patterns", compared(_cases), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
