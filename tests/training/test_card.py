"""The training card: what it holds, that it comes back, that nonsense is refused."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import pytest

from jeton import _core
from jeton.corpus import open_documents
from jeton.errors import EmptyCorpusError, FormatError
from jeton.training import (
    HeldOut,
    TrainingCard,
    TrainingSource,
    TrainSettings,
    count_pretokens,
    heldout_bytes_per_token,
    read_card,
    train_from_counts,
    write_card,
)
from jeton.training.card import card_path

DAY = datetime.date(2026, 11, 21)
TEXTS = ["one two three", "two three four", "three four five"] * 4
SETTINGS = TrainSettings(vocab_size=270, special_tokens=("<|end|>",))


@pytest.fixture
def tokenizer() -> _core.Tokenizer:
    return train_from_counts(count_pretokens(iter(TEXTS)), settings=SETTINGS, name="numbers")


@pytest.fixture
def card(tokenizer: _core.Tokenizer) -> TrainingCard:
    return TrainingCard.of(
        tokenizer,
        corpus=count_pretokens(iter(TEXTS)),
        settings=SETTINGS,
        date=DAY,
        command="jeton train numbers.txt",
        heldout=(HeldOut("rest.txt", 2, 30, 10), HeldOut("empty.txt", 1, 0, 0)),
    )


def test_a_card_comes_back_as_it_was(card: TrainingCard, tmp_path: Path) -> None:
    path = tmp_path / "numbers.card.json"
    write_card(path, card)
    again = read_card(path)
    assert again.to_dict() == card.to_dict()
    assert replace(again, settings=card.settings) == card
    assert list(tmp_path.iterdir()) == [path]


def test_a_card_says_what_it_is_about(card: TrainingCard, tokenizer: _core.Tokenizer) -> None:
    assert card.fingerprint == tokenizer.fingerprint
    assert card.sources == (TrainingSource("<texts>", 12, sum(map(len, TEXTS))),)
    data = json.loads(json.dumps(card.to_dict()))
    assert data["schema_version"] == "jeton.card/1"
    assert (data["name"], data["date"], data["vocab_size"]) == ("numbers", "2026-11-21", 270)
    assert (data["n_documents"], data["n_bytes"]) == (12, sum(map(len, TEXTS)))
    assert data["settings"]["special_tokens"] == ["<|end|>"]
    assert [held["bytes_per_token"] for held in data["heldout"]] == [3.0, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not a training card"),
        (b"\xff", "not a training card"),
        (b"[]", "holds a list, expected an object"),
        (b"{}", "schema_version is None, expected 'jeton.card/1'"),
        (b'{"schema_version": "jeton.card/1"}', "'settings' is missing"),
    ],
)
def test_what_is_no_card(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.card.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        read_card(path)
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("change", [{"date": "soon"}, {"settings": {"size": 3}}, {"sources": [1]}])
def test_a_card_with_something_wrong_in_it(card: TrainingCard, change: dict[str, object]) -> None:
    with pytest.raises(FormatError, match="not a valid training card"):
        TrainingCard.from_dict({**card.to_dict(), **change})


def test_where_a_card_belongs() -> None:
    assert card_path("a/b-32k.tiktoken.zst") == Path("a/b-32k.card.json")
    assert card_path("a/tokenizer.json") == Path("a/tokenizer.card.json")


def test_heldout_is_measured_by_source(tokenizer: _core.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("three four", encoding="utf-8")
    (tmp_path / "b.txt").write_text("zzz zzz", encoding="utf-8")
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    first, second = heldout_bytes_per_token(tokenizer, open_documents(files))
    assert (first.n_documents, first.n_bytes) == (1, 10)
    assert first.n_tokens == len(tokenizer.encode("three four"))
    assert first.bytes_per_token == 10 / first.n_tokens
    assert second.bytes_per_token == 1.0  # nothing of it was learned
    with pytest.raises(EmptyCorpusError):
        heldout_bytes_per_token(tokenizer, open_documents(iter([""])))
