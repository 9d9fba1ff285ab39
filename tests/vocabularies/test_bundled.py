"""The bundled tokenizers: they load, say what they are, keep their ids, and fit the package."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import registry
from jeton.training import DEFAULT_PATTERN, TrainingCard, TrainSettings, read_card

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "python" / "jeton" / "vocabularies"
MAX_TOTAL_BYTES = 3_000_000

# Frozen: the ids of a version never change. A digest of the ids of PROBE, and some of the ids.
PROBE = (
    "The patient was given hydroxychloroquine 200 mg twice daily; notwithstanding the foregoing, "
    "the Court's opinion (No. 09-1233) isn't final.\n\n"
    "def count(texts: list[str]) -> int:\n    return sum(len(t) for t in texts)  # 1234567\n"
    '{"ключ": ["日本語", "😀", null, 1.5e-3]}\tÉcole ﬁn\r\n'
)
FROZEN = {
    "jeton-code-32k-v1": (
        "1d176567dd087a75ceb05452c77237454f6a945e9f37ac8d8018562f7098ab62",
        116,
        "c0463182018c9903cf8935667ff05218fec29dd564bde2293cbf01fae49f21ca",
    ),
    "jeton-code-32k-v2": (
        "f620106c523f0d0fcee8a833f8ebe3b4e58710e514afc5bf6cc606b359b7d13e",
        106,
        "654e3c11d24e3f72859a390fed2be9dec062cbe0b39c8b34fb97f2d6417f3a9d",
    ),
    "jeton-general-32k-v1": (
        "94d39c4c390d18b66b82cf8a14c2acb9694037e6f88c47371d2fbbdd8a4a51db",
        102,
        "434027958f75b35050059911ca05e8b1ad67ab7536e3710487657a67593a8379",
    ),
    "jeton-general-32k-v2": (
        "6afc2456a4ec5cd6ca7d0016d22f1758af77b3802547c71632e990a008341735",
        95,
        "7efe1312f28393a140270fbbca377550716b21dd02438cdbbe61611a4bdee2c9",
    ),
    "jeton-legal-32k-v1": (
        "e27c26f6ccaeb817f863f3221ef30193a489a6c80d5300d8ca59f2b7082dc886",
        128,
        "ab7d6b5112d44285b485f21d5257fe7e734f37692228be8c8c6a578a1bb03b4c",
    ),
    "jeton-legal-32k-v2": (
        "51e4de9420a0297484b1637c1825f5e00a40b68b6d87e9b31ad31b363c17ce5c",
        113,
        "620d7aebbcf0335a79f1b4579276d3baf1122e6711b6bdc86a78529d9ada6a6c",
    ),
    "jeton-medical-32k-v1": (
        "3ee59b8d7d74432356a42f53c2bc76cdeb3bebb1a3ec34c7206f3d6da7feb4da",
        130,
        "6c85f8850111847ab9510568549a1c46ba10e3097b5a0442fe0a7e514d8e5cbd",
    ),
    "jeton-medical-32k-v2": (
        "1215bf52780d84bda8e0e2f23244a39ccb8aad5fbef81369373318a0d426d557",
        110,
        "da7068340bc145dd9e11e7b65a2c6b43174faf6cfc7e73d7523736da265cc9f4",
    ),
}
NAMES = sorted(FROZEN)


def versionless(name: str) -> str:
    return re.sub(r"-v[0-9]+$", "", name)


def digest_of_ids(tokenizer: jeton.Tokenizer) -> tuple[int, str]:
    ids = tokenizer.encode_array(PROBE)
    digest = hashlib.sha256(np.asarray(ids, dtype="<u4").tobytes()).hexdigest()
    return len(ids), digest


def card_data(name: str) -> dict[str, Any]:
    data = registry.training_card(name)
    assert data is not None
    return data


def test_exactly_these_are_bundled() -> None:
    listed = {entry.name for entry in registry.list_vocabularies() if entry.where == "bundled"}
    assert listed == {*NAMES, *(versionless(name) for name in NAMES)}


@pytest.mark.parametrize("name", NAMES)
def test_loads_by_name_with_and_without_version(name: str) -> None:
    tokenizer = jeton.load(name)
    assert tokenizer.name == name
    # v2 has tokens of several words: it is had by its whole name only.
    words = jeton.load(versionless(name))
    assert words.name == f"{versionless(name)}-v1"
    assert (words.fingerprint == tokenizer.fingerprint) == (words.name == name)


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_frozen(name: str) -> None:
    fingerprint, *ids = FROZEN[name]
    assert digest_of_ids(jeton.load(name)) == tuple(ids)
    assert jeton.load(name).fingerprint == fingerprint


@pytest.mark.parametrize("name", NAMES)
def test_is_what_it_is_said_to_be(name: str) -> None:
    tokenizer = jeton.load(name)
    assert tokenizer.vocab_size == tokenizer.n_tokens == 32_000
    assert tokenizer.special_tokens == {"<|endoftext|>": 0}
    assert all(tokenizer.bytes_to_id(bytes([byte])) is not None for byte in range(256))
    assert 0 not in tokenizer.encode("a<|endoftext|>b")
    assert 0 in tokenizer.encode("a<|endoftext|>b", allow_special="all")
    assert int(tokenizer.token_lengths()[1:].max()) <= 64


@functools.cache
def held(name: str) -> jeton.Tokenizer:
    """Loaded once: `jeton.load` reads the file again when nobody holds the tokenizer."""
    return jeton.load(name)


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text())
def test_every_text_comes_back(name: str, text: str) -> None:
    tokenizer = held(name)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.count(text) == len(ids)


@pytest.mark.parametrize("name", NAMES)
def test_probe_comes_back(name: str) -> None:
    tokenizer = jeton.load(name)
    assert tokenizer.decode(tokenizer.encode(PROBE)) == PROBE


@pytest.mark.parametrize("name", NAMES)
def test_the_second_version_has_tokens_of_several_words(name: str) -> None:
    tokenizer = jeton.load(name)
    tokens = [tokenizer.id_to_bytes(id) for id in range(257, tokenizer.vocab_size)]
    n_superwords = sum(len(token.split()) > 1 for token in tokens)
    assert (n_superwords > 3_000) == name.endswith("-v2")


@pytest.mark.parametrize("name", NAMES)
def test_card_is_complete_and_about_this_tokenizer(name: str) -> None:
    card: TrainingCard = read_card(FOLDER / f"{name}.card.json")
    tokenizer = jeton.load(name)
    assert card.name == name
    assert card.fingerprint == tokenizer.fingerprint
    assert card.vocab_size == card.settings.vocab_size == tokenizer.vocab_size
    assert isinstance(card.settings, TrainSettings)
    assert card.settings.pattern == DEFAULT_PATTERN
    assert datetime.date(2026, 1, 1) <= card.date
    assert card.command == "python scripts/build_vocabularies.py"
    assert card.jeton_version
    assert card.sources
    assert all(source.n_documents > 0 and source.n_bytes > 0 for source in card.sources)
    assert card.n_bytes > 10_000_000
    trained = {source.name for source in card.sources}
    assert {held.source for held in card.heldout} <= trained
    missing = trained - {held.source for held in card.heldout}
    assert missing <= {"corpora/legal.jsonl.zst#legal-treaty"}  # one document: on one side only
    assert all(held.n_tokens > 0 for held in card.heldout)


@pytest.mark.parametrize("name", NAMES)
def test_card_states_licences_and_no_path_of_a_machine(name: str) -> None:
    data = card_data(name)
    by_name = {entry["source"]: entry for entry in data["provenance"]}
    assert set(by_name) == {source["name"] for source in data["sources"]}
    for entry in by_name.values():
        assert entry["origin"]
        assert entry["why"]
        assert 1 <= entry["percent_of_training_documents"] <= 100
        assert re.search(
            r"public domain|CC0|CC BY|MIT|BSD|Apache|PSF|Unlicense", entry["licence"]
        ), entry
        assert not re.search(r"BY-SA|BY-NC|GPL|research|third part", entry["licence"]), entry
    refused = {entry["source"] for entry in data["not_used"]}
    assert refused
    assert not refused & set(by_name)
    for source in [*by_name, *refused]:
        assert re.match(r"(corpora|terms)/[a-z0-9_]+\.", source), source


def test_all_fit_the_package() -> None:
    files = [path for path in FOLDER.iterdir() if path.is_file()]
    assert sorted(path.name for path in files) == sorted(
        f"{name}{suffix}" for name in NAMES for suffix in (".jeton.json.zst", ".card.json")
    )
    assert sum(path.stat().st_size for path in files) <= MAX_TOTAL_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_the_kind_of_text_it_is_for_is_what_it_does_best(name: str) -> None:
    texts = {
        "medical": "Patients with spondylitis and hypothyroidism may develop cardiomyopathy.",
        "legal": "Petitioners appealed; the District Court granted summary judgment to respondent.",
        "code": '    if err != nil {\n        return nil, fmt.Errorf("parse: %w", err)\n    }\n',
    }
    kind = name.split("-")[1]
    if kind == "general":  # takes some of everything
        general = jeton.load(name)
        assert general.count(texts["code"]) < jeton.load("jeton-legal-32k").count(texts["code"])
        return
    own = jeton.load(name).count(texts[kind])
    others = [
        jeton.load(other).count(texts[kind])
        for other in NAMES
        if other != name and other[-2:] == name[-2:]
    ]
    assert own <= min(others)
    assert own < max(others)


def test_documentation_gives_the_cards_figures() -> None:
    text = (ROOT / "docs" / "reference" / "vocabularies.md").read_text(encoding="utf-8")
    rows = {
        line.split("|")[1].strip(" `"): [cell.strip(" *") for cell in line.split("|")[2:-1]]
        for line in text.partition("<!-- trained: begin")[2]
        .partition("<!-- trained: end")[0]
        .splitlines()
        if line.startswith("| `")
    }
    kinds = ("general", "medical", "legal", "code")
    columns = {f"jeton-{k}-32k-v{v}": 2 * n + v + 1 for n, k in enumerate(kinds) for v in (1, 2)}
    n_compared = 0
    for name in NAMES:
        for held in card_data(name)["heldout"]:
            cells = rows[held["source"]]
            assert cells[0] == f"{held['n_documents']:,}"
            assert cells[columns[name]] == f"{held['bytes_per_token']:.3f}"
            n_compared += 1
    assert n_compared > 40
    for name in NAMES:
        assert json.dumps(card_data(name)["fingerprint"][:16])[1:-1] in text
