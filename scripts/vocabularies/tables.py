"""The generated parts of vocabularies.md: decisions, sizes, held-out bytes per token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jeton import _core, formats
from jeton.training import TrainingCard, read_card
from scripts.vocabularies.building import ARTEFACT_SUFFIX, CARD_SUFFIX, Corpus
from scripts.vocabularies.sources import SourceText, catalogue

__all__ = ["BASELINES", "generated_parts", "marker_lines", "replace_part", "row", "rule"]

BASELINES = ("r50k_base", "cl100k_base", "o200k_base")
"""Public vocabularies to compare with, as files of the shared folder have them."""

_KB = 1000
_MB = 1_000_000


def row(*cells: str) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def rule(n_numbers: int) -> str:
    """The line under the head: one column of text, then numbers."""
    return row("---", *["---:"] * n_numbers)


def marker_lines(marker: str) -> tuple[str, str]:
    """The lines between which a generated part stands."""
    return (
        f"<!-- {marker}: begin (written by `python scripts/build_vocabularies.py --document`) -->",
        f"<!-- {marker}: end -->",
    )


def replace_part(text: str, marker: str, part: str) -> str:
    """Put a generated part between its markers.

    Raises:
        ValueError: The text does not have both markers once.
    """
    begin, end = marker_lines(marker)
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"the document lacks the markers of the part {marker!r}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{part}\n\n{end}{rest.split(end)[1]}"


def generated_parts(corpus: Corpus, *, data: Path, artefacts: Path) -> dict[str, str]:
    """All generated parts by marker.

    Args:
        corpus: What is held out of every source.
        data: The folder with ``vocab/``.
        artefacts: The folder of the bundled tokenizers.

    Raises:
        OSError: A vocabulary is missing.
    """
    kinds = list(dict.fromkeys(name.split("-")[1] for name in catalogue().mixes))
    names = sorted(catalogue().mixes, key=lambda name: (kinds.index(name.split("-")[1]), name))
    ours = [formats.load_file(artefacts / f"{name}{ARTEFACT_SUFFIX}") for name in names]
    theirs = [formats.load_file(data / "vocab" / f"{name}.tiktoken.zst") for name in BASELINES]
    heads = [*(_short(name) for name in names), *(f"{name}" for name in BASELINES)]
    tokenizers = [*ours, *theirs]
    used = {source for mix in catalogue().mixes.values() for source in mix}
    return {
        "sizes": _sizes(artefacts, names),
        "trained": _heldout(
            corpus, tokenizers, heads, [n for n in catalogue().sources if n in used]
        ),
        "untrained": _heldout(
            corpus, tokenizers, heads, [n for n in catalogue().sources if n not in used]
        ),
        "used": _decisions([s for s in catalogue().sources.values() if s.usable], shares=True),
        "not used": _decisions([s for s in catalogue().sources.values() if not s.usable]),
    }


def _short(name: str) -> str:
    """``jeton-legal-32k-v2`` -> ``legal v2``."""
    _, kind, _, version = name.split("-")
    return f"{kind} {version}"


def _sizes(artefacts: Path, names: Sequence[str]) -> str:
    lines = [
        row("tokenizer", "documents", "text, MB", "artefact, KB", "card, KB", "fingerprint"),
        row("---", "---:", "---:", "---:", "---:", "---"),
    ]
    total = 0
    for name in names:
        artefact = artefacts / f"{name}{ARTEFACT_SUFFIX}"
        card_file = artefacts / f"{name}{CARD_SUFFIX}"
        card: TrainingCard = read_card(card_file)
        sizes = [artefact.stat().st_size, card_file.stat().st_size]
        total += sum(sizes)
        lines.append(
            row(
                f"`{name}`",
                f"{card.n_documents:,}",
                f"{card.n_bytes / _MB:.1f}",
                *(f"{size / _KB:.0f}" for size in sizes),
                f"`{card.fingerprint[:16]}…`",
            )
        )
    return "\n".join([*lines, "", f"Together {total / _MB:.2f} MB."])


def _heldout(
    corpus: Corpus,
    tokenizers: Sequence[_core.Tokenizer],
    heads: Sequence[str],
    names: Sequence[str],
) -> str:
    lines = [row("source", "documents", "KB", *heads), rule(2 + len(heads))]
    for name in names:
        batch = corpus.heldout.get(name)
        if batch is None:
            continue
        cells = [f"`{name}`", f"{len(batch):,}", f"{batch.n_bytes / _KB:,.0f}"]
        for head, tokenizer in zip(heads, tokenizers, strict=True):
            value = f"{batch.n_bytes / int(tokenizer.count_batch(batch).sum()):.3f}"
            trained = any(
                _short(own) == head and name in mix for own, mix in catalogue().mixes.items()
            )
            cells.append(f"**{value}**" if trained else value)
        lines.append(row(*cells))
    return "\n".join(lines)


def _decisions(sources: Sequence[SourceText], *, shares: bool = False) -> str:
    heads = ["source", "from", "licence", "why"]
    lines = [row(*heads, *(["taken by"] if shares else [])), row(*["---"] * (len(heads) + shares))]
    for source in sources:
        cells = [f"`{source.name}`", source.origin, source.licence, source.why]
        if shares:
            taken = [
                f"{_short(name)} {mix[source.name]}%"
                for name, mix in catalogue().mixes.items()
                if source.name in mix
            ]
            cells.append(", ".join(taken) or "none")
        lines.append(row(*cells))
    return "\n".join(lines)
