"""Saving in every format: it loads as what was saved, or is refused with every reason."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton import Tokenizer
from jeton._core import (
    from_canonical,
    from_claude,
    from_gguf,
    from_gpt2_files,
    from_hf_json,
    from_rwkv,
    from_tekken,
    from_vocab_txt,
)
from jeton.errors import (
    FormatError,
    LossyConversionError,
    LossyConversionWarning,
    UsageError,
)
from jeton.formats import FORMATS, Loss, expressible, load_file, save_file, to_bytes
from jeton.formats.writing import find_target
from tests.formats import small


def pair() -> Tokenizer:
    return from_gpt2_files(small.vocab_json(), small.merges_txt())


def words() -> Tokenizer:
    return from_vocab_txt(small.vocab_txt())


SOURCES: dict[str, Callable[[], Tokenizer]] = {
    "x.tiktoken": small.tokenizer,
    "x.jeton.json": small.tokenizer,
    "x.json": lambda: from_hf_json(small.tokenizer().to_hf_json()),
    "vocab.txt": words,
    "x.vocab.json": pair,
    "tekken.json": lambda: from_tekken(small.tekken()),
    "x.gguf": lambda: from_gguf(small.gguf()),
    "rwkv_vocab.txt": lambda: from_rwkv(small.rwkv()),
    "claude.json": lambda: from_claude(small.claude()),
}
"""Names of files, and a tokenizer of the format that each name means."""


@pytest.mark.parametrize("packed", ["", ".zst", ".gz"])
@pytest.mark.parametrize("name", list(SOURCES))
def test_a_saved_tokenizer_is_the_same_by_fingerprint(
    tmp_path: Path, name: str, packed: str
) -> None:
    tokenizer = SOURCES[name]()
    path = tmp_path / f"{name}{packed}"
    save_file(tokenizer, path)
    options: dict[str, Any] = {}
    if name.endswith(".tiktoken"):
        options = {"pattern": small.PATTERN, "special_tokens": small.SPECIAL}
    assert load_file(path, **options).fingerprint == tokenizer.fingerprint


def test_the_second_file_of_two_stands_where_it_is_looked_for(tmp_path: Path) -> None:
    assert {path.name for path in save_file(pair(), tmp_path / "a.vocab.json")} == {
        "a.vocab.json",
        "a.merges.txt",
    }
    assert {path.name for path in save_file(pair(), tmp_path / "encoder.json")} == {
        "encoder.json",
        "vocab.bpe",
    }
    with pytest.raises(UsageError, match=r"a merges\.txt stands beside it"):
        save_file(pair(), tmp_path / "b.json", format="vocab.json")


def test_what_a_format_does_not_hold_is_refused_with_every_reason(tmp_path: Path) -> None:
    tree = json.loads(small.tokenizer().to_canonical())
    tree["normalizer"] = [{"type": "lowercase"}]
    tree["added_tokens"][0]["lstrip"] = True
    tokenizer = from_canonical(json.dumps(tree).encode())
    path = tmp_path / "x.tiktoken"
    with pytest.raises(LossyConversionError) as caught:
        tokenizer.save(path)
    losses = caught.value.losses
    assert [loss.component for loss in losses] == ["normalizer", "added_tokens"]
    assert all(isinstance(loss, Loss) and loss.effect for loss in losses)
    for loss in losses:
        assert str(loss) in str(caught.value)
    assert caught.value.format == "tiktoken"
    assert not list(tmp_path.iterdir())
    with pytest.warns(LossyConversionWarning, match=r"normalizer: lowercase.*added_tokens"):
        tokenizer.save(path, lossy=True)
    again = load_file(path, pattern=small.PATTERN, special_tokens=small.SPECIAL)
    assert again.encode("hello world") == tokenizer.encode("hello world")


def test_what_a_format_cannot_express_is_refused_even_so(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="only byte-level BPE has ranks") as caught:
        save_file(words(), tmp_path / "x.tiktoken", lossy=True)
    assert not isinstance(caught.value, LossyConversionError)
    assert "it cuts text in 2 steps" in str(caught.value)  # the second reason, too
    assert not list(tmp_path.iterdir())


def test_an_old_file_survives_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"old")
    with pytest.raises(FormatError):
        save_file(words(), path)
    assert path.read_bytes() == b"old"


def test_a_folder_is_what_save_pretrained_writes(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tokenizer = jeton.load("jeton-general-32k-v1")
    written = save_file(tokenizer, folder)
    assert {path.name for path in written} == {
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
    }
    again = load_file(folder)
    assert again.encode("Hello world 12.5") == tokenizer.encode("Hello world 12.5")
    config = json.loads((folder / "tokenizer_config.json").read_bytes())
    listed = {token["content"] for token in config["added_tokens_decoder"].values()}
    assert listed == set(tokenizer.special_tokens)


def test_a_folder_holds_other_formats_by_name(tmp_path: Path) -> None:
    for name, make in (("vocab.txt", words), ("vocab.json", pair), ("jeton", small.tokenizer)):
        folder = tmp_path / f"as-{name.split('.')[0]}-{name[-2:]}"
        save_file(make(), folder, format=name)
        assert load_file(folder).encode("hello") == make().encode("hello")
    with pytest.raises(UsageError, match="a folder cannot hold rwkv"):
        save_file(words(), tmp_path / "list", format="rwkv")


def test_names_tell_formats() -> None:
    cases = {
        "a.json": "tokenizer.json",
        "a.jeton.json.zst": "jeton",
        "A.TIKTOKEN": "tiktoken",
        "a.model": "sentencepiece",
        "vocab.txt": "vocab.txt",
        "bert.vocab.txt.gz": "vocab.txt",
        "vocab.json": "vocab.json",
        "my.tekken.json": "tekken.json",
        "a.gguf": "gguf",
        "rwkv_vocab_v2.txt": "rwkv",
        "bpe_simple_vocab_16e6.txt.gz": "clip",
        "claude.json": "claude",
        "folder": "tokenizer.json",
    }
    for name, expected in cases.items():
        assert find_target(f"there/{name}").format == expected
    assert find_target("a.json", wanted="hf").format == "tokenizer.json"
    for name in ("a.txt", "a.zip", ".hidden.x"):
        with pytest.raises(UsageError, match="cannot tell the format"):
            find_target(name)


@pytest.mark.parametrize("name", ["", "hf2", "../x", "tokenizer", "GGML"])
def test_unknown_formats_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format"):
        save_file(small.tokenizer(), tmp_path / "x.json", format=name)
    with pytest.raises(UsageError, match="unknown format"):
        to_bytes(small.tokenizer(), name)


def test_bytes_of_a_format() -> None:
    tokenizer = small.tokenizer()
    assert tokenizer.to_bytes("tiktoken") == small.ranks()
    assert tokenizer.to_bytes("jeton") == tokenizer.to_canonical()
    with pytest.raises(UsageError, match="two files"):
        tokenizer.to_bytes("vocab.json")
    with pytest.raises(LossyConversionError):
        tokenizer.to_bytes("claude")
    with pytest.warns(LossyConversionWarning):
        assert tokenizer.to_bytes("claude", lossy=True)


def test_every_format_says_whether_it_can() -> None:
    found = expressible(small.tokenizer())
    assert list(found) == list(FORMATS)
    assert found["tiktoken"] == ("exact", ())
    assert found["tokenizer.json"] == ("exact", ())
    assert found["sentencepiece"][0] == "no"
    assert found["vocab.json"][0] == "lossy"
    for how, reasons in found.values():
        assert (how == "exact") == (not reasons)


# Samples.


def test_samples_are_verified_at_every_load(tmp_path: Path) -> None:
    tokenizer = small.tokenizer()
    path = tmp_path / "x.jeton.json"
    tokenizer.save(path, samples=["hello world", " hello"])
    value = json.loads(path.read_bytes())
    assert value["samples"][0] == {"text": "hello world", "ids": tokenizer.encode("hello world")}
    assert load_file(path).fingerprint == tokenizer.fingerprint
    value["samples"][1]["ids"][0] += 1
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(FormatError, match=r'sample 1, " hello", gets the ids'):
        load_file(path)


@pytest.mark.parametrize("name", ["tokenizer.json", "folder", "x.vocab.json"])
def test_samples_beside_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    tokenizer = pair()
    save_file(tokenizer, path, samples=True)
    assert load_file(path).encode("hello") == tokenizer.encode("hello")
    [beside] = tmp_path.glob("**/*.jeton-samples.json")
    value = json.loads(beside.read_bytes())
    assert value["schema_version"] == "jeton.samples/1"
    assert len(value["samples"]) > 4
    value["samples"][0]["ids"].append(0)
    beside.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(FormatError, match="is not the tokenizer that it was saved as: sample 0"):
        load_file(path)
    with pytest.raises(FormatError, match="is not the tokenizer"):
        jeton.load(path)
    # Saved again without samples, the old ones must not judge the new file.
    save_file(tokenizer, path)
    load_file(path)


def test_samples_do_not_change_the_fingerprint(tmp_path: Path) -> None:
    tokenizer = small.tokenizer()
    for name, samples in (("a", False), ("b", True)):
        save_file(tokenizer, tmp_path / f"{name}.jeton.json", samples=samples)
    one, two = (load_file(tmp_path / f"{name}.jeton.json") for name in "ab")
    assert one.fingerprint == two.fingerprint


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"schema_version": "jeton.samples/2", "samples": []}',
        '{"schema_version": "jeton.samples/1", "samples": {}}',
        '{"schema_version": "jeton.samples/1", "samples": [1]}',
        '{"schema_version": "jeton.samples/1", "samples": [{"text": 1, "ids": []}]}',
        '{"schema_version": "jeton.samples/1", "samples": [{"text": "a"}]}',
        '{"schema_version": ',
    ],
)
def test_damaged_samples_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    save_file(from_hf_json(small.tokenizer().to_hf_json()), path)
    (tmp_path / "x.jeton-samples.json").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=r"x\.jeton-samples\.json"):
        load_file(path)


@pytest.mark.parametrize("samples", ["hello", [1], [b"x"], [None]])
def test_samples_must_be_texts(tmp_path: Path, samples: object) -> None:
    with pytest.raises(UsageError, match="samples must be a list of texts"):
        save_file(small.tokenizer(), tmp_path / "x.json", samples=samples)  # type: ignore[arg-type]


def test_compressed_files_are_the_same_on_every_day(tmp_path: Path) -> None:
    for name in ("a.tiktoken.gz", "b.tiktoken.gz"):
        save_file(small.tokenizer(), tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("a.tiktoken.gz", "b.tiktoken.gz"))
    assert one == two
    assert gzip.decompress(one) == small.ranks()
