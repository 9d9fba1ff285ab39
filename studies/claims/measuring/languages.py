"""Chinese against English on many paragraphs, words with spaces between, single characters."""

from __future__ import annotations

import re

from jeton.metrics import parity
from studies.claims.data import Data
from studies.claims.figures import Figure, ratio, share
from studies.claims.measuring.declaration import HAN_RUN, TOKENIZERS

__all__ = ["ABOUT", "KIND", "measure"]

ABOUT = "Chinese against English paragraphs, Chinese with spaces, sequences of characters"
KIND = "long"


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    pairs = [
        ("zh", record["text"], record["en"])
        for record in data.records("po_parallel")
        if record["lang"] == "zh-cn"
    ]
    for name in TOKENIZERS:
        (found,) = parity(data.tokenizer(name), pairs).languages
        interval = found.premium_interval
        assert interval is not None
        figures[f"chinese.{name}"] = Figure(
            found.premium, "ratio", interval.low, interval.high, found.n_texts
        )
    return (
        figures
        | _with_spaces(data, [text for _, text, _ in pairs])
        | _characters(data)
        | _unseen_characters(data)
    )


def _with_spaces(data: Data, texts: list[str]) -> dict[str, Figure]:
    """Spaces between the words of a text, where a unigram model of the language cuts them."""
    cutter = data.tokenizer("xlm_roberta")

    def spaced(match: re.Match[str]) -> str:
        run = match.group()
        starts = sorted({int(start) for start in cutter.encode_with_offsets(run).starts} | {0})
        ends = [*starts[1:], len(run)]
        return " ".join(run[start:end] for start, end in zip(starts, ends, strict=True))

    chinese = [text for text in texts if HAN_RUN.search(text)]
    with_spaces = [HAN_RUN.sub(spaced, text) for text in chinese]
    words = [word for text in with_spaces for word in HAN_RUN.findall(text)]
    figures = {
        "spaces.characters-per-word": Figure(
            sum(map(len, words)) / len(words), "characters", n=len(chinese)
        )
    }
    for name in ("r50k_base", "cl100k_base", "o200k_base", "llama3", "qwen"):
        grown = ratio(data.counts(name, with_spaces), data.counts(name, chinese))
        assert grown.low is not None
        assert grown.high is not None
        figures[f"spaces.growth.{name}"] = Figure(
            grown.value - 1, "share", grown.low - 1, grown.high - 1, grown.n
        )
    return figures


_KINDS = {
    "english": ("english-news", "english-speech", "english-textbook", "english-novel"),
    "medical": ("medical-abstract",),
    "code": ("code-python", "code-java", "code-rust"),
}


def _characters(data: Data) -> dict[str, Figure]:
    """How many times longer a sequence of characters is than one of tokens."""
    texts = {kind: data.heldout(sources) for kind, sources in _KINDS.items()}
    texts["chinese"] = [r["text"] for r in data.records("po_parallel") if r["lang"] == "zh-cn"]
    figures = {}
    for kind, documents in texts.items():
        n_chars = [len(text) for text in documents]
        for name in ("r50k_base", "cl100k_base", "o200k_base"):
            figures[f"characters.{kind}.{name}"] = ratio(n_chars, data.counts(name, documents))
    return figures


def _unseen_characters(data: Data) -> dict[str, Figure]:
    """Characters of held-out documents that a character vocabulary of the others does not have."""
    figures = {}
    for kind, sources in {
        "english": ("english-novel", "english-news", "english-speech", "english-textbook"),
        "translations": ("docs-react-translated", "tldr-translated"),
        "social": ("tweet", "social-comment"),
    }.items():
        known = set().union(*map(set, data.trained(sources)))
        documents = data.heldout(sources)
        unseen = [sum(char not in known for char in text) for text in documents]
        figures[f"unseen.vocabulary.{kind}"] = Figure(len(known), "characters")
        figures[f"unseen.documents.{kind}"] = share([n > 0 for n in unseen])
        figures[f"unseen.characters-per-million.{kind}"] = Figure(
            1e6 * sum(unseen) / sum(map(len, documents)), "characters per million", n=len(documents)
        )
    return figures
