"""Do tokens begin where morphemes begin, and do languages pay alike?

Boundaries of tokens against gold segmentations (``jeton.metrics.boundary_scores``), and what the
declaration of human rights needs in 46 languages under published vocabularies and under ours with
and without parity-aware training. The texts and languages of the latter are those of
docs/studies/better-vocabularies.md, which tries more variants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from jeton import _core
from jeton.metrics import bootstrap_sums, boundary_scores, gini, read_gold
from jeton.training import TrainSettings, count_languages, learn_from_counts
from studies.better_vocabularies_page import DECLARATIONS, articles
from studies.claims.data import Data
from studies.claims.figures import Figure
from studies.domain_tokenizers.recipes import TARGET_SIZE, domain_tokenizers, general_tokenizer
from studies.domain_tokenizers.texts import Texts
from studies.domain_tokenizers.tokens import BASE, PUBLISHED
from studies.domain_tokenizers.work import Work

__all__ = ["GOLD", "measure_boundaries", "measure_parity", "parity_figures"]

GOLD = (("medical", "eng"), ("legal", "eng"))
"""Domain of the tokenizers, and language of the gold words."""

MAX_WORDS = 10_000

PARITY_SIZE = 32_000
PARITY_WINDOW = 100

_MAX_BYTES = 1 << 28


def measure_boundaries(work: Work, texts: Texts, data: Data) -> dict[str, Figure]:
    """F1 of the boundaries, all words, and tokens of a word."""
    figures: dict[str, Figure] = {}
    for domain, code in GOLD:
        found = work.values(
            f"boundaries-{domain}-{code}",
            lambda d=domain, c=code: _boundaries(work, texts, data, d, c),  # type: ignore[misc]
        )
        for name, of in found.items():
            key = f"boundaries.{domain}.{code}.{name}"
            figures[f"{key}.f1"] = Figure(of["f1"], "share", of["low"], of["high"], of["n"])
            figures[f"{key}.precision"] = Figure(of["precision"], "share", n=of["n"])
            figures[f"{key}.recall"] = Figure(of["recall"], "share", n=of["n"])
    return figures


def _boundaries(
    work: Work, texts: Texts, data: Data, domain: str, code: str
) -> Mapping[str, Mapping[str, float]]:
    path = data.folder / "morph" / f"sigmorphon2022.{code}.word.test.gold.tsv.zst"
    text = _core.decompress(path.read_bytes(), max_bytes=_MAX_BYTES).decode("utf-8")
    gold = list(read_gold(text.removesuffix("\n").split("\n")))
    gold = gold[:: max(1, len(gold) // MAX_WORDS)][:MAX_WORDS]
    own = domain_tokenizers(work, texts, domain)
    tokenizers = {
        BASE: data.tokenizer(BASE),
        "general": general_tokenizer(work, texts, domain).smaller(TARGET_SIZE),
        "plain": own["plain"].smaller(TARGET_SIZE),
        "superwords": own["superwords"].smaller(TARGET_SIZE),
    }
    found = {}
    for name, tokenizer in tokenizers.items():
        score = boundary_scores(tokenizer, gold).all_words
        interval = score.f1_interval
        assert interval is not None
        found[name] = {
            "f1": score.f1,
            "low": interval.low,
            "high": interval.high,
            "n": score.n_words,
            "precision": score.precision,
            "recall": score.recall,
        }
    return found


def measure_parity(work: Work, data: Data) -> dict[str, Figure]:
    """Gini of the premiums over English, the dearest language, and tokens of all languages."""

    def make() -> Mapping[str, NDArray[np.int64]]:
        declarations = {row["lang"]: row["text"] for row in data.records("udhr")}
        names = sorted(DECLARATIONS)
        parts = {name: articles(declarations[DECLARATIONS[name]]) or [] for name in names}
        learned: dict[str, list[str]] = {name: [] for name in names}
        for row in data.records("multilingual"):
            if row.get("lang") in learned:
                learned[row["lang"]].append(row["text"])
        data.forget("multilingual")
        tokenizers = {name: data.tokenizer(name) for name in PUBLISHED}
        for kind in ("bpe", "parity-bpe"):
            is_fair = kind == "parity-bpe"
            settings = TrainSettings(
                algorithm=kind,
                vocab_size=PARITY_SIZE,
                options={"units": "aligned", "window": PARITY_WINDOW} if is_fair else {},
            )
            development = {name: iter(parts[name][1::2]) for name in names} if is_fair else None
            counted = count_languages(
                {name: iter(learned[name]) for name in names},
                settings=settings,
                development=development,
            )
            tokenizers[kind] = learn_from_counts(counted, settings=settings).tokenizer
        return {
            name: np.stack([tokenizer.count_batch(parts[lang][::2]) for lang in names], axis=1)
            for name, tokenizer in tokenizers.items()
        }

    arrays = work.arrays("parity", make)
    english = sorted(DECLARATIONS).index("en")
    figures: dict[str, Figure] = {}
    for name, tokens in arrays.items():
        figures |= {
            f"parity.{name}.{key}": figure
            for key, figure in parity_figures(tokens, arrays["bpe"], english).items()
        }
    return figures


def parity_figures(
    tokens: NDArray[np.int64], plain: NDArray[np.int64], english: int
) -> dict[str, Figure]:
    """Premium of languages, from tokens of parallel articles.

    Args:
        tokens: int64 (n_articles, n_languages).
        plain: The same under plain BPE.
        english: The column of English.
    """
    n = tokens.shape[1]

    def premiums(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = sums[:, :n] / sums[:, english : english + 1]
        return found

    both = np.hstack([tokens, plain])
    statistics: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
        "gini": lambda s: np.array([float(gini(row)) for row in premiums(s)]),
        "dearest": lambda s: premiums(s).max(axis=1),
        "all": lambda s: s[:, :n].sum(axis=1) / s[:, n:].sum(axis=1) - 1,
        "english": lambda s: s[:, english] / s[:, n + english] - 1,
    }
    units = {"gini": "Gini", "dearest": "ratio", "all": "share", "english": "share"}
    figures = {}
    for key, statistic in statistics.items():
        value = float(statistic(both.sum(axis=0, dtype=np.float64)[None, :])[0])
        interval = bootstrap_sums(both, statistic)
        low, high = (interval.low, interval.high) if interval else (value, value)
        figures[key] = Figure(value, units[key], min(low, value), max(high, value), len(both))
    return figures
