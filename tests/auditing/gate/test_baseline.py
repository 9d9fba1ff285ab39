"""Baselines: nothing is lost on the way through a file, shards merge, damage is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton._core import TextBatch, Tokenizer, compress_zstd, decompress
from jeton.auditing.gate import Baseline, Collector, TokenizerIdentity
from jeton.auditing.gate.documents import Document, DocumentTable, document_key
from jeton.auditing.gate.rewriting import STEPS
from jeton.errors import FormatError, LimitError, UsageError
from jeton.workload.choice import choose_tokenizers
from tests.auditing.gate.changed_texts import corpus, run


def collected(texts: list[str], tokenizer: Tokenizer, *, source: str, start: int) -> Collector:
    """Collect a shard; documents keep their places in the whole."""
    collector = Collector()
    collector.begin(choose_tokenizers([tokenizer], current=None)[0], current=0)
    for i, text in enumerate(texts):
        collector.add(f"{source}/{start + i}", TextBatch.from_texts([text]))
    return collector


TEXTS = st.lists(st.text(max_size=40), min_size=1, max_size=12)


@given(texts=TEXTS, cut=st.integers(0, 12), swapped=st.booleans())
def test_shards_in_any_order_are_the_whole(
    good: Tokenizer, texts: list[str], cut: int, swapped: bool
) -> None:
    whole = collected(texts, good, source="s", start=0).current
    shards = [
        collected(texts[:cut], good, source="s", start=0).current,
        collected(texts[cut:], good, source="s", start=min(cut, len(texts))).current,
    ]
    a, b = reversed(shards) if swapped else shards
    assert a.statistics.merge(b.statistics).to_plain() == whole.statistics.to_plain()
    assert a.documents.merge(b.documents).to_plain() == whole.documents.to_plain()


@given(text=st.text(), times=st.integers(2, 3))
def test_sums_are_those_of_the_tokenizer(good: Tokenizer, text: str, times: int) -> None:
    seen = collected([text] * times, good, source="s", start=0).current
    whole = seen.statistics.total()
    assert whole.n == times
    assert whole.n_tokens[0] == times * good.count(text)
    assert whole.n_bytes[0] == times * len(text.encode())
    assert whole.n_chars[0] == times * len(text)
    cells = seen.statistics.cells.values()
    assert sum(sum(cell.n_class_bytes) for cell in cells) == whole.n_bytes[-1]


def test_a_file_keeps_everything_and_holds_no_text(good: Tokenizer, tmp_path: Path) -> None:
    texts = [*corpus(), "a very secret sentence", ""]
    before = run(texts, good, price_model="usd:2/8", requests_per_day=10.0)[0]
    path = tmp_path / "tokens.baseline"
    before.write(path)
    again = Baseline.read(path)
    assert again == before
    assert again.to_bytes() == path.read_bytes()
    plain = decompress(path.read_bytes())
    assert b"secret" not in plain
    assert b"documentation" not in plain


def test_a_tokenizer_of_a_file_is_kept_and_a_name_is_enough_for_others(
    good: Tokenizer, tmp_path: Path
) -> None:
    kept = TokenizerIdentity.of(good, name="ours", asked="")
    found = kept.tokenizer()
    assert kept.canonical is not None
    assert found is not None
    assert found.fingerprint == good.fingerprint
    named = run(corpus(), "jeton-general-32k")[0].tokenizer  # type: ignore[arg-type]
    assert (named.asked, named.canonical) == ("jeton-general-32k", None)
    again = named.tokenizer()
    assert again is not None
    assert again.fingerprint == named.fingerprint
    gone = TokenizerIdentity("x", "no-such-tokenizer", "0" * 64, "probe1:")
    assert gone.tokenizer() is None
    other = TokenizerIdentity("x", "jeton-general-32k", "0" * 64, "probe1:")
    assert other.tokenizer() is None, "the name means another one now"


def test_other_passes_and_tokenizers_are_refused(good: Tokenizer, poor: Tokenizer) -> None:
    from jeton.auditing import audit

    collector = Collector()
    audit(iter(corpus()), tokenizers=good, observers=[collector])
    with pytest.raises(UsageError, match="expected the same pass"):
        Baseline.build(audit(iter(corpus()[:5]), tokenizers=good), collector)
    with pytest.raises(UsageError, match="expected the same tokenizer"):
        run(corpus(), good)[0].merge(run(corpus(), poor)[0])


def test_merged_baselines_are_the_baseline_of_both(good: Tokenizer) -> None:
    a, b = run(corpus()[:9], good)[0], run(corpus()[9:], good)[0]
    whole = run(corpus(), good)[0]
    merged = a.merge(b)
    assert merged.side.text.to_plain() == whole.side.text.to_plain()
    assert all(whole.values[name] == value for name, value in merged.values.items())
    assert "tokens_per_document_p95" in merged.values


def damaged(plain: dict[str, Any], *path: str | int, value: Any) -> bytes:
    copy = json.loads(json.dumps(plain))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return compress_zstd(json.dumps(copy).encode())


def test_damage_is_a_clear_error(good: Tokenizer, tmp_path: Path) -> None:
    data = run(corpus(), good)[0].to_bytes()
    plain = json.loads(decompress(data))
    cells = ("side", "text", "cells", 0)
    cases = [
        b"",
        b"no baseline",
        b"[" * 100_000,
        b"[]",
        b'{"schema_version": "jeton.audit/2"}',
        data[: len(data) // 2],
        damaged(plain, "schema_version", value="jeton.baseline/9"),
        damaged(plain, "steps", value=list(STEPS[:-1])),
        damaged(plain, "tokenizer", "canonical", value="&&&"),
        damaged(plain, "values", "n_tokens", value=["1", "0"]),
        damaged(plain, "values", "n_tokens", value="12"),
        damaged(plain, "side", value=None),
        damaged(plain, "side", "text", "wholes", value=[]),
        damaged(plain, *cells, "n_tokens", value=[1, 2]),
        damaged(plain, *cells, "n", value=-1),
        damaged(plain, *cells, "n", value=True),
        damaged(plain, *cells, "n_bytes", 0, value=1e3),
        damaged(plain, *cells, "domain", value=3),
        damaged(plain, "side", "prices", value=[{}]),
        damaged(plain, "side", "billed", value=None),
        damaged(plain, "side", "beginning", value=[1]),
        damaged(plain, "side", "text", "lengths", 0, "steps", 0, value=[[2, 1], [1, 1]]),
        damaged(plain, "documents", "source", 0, value=10**6),
        damaged(plain, "documents", "text", 0, value="xyz"),
        damaged(plain, "documents", "n_tokens", value=[]),
    ]
    for case in cases:
        with pytest.raises(FormatError) as error:
            Baseline.from_bytes(case, path="tokens.baseline")
        assert "tokens.baseline" in str(error.value)
    with pytest.raises(FileNotFoundError, match="--save-baseline"):
        Baseline.read(tmp_path / "none")


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jeton.auditing.gate.baseline.MAX_FILE_BYTES", 1000)
    with pytest.raises(LimitError):
        Baseline.from_bytes(compress_zstd(b" " * 2000))


def test_a_full_table_keeps_the_smallest_keys() -> None:
    table = DocumentTable(limit=5)
    for i in range(50):
        table.add(Document("s", i, i + 1, "", 0, i, i, 1, (1,) * (len(STEPS) + 1)))
    kept = sorted(document_key("s", i) for i in range(50))[:5]
    assert sorted(document.key for document in table.documents) == kept
    assert not table.is_complete
    assert table.largest_key == kept[-1]


def test_a_key_knows_the_record_not_the_folder() -> None:
    assert document_key("before/a.jsonl", 3) == document_key("after/a.jsonl", 3)
    assert document_key("a.jsonl", 3, 17) == document_key("b.jsonl", 4, 17)
    assert document_key("a.jsonl", 3) != document_key("b.jsonl", 3)
