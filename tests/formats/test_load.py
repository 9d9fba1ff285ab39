"""Loading: what a file is decides, not what it is called."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from jeton import FormatError, LimitError, UsageError, VocabularyError, _core
from jeton.formats import FileFormat, detect, load_file, name_of_file, reading, save_file
from tests.formats import small


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"jeton": 1, "model": {}}', FileFormat.CANONICAL),
        (b'\n { "jeton":1}', FileFormat.CANONICAL),
        (b'{"version": "1.0", "model": {"type": "BPE"}}', FileFormat.HF_JSON),
        (b"IQ== 0\nIg== 1\n", FileFormat.TIKTOKEN),
        (b"= 0\nIg== 1\n", FileFormat.TIKTOKEN),
        (b"IQ== 0\r\nIg== 1\r\n", FileFormat.TIKTOKEN),
        (b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02", FileFormat.SENTENCEPIECE),
        (b"[PAD]\n[unused1]\nthe\n", FileFormat.WORDPIECE_TXT),
        (b"#version: 0.2\ni n\n", FileFormat.GPT2_MERGES),
        (b'{"!": 0, "a": 1}', FileFormat.GPT2_VOCAB),
        (b'{"config": {}, "vocab": []}', FileFormat.TEKKEN),
        (b"1 '\\x00' 1\n2 '\\x01' 1\n", FileFormat.RWKV),
        (b'7 "it\'s" 4\n', FileFormat.RWKV),
        (b'"bpe_simple_vocab_16e6.txt#version: 0.2\ni n\n', FileFormat.CLIP),
        (b'{"bpe_ranks": "", "pat_str": ""}', FileFormat.CLAUDE),
        (b"GGUF\x03\x00\x00\x00", FileFormat.GGUF),
        (b'{"a": "b"}', FileFormat.OTHER_JSON),
        (b"PK\x03\x04\x00\x00", FileFormat.BINARY),
        (b"Dear reader,\n", FileFormat.TEXT),
    ],
)
def test_detection_goes_by_content(data: bytes, expected: FileFormat) -> None:
    assert detect(data) is expected


def test_a_damaged_rank_file_is_still_a_rank_file() -> None:
    assert detect(b"IQ==0\n", path="x.tiktoken.zst") is FileFormat.TIKTOKEN


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("cl100k_base.tiktoken.zst", "cl100k_base"),
        ("a/b/starcoder.recon.json.zst", "starcoder"),
        ("jeton-general-32k-v1.jeton.json.zst", "jeton-general-32k-v1"),
        ("gpt2.json.gz", "gpt2"),
        ("gpt2.vocab.json.zst", "gpt2"),
        ("gpt2.merges.txt", "gpt2"),
        ("bert.vocab.txt", "bert"),
        ("llama2.model", "llama2"),
        ("v1.5", "v1.5"),
        (".json", ".json"),
    ],
)
def test_names_of_files(path: str, name: str) -> None:
    assert name_of_file(path) == name


@pytest.mark.parametrize("compress", ["none", "zst", "gz"])
@pytest.mark.parametrize("kind", ["tiktoken", "jeton.json", "json"])
def test_every_format_loads_compressed_or_not(tmp_path: Path, kind: str, compress: str) -> None:
    tokenizer = small.tokenizer()
    data = {
        "tiktoken": tokenizer.to_tiktoken,
        "jeton.json": tokenizer.to_canonical,
        "json": tokenizer.to_hf_json,
    }[kind]()
    packed = {
        "none": data,
        "zst": _core.compress_zstd(data),
        "gz": gzip.compress(data),
    }[compress]
    # No suffix helps here.
    path = write(tmp_path, "vocabulary", packed)
    own = {"pattern": small.PATTERN, "special_tokens": small.SPECIAL} if kind == "tiktoken" else {}
    loaded = load_file(path, **own)  # type: ignore[arg-type]
    assert loaded.encode("hello world") == tokenizer.encode("hello world") == [259, 264]
    assert loaded.special_tokens == small.SPECIAL


def test_saved_and_loaded_is_the_same_tokenizer(tmp_path: Path) -> None:
    tokenizer = small.tokenizer()
    for name in ("a.jeton.json", "a.jeton.json.zst"):
        assert save_file(tokenizer, tmp_path / name) == [tmp_path / name]
        assert load_file(tmp_path / name).fingerprint == tokenizer.fingerprint
    for name in ("b.json", "b.json.zst"):
        save_file(tokenizer, tmp_path / name)
        assert load_file(tmp_path / name).encode(" world hello") == tokenizer.encode(" world hello")


def test_a_folder_gets_a_tokenizer_json_and_the_card(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    written = save_file(small.tokenizer(), folder, training_card={"made": "of words"})
    small_files = ["tokenizer_config.json", "special_tokens_map.json"]
    names = ["tokenizer.json", *small_files, "training_card.json"]
    assert written == [folder / name for name in names]
    assert json.loads((folder / "training_card.json").read_text()) == {"made": "of words"}
    assert load_file(folder).name == "mine"


def test_a_file_gets_its_card_beside_it(tmp_path: Path) -> None:
    written = save_file(small.tokenizer(), tmp_path / "x.jeton.json.zst", training_card={})
    assert written[1] == tmp_path / "x.card.json"


def test_a_suffix_without_a_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'x\.bin'.*\n.*\.tiktoken"):
        save_file(small.tokenizer(), tmp_path / "x.bin")
    assert list(tmp_path.iterdir()) == []


def test_a_tiktoken_file_of_a_folder_with_tokenizer_model(tmp_path: Path) -> None:
    write(tmp_path, "tokenizer.model", small.ranks())
    assert load_file(tmp_path, pattern="gpt2").encode("hello") == [259]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.model", b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00", "SentencePiece model"),
        ("x.json", b'{"model": {"type": "BPE", "vocab": {"a"', "x.json"),
        ("x.json", b'{"a": [1, 2', "breaks off or is damaged at line 1, column"),
        ("x.json", b'{"a": 1.5}', "has no \"model\", only 'a'"),
        ("x.json", b"[" * 100_000, "nested too deeply"),
        ("x.txt", b"Dear reader,\n", "not a tokenizer: it holds text that starts"),
        ("x.bin", b"PK\x03\x04\x00\x00\x00", "binary data"),
        ("x.tiktoken", b"", "is empty"),
        ("x.tiktoken", b"IQ== 0\nIQ== 1\n", "line 2|twice|duplicate"),
    ],
)
def test_what_is_not_supported_says_what_it_is(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    path = write(tmp_path, name, data)
    pattern = "gpt2" if name.endswith("tiktoken") else None
    with pytest.raises(VocabularyError, match=message) as caught:
        load_file(path, pattern=pattern)
    assert name in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_rank_file_without_a_pattern_says_which_there_are(tmp_path: Path) -> None:
    path = write(tmp_path, "mine.tiktoken", small.ranks())
    with pytest.raises(FormatError, match=r"hint: pass pattern=.*cl100k_base.*qwen"):
        load_file(path)


@pytest.mark.parametrize("kind", ["json", "jeton.json"])
def test_a_pattern_for_a_file_that_has_its_own_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"x.{kind}"
    save_file(small.tokenizer(), path)
    with pytest.raises(UsageError, match="carries its own"):
        load_file(path, pattern="gpt2")


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds no tokenizer\nhint:"):
        load_file(tmp_path)


def test_a_folder_with_several_rank_files(tmp_path: Path) -> None:
    write(tmp_path, "a.tiktoken", small.ranks())
    write(tmp_path, "b.tiktoken", small.ranks())
    with pytest.raises(FormatError, match=r"several rank files: a\.tiktoken, b\.tiktoken"):
        load_file(tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "nothing.json")


def test_a_file_that_unpacks_beyond_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 1000)
    path = write(tmp_path, "bomb.json.zst", _core.compress_zstd(b"[" + b" " * 100_000))
    assert path.stat().st_size < 1000
    with pytest.raises(LimitError):
        load_file(path)
    with pytest.raises(LimitError, match="1,000"):
        load_file(write(tmp_path, "long.json", b" " * 1001))


class TestRealFiles:
    def test_renaming_a_rank_file_changes_nothing(self, tmp_path: Path, shared: Path) -> None:
        source = shared / "data" / "vocab" / "qwen.tiktoken.zst"
        renamed = write(tmp_path, "whatever", source.read_bytes())
        a, b = load_file(source), load_file(renamed)
        assert a.fingerprint == b.fingerprint
        assert (a.name, b.name) == ("qwen", "whatever")
        # NFC: e with a combining accent is one character to Qwen.
        assert a.encode("e\u0301") == a.encode("\u00e9")

    def test_the_name_chooses_where_one_file_is_several_vocabularies(self, shared: Path) -> None:
        path = shared / "data" / "vocab" / "p50k_base.tiktoken.zst"
        assert load_file(path).special_tokens == {"<|endoftext|>": 50256}
        edit = load_file(path, name="p50k_edit")
        assert edit.special_tokens["<|fim_suffix|>"] == 50283

    def test_other_line_ends_are_the_same_vocabulary(self, tmp_path: Path, shared: Path) -> None:
        data = _core.decompress((shared / "data/vocab/r50k_base.tiktoken.zst").read_bytes())
        path = write(tmp_path, "r50k_base.tiktoken", data.replace(b"\n", b"\r\n"))
        assert load_file(path).encode("Hello world") == [15496, 995]

    @pytest.mark.parametrize("keep", [0.5, 0.999])
    def test_a_published_file_cut_short_is_refused(
        self, tmp_path: Path, shared: Path, keep: float
    ) -> None:
        data = _core.decompress((shared / "data/vocab/r50k_base.tiktoken.zst").read_bytes())
        lines = data.splitlines(keepends=True)
        short = b"".join(lines[: int(len(lines) * keep)])
        path = write(tmp_path, "r50k_base.tiktoken", short)
        with pytest.raises(FormatError, match="not the published r50k_base"):
            load_file(path)
        assert load_file(path, pattern="r50k_base").encode("a") == [64]

    @pytest.mark.parametrize("suffix", [".tiktoken.zst", ".json.zst"])
    def test_a_compressed_file_cut_short_is_refused(
        self, tmp_path: Path, shared: Path, suffix: str
    ) -> None:
        name = {"json.zst": "gpt2", "tiktoken.zst": "r50k_base"}[suffix[1:]]
        data = (shared / "data" / "vocab" / f"{name}{suffix}").read_bytes()
        path = write(tmp_path, f"{name}{suffix}", data[: len(data) // 2])
        with pytest.raises(VocabularyError, match=name):
            load_file(path)
