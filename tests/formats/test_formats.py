"""Every format loads from one file, compressed or not, and options go where they belong."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jeton import FormatError, UsageError, _core
from jeton.formats import FileFormat, detect, load_file
from jeton.formats.single import is_lowercase
from tests.formats import small

# What "hello world" becomes, and how the file is called where its name matters.
FILES: dict[str, tuple[bytes, FileFormat, list[int]]] = {
    "tekken.json": (small.tekken(), FileFormat.TEKKEN, [261, 34, 121, 263, 110, 102]),
    "claude.json": (small.claude(), FileFormat.CLAUDE, [260, 33, 120, 262, 109, 101]),
    "model.gguf": (small.gguf(), FileFormat.GGUF, [259, 264]),
    "list.txt": (small.rwkv(), FileFormat.RWKV, [257, 33, 120, 112, 115, 109, 101]),
    "vocab.txt": (small.vocab_txt(), FileFormat.WORDPIECE_TXT, [6, 7]),
}


@pytest.mark.parametrize("compress", ["none", "zst", "gz"])
@pytest.mark.parametrize("name", sorted(FILES))
def test_each_format_loads_whatever_it_is_called(tmp_path: Path, name: str, compress: str) -> None:
    data, found, ids = FILES[name]
    assert detect(data) is found
    packers: dict[str, Callable[[bytes], bytes]] = {
        "none": bytes,
        "zst": _core.compress_zstd,
        "gz": gzip.compress,
    }
    pack = packers[compress]
    path = tmp_path / "whatever"
    path.write_bytes(pack(data))
    tokenizer = load_file(path)
    # tekken's and Claude's ranks are shifted by their special tokens; a space is a pretoken there.
    assert tokenizer.decode(tokenizer.encode("hello world")) == "hello world"
    assert tokenizer.encode("hello world") == ids
    assert tokenizer.name == "whatever"


class TestTwoFiles:
    @pytest.mark.parametrize(
        ("vocab", "merges"),
        [
            ("vocab.json", "merges.txt"),
            ("gpt2.vocab.json", "gpt2.merges.txt"),
            ("Mine.vocab.json.zst", "Mine.merges.txt"),
            ("vocab.json", "merges.txt.gz"),
            ("encoder.json", "vocab.bpe"),
        ],
    )
    def test_each_finds_the_other(self, tmp_path: Path, vocab: str, merges: str) -> None:
        def pack(name: str, data: bytes) -> bytes:
            if name.endswith(".zst"):
                return _core.compress_zstd(data)
            return gzip.compress(data) if name.endswith(".gz") else data

        (tmp_path / vocab).write_bytes(pack(vocab, small.vocab_json()))
        (tmp_path / merges).write_bytes(pack(merges, small.merges_txt()))
        first, second = load_file(tmp_path / vocab), load_file(tmp_path / merges)
        assert first.encode("hello world") == [259, 264]
        assert first.fingerprint == second.fingerprint

    def test_a_space_before_the_text(self, tmp_path: Path) -> None:
        (tmp_path / "vocab.json").write_bytes(small.vocab_json())
        (tmp_path / "merges.txt").write_bytes(small.merges_txt())
        assert load_file(tmp_path / "vocab.json", add_prefix_space=True).encode("world") == [264]

    @pytest.mark.parametrize(
        ("have", "missing"),
        [("vocab.json", "merges.txt"), ("x.merges.txt", r"x\.vocab\.json")],
    )
    def test_a_missing_half_is_named(self, tmp_path: Path, have: str, missing: str) -> None:
        data = small.vocab_json() if have.endswith("json") else small.merges_txt()
        (tmp_path / have).write_bytes(data)
        with pytest.raises(FormatError, match=rf"no {missing}.*\nhint: copy {missing} there"):
            load_file(tmp_path / have)

    def test_a_wrong_half_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "vocab.json").write_bytes(small.vocab_json())
        (tmp_path / "merges.txt").write_bytes(b"Dear Sir or Madam,\n")
        with pytest.raises(FormatError, match=r"merges\.txt should be the GPT-2 merges"):
            load_file(tmp_path / "vocab.json")

    def test_merges_without_a_comment_are_known_by_name(self, tmp_path: Path) -> None:
        (tmp_path / "vocab.json").write_bytes(small.vocab_json())
        (tmp_path / "merges.txt").write_bytes(small.merges_txt(head=""))
        assert load_file(tmp_path / "merges.txt").encode("hello") == [259]
        assert detect(small.merges_txt(head="")) is FileFormat.TEXT


class TestWordLists:
    def test_the_case_of_the_words_decides(self, tmp_path: Path) -> None:
        lower, cased = tmp_path / "a.vocab.txt", tmp_path / "b.vocab.txt"
        lower.write_bytes(small.vocab_txt())
        cased.write_bytes(small.vocab_txt("Hello"))
        assert load_file(lower).encode("HELLO") == [6]
        assert load_file(cased).encode("Hello") == [10]
        assert load_file(cased, lowercase=True).encode("Hello") == [6]
        assert load_file(lower, lowercase=False).encode("HELLO") == [1]

    def test_the_settings_beside_it_decide_before_that(self, tmp_path: Path) -> None:
        path = tmp_path / "vocab.txt"
        path.write_bytes(small.vocab_txt("Hello"))
        (tmp_path / "tokenizer_config.json").write_bytes(b'{"do_lower_case": true}')
        assert load_file(path).encode("Hello") == [6]
        assert load_file(path, lowercase=False).encode("Hello") == [10]
        # Another file's name: the settings may be about something else.
        other = tmp_path / "b.vocab.txt"
        other.write_bytes(path.read_bytes())
        assert load_file(other).encode("Hello") == [10]

    def test_one_word_in_a_hundred(self) -> None:
        words = [f"word{'x' * (i % 20)}" for i in range(198)]
        text = "\n".join([*words, "Paris"]).encode()
        assert is_lowercase(text)
        assert not is_lowercase(text + b"\nRome")
        # Single letters are in many vocabularies in lower case, too.
        assert is_lowercase(b"a\nb\nC\nthe\n")

    def test_a_list_without_special_tokens_is_one_by_name(self) -> None:
        data = b"the\nhello\n##s\n"
        assert detect(data, path="a/vocab.txt") is FileFormat.WORDPIECE_TXT
        assert detect(data) is FileFormat.TEXT
        # Words with how often they occur are no such list.
        assert detect(b"the 1000\nhello 10\n", path="vocab.txt") is not FileFormat.WORDPIECE_TXT

    def test_special_tokens_far_into_the_file(self) -> None:
        data = b"".join(b"[unused%d]\n" % i for i in range(100_000)) + b"[UNK]\nthe\n"
        assert len(data) > 1 << 20
        assert detect(data) is FileFormat.WORDPIECE_TXT


class TestOptions:
    @pytest.mark.parametrize(
        ("name", "data", "option"),
        [
            ("x.gguf", small.gguf(), {"lowercase": True}),
            ("x.json", small.tekken(), {"pattern": "gpt2"}),
            ("x.json", small.claude(), {"special_tokens": {"<x>": 1}}),
            ("x.txt", small.rwkv(), {"add_prefix_space": False}),
            ("x.txt", small.vocab_txt(), {"add_prefix_space": True}),
            ("x.tiktoken", small.ranks(), {"lowercase": False, "pattern": "gpt2"}),
        ],
    )
    def test_one_that_does_not_apply_is_named(
        self, tmp_path: Path, name: str, data: bytes, option: dict[str, Any]
    ) -> None:
        path = tmp_path / name
        path.write_bytes(data)
        misplaced = next(iter(option))
        with pytest.raises(UsageError, match=rf"{misplaced} cannot apply.*\nhint: leave out"):
            load_file(path, **option)


class TestReference:
    TEXT = "<|end<|end|>"

    def test_ranks_as_tokenizers_runs_them(self, tmp_path: Path) -> None:
        # Not allowed: <|a|>; allowed: |>b, which begins within it.
        path = tmp_path / "x.tiktoken"
        path.write_bytes(small.ranks())
        special = {"<|a|>": 300, "|>b": 301}
        own = load_file(path, pattern="gpt2", special_tokens=special)
        other = load_file(path, pattern="gpt2", special_tokens=special, reference="hf")
        assert (own.reference, other.reference) == ("tiktoken", "hf")
        assert own.encode("hello world") == other.encode("hello world") == [259, 264]
        assert 301 in own.encode("<|a|>b", allow_special={"|>b"})
        assert 301 not in other.encode("<|a|>b", allow_special={"|>b"})
        again = load_file(path, pattern="gpt2", special_tokens=special, reference="tiktoken")
        assert again.fingerprint == own.fingerprint

    def test_what_cannot_be_chosen_lists_what_can(self, tmp_path: Path) -> None:
        path = tmp_path / "vocab.txt"
        path.write_bytes(small.vocab_txt())
        assert load_file(path, reference="hf").reference == "hf"
        with pytest.raises(UsageError, match=r"as 'tiktoken' reads it; possible: hf"):
            load_file(path, reference="tiktoken")
        path = tmp_path / "x.gguf"
        path.write_bytes(small.gguf())
        with pytest.raises(UsageError, match="cannot be chosen"):
            load_file(path, reference="hf")

    @pytest.mark.rivals
    @pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "llama3"])
    def test_ids_are_those_of_tokenizers(self, shared: Path, name: str) -> None:
        import tokenizers

        path = shared / "data" / "vocab" / f"{name}.tiktoken.zst"
        ours = load_file(path, reference="hf")
        theirs = tokenizers.Tokenizer.from_str(load_file(path).to_hf_json().decode())
        token = next(iter(ours.special_tokens))
        for text in (
            "Hello wörld 123456  \n\n x",
            f"a{token[:-1]}{token}b",
            "don't '\u017f \u200d",
            "",
        ):
            expected = theirs.encode(text, add_special_tokens=False).ids
            assert ours.encode(text, allow_special="all") == expected


class TestRealFiles:
    @pytest.mark.parametrize(
        ("file", "reference", "text", "ids"),
        [
            # ../shared/data/golden has each of these sets whole; these are their first words.
            ("bert_base_cased.vocab.txt", "hf", "Hello world", [8667, 1362]),
            ("bert_base_uncased.vocab.txt", "hf", "Hello world", [7592, 2088]),
            ("gpt2.merges.txt", "hf", "hello world", [31373, 995]),
            ("gpt2.vocab.json.zst", "hf", "hello world", [31373, 995]),
        ],
    )
    def test_published_files(
        self, shared: Path, file: str, reference: str, text: str, ids: list[int]
    ) -> None:
        tokenizer = load_file(shared / "data" / "vocab" / file)
        assert tokenizer.reference == reference
        assert tokenizer.encode(text) == ids

    @pytest.mark.parametrize(
        ("file", "found"),
        [
            ("bert_base_cased.vocab.txt", FileFormat.WORDPIECE_TXT),
            ("scibert_scivocab_uncased.vocab.txt", FileFormat.WORDPIECE_TXT),
            ("bert_multi_cased.vocab.txt.zst", FileFormat.WORDPIECE_TXT),
            ("gpt2.merges.txt", FileFormat.GPT2_MERGES),
            ("gpt2.vocab.json.zst", FileFormat.GPT2_VOCAB),
            ("tekken_240718.json.zst", FileFormat.TEKKEN),
            ("claude.json.zst", FileFormat.CLAUDE),
            ("rwkv_vocab_v20230424.txt.zst", FileFormat.RWKV),
            ("bpe_simple_vocab_16e6.txt.gz", FileFormat.CLIP),
            ("llama2.model", FileFormat.SENTENCEPIECE),
            ("xlnet_base_cased.json.zst", FileFormat.HF_JSON),
        ],
    )
    def test_each_is_known_by_content_and_loads(
        self, shared: Path, tmp_path: Path, file: str, found: FileFormat
    ) -> None:
        path = shared / "data" / "vocab" / file
        assert detect(_core.decompress(path.read_bytes())) is found
        assert load_file(path).vocab_size > 10_000
