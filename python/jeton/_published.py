"""Published vocabularies, read from ``published_vocabularies.json``.

A rank file in tiktoken's format says nothing about its split pattern, normalization and special
tokens. They are looked up here: by the SHA-256 of the file's content, so that renaming a file
changes nothing, and, where several vocabularies share one rank file (``r50k_base``, ``gpt2``,
``whisper_gpt2``), by the name that was asked for.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

_TABLE = Path(__file__).with_name("published_vocabularies.json")


class RankFile:
    """One published rank file.

    Neither a dataclass nor a named tuple: Python compiles code to make these, which takes longer
    than to look a vocabulary up.

    Attributes:
        name: The file's name without suffixes.
        sha256: SHA-256 of the uncompressed file, 64 hexadecimal digits.
        n_bytes: Size of the uncompressed file.
        n_ranks: Number of its lines.
        url: The published address; None where there is none that may be used without terms.
        source: Where these facts come from.
    """

    __slots__ = ("n_bytes", "n_ranks", "name", "sha256", "source", "url")

    def __init__(
        self, *, name: str, sha256: str, n_bytes: int, n_ranks: int, url: str | None, source: str
    ) -> None:
        self.name = name
        self.sha256 = sha256
        self.n_bytes = n_bytes
        self.n_ranks = n_ranks
        self.url = url
        self.source = source


class PublishedVocabulary:
    """Facts that turn a rank file into a tokenizer.

    Attributes:
        name: The name to load it by.
        rank_file: The file that it is made from.
        pattern: Name of its split pattern, as in ``published_patterns()`` of the core.
        normalizer: ``"nfc"`` or None.
        runs: The special tokens as the table has them.
        source: Where pattern and special tokens were published.
        comment: A note for the reader, such as tokens that are left out.
    """

    __slots__ = ("comment", "name", "normalizer", "pattern", "rank_file", "runs", "source")

    def __init__(
        self,
        *,
        name: str,
        rank_file: RankFile,
        pattern: str,
        normalizer: Literal["nfc"] | None,
        runs: list[dict[str, Any]],
        source: str,
        comment: str,
    ) -> None:
        self.name = name
        self.rank_file = rank_file
        self.pattern = pattern
        self.normalizer = normalizer
        self.runs = runs
        self.source = source
        self.comment = comment

    @property
    def special_tokens(self) -> dict[str, int]:
        """Texts and ids of the special tokens, in id order.

        Written out when they are asked for: all vocabularies together have thousands, and who
        loads one of them would wait for the others, too.
        """
        return _special_tokens(self.runs)


@cache
def rank_files() -> dict[str, RankFile]:
    """Every published rank file by name."""
    return {
        name: RankFile(
            name=name,
            sha256=facts["sha256"],
            n_bytes=facts["bytes"],
            n_ranks=facts["ranks"],
            url=facts["url"],
            source=facts["source"],
        )
        for name, facts in _table()["rank_files"].items()
    }


@cache
def published_vocabularies() -> dict[str, PublishedVocabulary]:
    """Every published vocabulary by name, in the table's order."""
    return {
        name: PublishedVocabulary(
            name=name,
            rank_file=rank_files()[facts["rank_file"]],
            pattern=facts["pattern"],
            normalizer=facts["normalizer"],
            runs=facts["special_tokens"],
            source=facts["source"],
            comment=facts.get("comment", ""),
        )
        for name, facts in _table()["vocabularies"].items()
    }


def vocabularies_of_file(sha256: str) -> list[PublishedVocabulary]:
    """The vocabularies made from the rank file with this digest; the first is the usual one."""
    return [v for v in published_vocabularies().values() if v.rank_file.sha256 == sha256]


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return table


def _special_tokens(runs: list[dict[str, Any]]) -> dict[str, int]:
    """Write out runs of consecutive ids.

    ``{"first_id": 5, "names": ["<a>", {"each": "<x{x}>", "first": 0, "count": 2}]}`` becomes
    ``{"<a>": 5, "<x0>": 6, "<x1>": 7}``.
    """
    tokens: dict[str, int] = {}
    for run in runs:
        names: list[str] = []
        for part in run["names"]:
            names.extend(_names(part))
        tokens.update({name: run["first_id"] + i for i, name in enumerate(names)})
    return tokens


def _names(part: str | dict[str, Any]) -> list[str]:
    if isinstance(part, str):
        return [part]
    if "languages" in part:
        languages: list[str] = _table()["whisper_languages"]["codes"][: part["languages"]]
        return [f"<|{code}|>" for code in languages]
    numbers = range(part["first"], part["first"] + part["count"])
    if "step" in part:
        return [part["each"].format(x=number * part["step"]) for number in numbers]
    before, after = part["each"].split("{x}")
    return [f"{before}{number}{after}" for number in numbers]
