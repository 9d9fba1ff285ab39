"""Every golden set: ids, counts, places, threads and text are those of its reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jeton import Tokenizer
from scripts.conformance.checks import check_set
from scripts.conformance.known import known_differences
from scripts.conformance.references import reference_of
from scripts.conformance.sets import N_CASES, SETS, Case, GoldenSet, read_set

# Why decode(encode(text)) is not the text, set by set. Each is a property of the published file,
# and the reference library loses exactly the same.
LACKS_BYTES = {"falcon_hf": 24, "refact_recon_hf": 7, "starcoder_recon_hf": 7}
"""No token for some bytes; sets and the number of cases that hold such bytes."""

LETTERS_ARE_BYTES = {"deepseek-coder_recon_hf": 38, "deepseek-llm_recon_hf": 38}
"""Added tokens such as "\u00f6", which the byte-level decoder takes for the byte 0xF6."""

BYTE_LEVEL_SETS = (
    "cl100k_base",
    "claude",
    "deepseek-coder_recon_hf",
    "deepseek-llm_recon_hf",
    "deepseek_v3_recon_hf",
    "falcon_hf",
    "focus_de_bpe_50k_hf",
    "gpt2_hf",
    "gpt2_vocab_merges",
    "gpt_neox_20b_hf",
    "kimi_k2",
    "llama3",
    "llama4",
    "modernbert_hf",
    "o200k_base",
    "p50k_base",
    "phi-2_hf",
    "qwen",
    "r50k_base",
    "refact_recon_hf",
    "roberta-base_hf",
    "roberta_vocab_merges",
    "rwkv_world",
    "starcoder_recon_hf",
    "tekken_240718",
    "whisper_multilingual",
)


def test_no_set_is_missing(shared: Path) -> None:
    folder = shared / "data" / "golden"
    there = {path.name.removesuffix(".header.json") for path in folder.glob("*.header.json")}
    assert set(SETS) == there
    assert len(set(SETS)) == len(SETS) == 60


@pytest.mark.parametrize("name", SETS)
def test_set(name: str, shared: Path) -> None:
    golden = read_set(shared, name)
    assert len(golden.cases) == N_CASES
    assert golden.is_byte_level == (name in BYTE_LEVEL_SETS)
    # Held here, so that the check of the set loads the same object.
    tokenizer = golden.tokenizer()
    result = check_set(
        golden,
        threads=(1, 2),  # `make conformance` takes 8 too
        reference=reference_of(golden),
        known=known_differences().get(name, ()),
    )
    assert result.not_loaded is None
    assert not result.faults[:3], f"{len(result.faults)} faults"
    if golden.is_byte_level:
        _assert_that_decoding_gives_the_text_back(golden, tokenizer)


def test_some_cases_tell_ids_of_special_tokens(shared: Path) -> None:
    key = '"ids_special_on"'
    n_special = 0
    for name in SETS:
        with (shared / "data" / "golden" / f"{name}.jsonl").open(encoding="utf-8") as lines:
            told = [json.loads(line) for line in lines if key in line]
        n_special += sum(record.get("ids_special_on") is not None for record in told)
    assert n_special == 50


def _assert_that_decoding_gives_the_text_back(golden: GoldenSet, tokenizer: Tokenizer) -> None:
    def comes_back(case: Case) -> bool:
        normalized = tokenizer.normalize(case.text)
        # A space that pre-tokenization puts in front is decoded, too.
        seen = "".join(tokenizer.pretokenize(case.text))
        return tokenizer.decode(case.ids) in (normalized, seen)

    lossy = [case for case in golden.cases if not comes_back(case)]
    expected = {**LACKS_BYTES, **LETTERS_ARE_BYTES}.get(golden.name, 0)
    assert len(lossy) == expected, [case.text[:80] for case in lossy[:3]]
    for case in lossy:
        assert _why_lossy(tokenizer, case), case.text[:200]


def _why_lossy(tokenizer: Tokenizer, case: Case) -> bool:
    """True if the text holds a byte without a token, or an added token that decodes otherwise."""
    without_token = {b for b in range(256) if tokenizer.bytes_to_id(bytes([b])) is None}
    otherwise = [a for a in tokenizer.added_tokens if tokenizer.decode([a.id]) != a.content]
    return not without_token.isdisjoint(tokenizer.normalize(case.text).encode()) or any(
        added.content in case.text for added in otherwise
    )
