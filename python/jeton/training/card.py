"""The training card: what a tokenizer was made from, how, and how well it does on text kept apart.

A card is one JSON file beside the tokenizer (``NAME.card.json``). It holds facts only: everything
in it was counted or given, and the fingerprint ties it to one tokenizer.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from jeton._core import TextBatch, Tokenizer, __version__
from jeton._files import write_whole
from jeton._foreign import json_of
from jeton._plain import strict_json
from jeton.corpus import CorpusCare, InputFile, require_text
from jeton.errors import FormatError
from jeton.formats import name_of_file
from jeton.registry import TokenizerLike, resolve
from jeton.training.continuing import ContinueSettings
from jeton.training.counted import CountedCorpus, TrainingSource
from jeton.training.settings import TrainSettings

CARD_SUFFIX = ".card.json"

_SCHEMA_VERSION = "jeton.card/1"

_N_SKIPPED_SHOWN = 100
"""Skipped files that a card names; it has the number of all."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Text that the tokenizer was not trained on, under it.

    Attributes:
        source: Name of the input.
        n_documents: Documents of it.
        n_bytes: Bytes of their text, UTF-8.
        n_tokens: Tokens of their text, no special ones added.
    """

    source: str
    n_documents: int
    n_bytes: int
    n_tokens: int

    @property
    def bytes_per_token(self) -> float | None:
        """Higher is better; None for a source without text."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None


@dataclass(frozen=True, slots=True)
class BaseTokenizer:
    """A tokenizer that was continued.

    Attributes:
        name: Its name; None where it has none.
        fingerprint: SHA-256 of its canonical form.
        vocab_size: Ids that it has.
    """

    name: str | None
    fingerprint: str
    vocab_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCard:
    """Origin of a tokenizer: its text, its settings, its algorithm.

    Attributes:
        name: Name of the tokenizer; None where it has none.
        fingerprint: SHA-256 of its canonical form: the tokenizer that this card is about.
        vocab_size: Tokens that it has; fewer than the settings ask for where the text ended.
        settings: Hyper-parameters; those of continuing where there is a ``base``.
        sources: The corpus of the training.
        jeton_version: The version of Jeton that trained it.
        date: The day, as the caller gave it.
        command: The command; empty where it was not a command.
        heldout: How it does on text kept apart, by source; empty where that was not measured.
        learned: The algorithm's notes on its work: languages and their cost, for one.
        base: The tokenizer that was continued; None: it was trained anew.
        made: How the text was read and cared for (``reading``, ``care``), the least count of a
            pretoken (``min_count``), and what was left out, by cause.
        loading: Keywords with which ``jeton.load`` reads a rank file as it was meant.
    """

    name: str | None
    fingerprint: str
    vocab_size: int
    settings: TrainSettings | ContinueSettings
    sources: tuple[TrainingSource, ...]
    jeton_version: str
    date: datetime.date
    command: str = ""
    heldout: tuple[HeldOut, ...] = ()
    learned: Mapping[str, Any] = field(default_factory=dict)
    base: BaseTokenizer | None = None
    made: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        *,
        corpus: CountedCorpus,
        settings: TrainSettings | ContinueSettings,
        date: datetime.date,
        command: str = "",
        heldout: tuple[HeldOut, ...] = (),
        learned: Mapping[str, Any] | None = None,
        base: Tokenizer | None = None,
        loading: Mapping[str, Any] | None = None,
    ) -> TrainingCard:
        """The card of a tokenizer that was just trained, or continued from ``base``."""
        return cls(
            name=tokenizer.name,
            fingerprint=tokenizer.fingerprint,
            vocab_size=tokenizer.vocab_size,
            settings=settings,
            sources=corpus.sources,
            jeton_version=__version__,
            date=date,
            command=command,
            heldout=heldout,
            learned=dict(learned or {}),
            base=None
            if base is None
            else BaseTokenizer(base.name, base.fingerprint, base.vocab_size),
            made=_made(corpus),
            loading=dict(loading or {}),
        )

    @property
    def care(self) -> CorpusCare:
        """Care of documents before they counted, as ``count_pretokens`` takes it."""
        return CorpusCare.from_dict(self.made.get("care", {}))

    @property
    def reading(self) -> Mapping[str, Any]:
        """Keywords of ``count_pretokens`` that say how inputs were read."""
        return dict(self.made.get("reading", {}))

    @property
    def n_documents(self) -> int:
        """Documents that it was trained on."""
        return sum(source.n_documents for source in self.sources)

    @property
    def n_bytes(self) -> int:
        """Bytes of text that it was trained on, UTF-8."""
        return sum(source.n_bytes for source in self.sources)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values, in the order of the file."""
        card = {
            "schema_version": _SCHEMA_VERSION,
            "name": self.name,
            "fingerprint": self.fingerprint,
            "vocab_size": self.vocab_size,
            "date": self.date.isoformat(),
            "jeton_version": self.jeton_version,
            "command": self.command,
            "settings": self.settings.to_card(),
            "n_documents": self.n_documents,
            "n_bytes": self.n_bytes,
            "sources": [source.to_dict() for source in self.sources],
            "heldout": [
                {**asdict(held), "bytes_per_token": held.bytes_per_token} for held in self.heldout
            ],
        }
        if self.made:
            card["made"] = dict(self.made)
        if self.loading:
            card["loading"] = dict(self.loading)
        if self.base is not None:
            card["base"] = asdict(self.base)
        return {**card, "learned": dict(self.learned)} if self.learned else card

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrainingCard:
        """The card that ``to_dict`` wrote.

        Raises:
            FormatError: Something is missing, or not of the kind it should be.
        """
        version = data.get("schema_version")
        if version != _SCHEMA_VERSION:
            raise FormatError(
                f"not a training card: schema_version is {version!r}, expected {_SCHEMA_VERSION!r}",
                format="training card",
            )
        try:
            settings = dict(data["settings"])
            base = BaseTokenizer(**data["base"]) if "base" in data else None
            listed = "special_tokens" if base is None else "forbidden_tokens"
            settings[listed] = tuple(settings[listed])
            return cls(
                name=data["name"],
                fingerprint=str(data["fingerprint"]),
                vocab_size=int(data["vocab_size"]),
                settings=(
                    TrainSettings(**settings) if base is None else ContinueSettings(**settings)
                ),
                sources=tuple(TrainingSource(**source) for source in data["sources"]),
                jeton_version=str(data["jeton_version"]),
                date=datetime.date.fromisoformat(data["date"]),
                command=str(data["command"]),
                heldout=tuple(
                    HeldOut(**{part.name: held[part.name] for part in fields(HeldOut)})
                    for held in data["heldout"]
                ),
                learned=dict(data.get("learned", {})),
                base=base,
                made=dict(data.get("made", {})),
                loading=dict(data.get("loading", {})),
            )
        except (KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise FormatError(
                f"not a valid training card: {reason}", format="training card"
            ) from error


def _made(corpus: CountedCorpus) -> dict[str, Any]:
    """How the text of a corpus was read and cared for, and what was left out."""
    rare = corpus.rare
    tally = corpus.left_out.to_dict()
    return {
        "reading": dict(corpus.reading),
        "care": dict(corpus.care),
        "left_out_documents": {
            **{name: number for name, number in tally.items() if name != "n_held_out"},
            "n_left_out": tally["n_left_out"] - tally["n_held_out"],
            "n_null": corpus.n_null_documents,
            "n_bad_records": corpus.n_bad_records,
        },
        "n_held_out_documents": tally["n_held_out"],
        "skipped_files": [
            {"name": file.path, "reason": file.skipped_because}
            for file in corpus.skipped[:_N_SKIPPED_SHOWN]
        ],
        "n_skipped_files": len(corpus.skipped),
        "min_count": corpus.min_count,
        "left_out_pretokens": {
            "n_distinct": rare.n_distinct,
            "n_pretokens": rare.n_pretokens,
            "n_bytes": rare.n_bytes,
        },
    }


def card_path(tokenizer_path: str | os.PathLike[str]) -> Path:
    """Where the card of a tokenizer saved at this path belongs: ``NAME.card.json`` beside it."""
    path = Path(tokenizer_path)
    return path.with_name(f"{name_of_file(path)}{CARD_SUFFIX}")


def write_card(path: str | os.PathLike[str], card: TrainingCard) -> None:
    """Write a card, whole or not at all.

    Raises:
        OSError: The folder is missing, the disk is full ...
    """
    write_whole(path, strict_json(card.to_dict(), indent=2) + "\n")


def read_card(path: str | os.PathLike[str]) -> TrainingCard:
    """Read a card.

    Raises:
        FormatError: It is not a card.
        OSError: The file cannot be read.
    """
    name = os.fspath(path)
    try:
        data = json_of(Path(path).read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise FormatError(f"the file holds a {type(data).__name__}, expected an object")
        return TrainingCard.from_dict(data)
    except FormatError as error:
        raise FormatError(f"{name}: {error}", path=name, format="training card") from error
    except ValueError as error:  # not JSON, or not UTF-8
        raise FormatError(
            f"{name}: not a training card: {error}", path=name, format="training card"
        ) from error


def heldout_bytes_per_token(
    tokenizer: TokenizerLike,
    batches: Iterable[tuple[InputFile, TextBatch]],
    *,
    num_threads: int | None = None,
) -> tuple[HeldOut, ...]:
    """Measure a tokenizer on text that it was not trained on, by source.

    Args:
        tokenizer: The tokenizer, or its name or path.
        batches: As ``open_documents`` gives them.
        num_threads: Threads; None: all there are.

    Raises:
        EmptyCorpusError: There is no text.
    """
    tokenizer = resolve(tokenizer)
    found: dict[str, HeldOut] = {}
    for file, batch in batches:
        before = found.get(file.path, HeldOut(file.path, 0, 0, 0))
        n_tokens = int(tokenizer.count_batch(batch, num_threads=num_threads).sum())
        found[file.path] = HeldOut(
            source=file.path,
            n_documents=before.n_documents + len(batch),
            n_bytes=before.n_bytes + batch.n_bytes,
            n_tokens=before.n_tokens + n_tokens,
        )
    held = tuple(found.values())
    require_text(
        n_documents=sum(item.n_documents for item in held),
        n_bytes=sum(item.n_bytes for item in held),
    )
    return held
