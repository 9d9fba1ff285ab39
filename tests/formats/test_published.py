"""The table of published vocabularies against what was published."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path

import pytest

from jeton import _core
from jeton._published import published_vocabularies, rank_files, vocabularies_of_file

NAMES = sorted(published_vocabularies())


@pytest.mark.parametrize("name", NAMES)
def test_special_tokens_have_ids_of_their_own(name: str) -> None:
    vocabulary = published_vocabularies()[name]
    ids = list(vocabulary.special_tokens.values())
    assert len(set(ids)) == len(ids)
    # p50k_base leaves rank 50256 free for its special token; everything else comes after the ranks.
    lowest = 50256 if vocabulary.rank_file.name == "p50k_base" else vocabulary.rank_file.n_ranks
    assert min(ids) >= lowest


@pytest.mark.parametrize("name", NAMES)
def test_pattern_is_one_that_the_core_has(name: str) -> None:
    assert published_vocabularies()[name].pattern in _core.published_patterns()


@pytest.mark.parametrize("name", NAMES)
def test_everything_has_a_source(name: str) -> None:
    vocabulary = published_vocabularies()[name]
    assert vocabulary.source
    assert vocabulary.rank_file.source


@pytest.mark.rivals
@pytest.mark.parametrize(
    "name",
    ["gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"],
)
def test_openai_special_tokens_are_those_of_tiktoken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    public = importlib.import_module("tiktoken_ext.openai_public")
    asked: list[tuple[str, str]] = []

    def no_download(address: str, *, expected_hash: str) -> dict[bytes, int]:
        asked.append((address, expected_hash))
        return {}

    monkeypatch.setattr(public, "load_tiktoken_bpe", no_download)
    monkeypatch.setattr(public, "data_gym_to_mergeable_bpe_ranks", lambda **_: {})
    theirs = dict(public.ENCODING_CONSTRUCTORS[name]()["special_tokens"])
    ours = published_vocabularies()[name]
    # One id, two names in tiktoken; the table's comment says which one is kept.
    if name == "o200k_harmony":
        assert theirs.pop("<|reserved_200018|>") == theirs["<|endofprompt|>"]
    assert ours.special_tokens == theirs
    if name != "gpt2":
        assert asked == [(ours.rank_file.url, ours.rank_file.sha256)]


@pytest.mark.parametrize(
    ("name", "n_special", "facts"),
    [
        # meta-llama/llama-models models/llama3/tokenizer.py
        ("llama3", 256, {"<|begin_of_text|>": 128000, "<|eot_id|>": 128009,
                         "<|reserved_special_token_245|>": 128255}),
        # ... models/llama4/tokenizer.py: its comments give the first and last id of each group
        ("llama4", 2048, {"<|begin_of_text|>": 200000, "<|header_start|>": 200005,
                          "<|finetune_right_pad|>": 200018, "<|image_start|>": 200080,
                          "<|vision_reserved_special_token_1047|>": 201133,
                          "<|reasoning_reserved_special_token_0|>": 201134,
                          "<|reasoning_thinking_end|>": 201143,
                          "<|reserved_special_token_903|>": 202047}),
        # tokenization_qwen.py
        ("qwen", 208, {"<|endoftext|>": 151643, "<|im_end|>": 151645, "<|extra_204|>": 151850}),
        # The published vocabulary sizes are 51864 (English), 51865 and, for large-v3, 51866.
        ("whisper_gpt2", 1608, {"<|endoftext|>": 50256, "<|30.00|>": 51863}),
        ("whisper_multilingual", 1608, {"<|startoftranscript|>": 50258, "<|en|>": 50259,
                                        "<|su|>": 50357, "<|0.00|>": 50364, "<|30.00|>": 51864}),
        ("whisper_multilingual_v3", 1609, {"<|yue|>": 50358, "<|0.02|>": 50366,
                                           "<|30.00|>": 51865}),
        # tokenizer_config.json of Kimi K2
        ("kimi_k2", 256, {"[BOS]": 163584, "<|im_system|>": 163594, "<|im_middle|>": 163601,
                          "<|reserved_token_163602|>": 163602, "[UNK]": 163838, "[PAD]": 163839}),
    ],
)  # fmt: skip
def test_special_tokens_have_their_published_ids(
    name: str, n_special: int, facts: dict[str, int]
) -> None:
    special = published_vocabularies()[name].special_tokens
    assert len(special) == n_special
    assert {token: special.get(token) for token in facts} == facts


@pytest.mark.parametrize("name", sorted(rank_files()))
def test_digests_are_those_of_the_real_files(name: str, shared: Path) -> None:
    file = rank_files()[name]
    stored = shared / "data" / "vocab" / f"{name}.tiktoken.zst"
    data = _core.decompress(stored.read_bytes())
    assert hashlib.sha256(data).hexdigest() == file.sha256
    assert len(data) == file.n_bytes
    assert len(data.splitlines()) == file.n_ranks
    assert vocabularies_of_file(file.sha256)[0].name == name
