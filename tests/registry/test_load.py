"""Names: where they are looked for, in which order, and what is said when they are not found."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

import jeton
from jeton import FormatError, UnknownTokenizerError, UsageError, registry
from jeton._core import from_tiktoken
from jeton.formats import save_file
from jeton.registry import finding
from tests.formats import small


@pytest.fixture
def vocab_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "vocab"
    folder.mkdir()
    monkeypatch.setenv("JETON_VOCAB_DIR", str(folder))
    return folder


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bundled"
    folder.mkdir()
    monkeypatch.setattr(finding, "bundled_dir", lambda: folder)
    return folder


def test_a_name_in_the_vocabulary_folder(vocab_dir: Path) -> None:
    save_file(small.tokenizer(), vocab_dir / "mine.jeton.json.zst")
    tokenizer = jeton.load("mine")
    assert tokenizer.encode("hello world") == [259, 264]
    assert tokenizer.name == "mine"


def test_bundled_comes_before_the_folder_and_the_folder_before_the_cache(
    vocab_dir: Path, bundled: Path
) -> None:
    other = from_tiktoken(small.ranks(), pattern="gpt2", special_tokens={"<|other|>": 300})
    cache = registry.cache_dir()
    save_file(other, cache / "x-v1.jeton.json.zst")
    assert "<|other|>" in jeton.load("x-v1").special_tokens
    save_file(small.tokenizer(), vocab_dir / "x-v1.jeton.json.zst")
    assert jeton.load("x-v1").special_tokens == small.SPECIAL
    save_file(other, bundled / "x-v1.jeton.json.zst")
    assert "<|other|>" in jeton.load("x-v1").special_tokens
    assert [e.where for e in registry.list_vocabularies() if e.name == "x-v1"] == ["bundled"]


def test_a_bundled_name_without_version_is_the_newest(bundled: Path) -> None:
    for version in (1, 9, 10):
        special = {f"<|v{version}|>": 300}
        tokenizer = from_tiktoken(small.ranks(), pattern="gpt2", special_tokens=special)
        card = {"version": version}
        save_file(tokenizer, bundled / f"x-v{version}.jeton.json.zst", training_card=card)
    assert jeton.load("x").special_tokens == {"<|v10|>": 300}
    assert jeton.load("x").name == "x-v10"
    assert jeton.load("x-v9").special_tokens == {"<|v9|>": 300}
    assert registry.training_card("x") == {"version": 10}
    assert registry.training_card("nothing") is None


def test_paths_load_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    save_file(small.tokenizer(), path)
    assert jeton.load(path).encode("hello") == [259]
    assert jeton.load(str(path)).encode("hello") == [259]


def test_a_folder_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file(small.tokenizer(), tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert jeton.load("mine").encode("hello") == [259]


def test_a_stray_file_cannot_change_what_a_name_means(
    tmp_path: Path, vocab_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_file(small.tokenizer(), vocab_dir / "mine.json")
    (tmp_path / "mine").write_text("shopping list")
    monkeypatch.chdir(tmp_path)
    assert jeton.load("mine").encode("hello") == [259]


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownTokenizerError, match="cl100k_base") as caught:
        jeton.load("cl100_base")
    assert "cl100k_base" in caught.value.nearest
    assert "jeton vocab list" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("o200k_base", "jeton vocab fetch o200k_base"),
        ("p50k_edit", "jeton vocab fetch p50k_edit"),
        ("llama3", "jeton vocab add FILE --name llama3"),
    ],
)
def test_a_published_name_that_is_not_at_hand_says_how_to_get_it(name: str, command: str) -> None:
    with pytest.raises(UnknownTokenizerError, match=command):
        jeton.load(name)


@pytest.mark.parametrize("text", ["no/such/file", "none.tiktoken", "none.json.zst"])
def test_what_looks_like_a_path_is_a_path(text: str) -> None:
    with pytest.raises(FileNotFoundError):
        jeton.load(text)


def test_the_empty_name_is_unknown() -> None:
    with pytest.raises(UnknownTokenizerError):
        jeton.load("")


def test_loading_twice_shares_the_tokenizer(vocab_dir: Path) -> None:
    path = vocab_dir / "mine.jeton.json"
    save_file(small.tokenizer(), path)
    first = jeton.load("mine")
    assert jeton.load("mine") is first
    other = from_tiktoken(small.ranks(), pattern="gpt2", special_tokens={})
    save_file(other, path)
    assert jeton.load("mine") is not first
    assert jeton.load("mine").special_tokens == {}


def test_the_cache_of_tokenizers_keeps_nothing_alive(vocab_dir: Path) -> None:
    from jeton.registry import loading

    save_file(small.tokenizer(), vocab_dir / "mine.jeton.json")
    before = len(loading._loaded)
    tokenizer = jeton.load("mine")
    assert len(loading._loaded) == before + 1
    del tokenizer
    gc.collect()
    assert len(loading._loaded) == before


class TestAdd:
    def test_a_file_is_copied_and_found_by_name(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.json"
        save_file(small.tokenizer(), path)
        entry = registry.add(path)
        assert (entry.name, entry.where, entry.available) == ("mine", "cache", True)
        assert entry.path == registry.cache_dir() / "mine.json"
        path.unlink()
        assert jeton.load("mine").encode("hello") == [259]

    def test_a_rank_file_keeps_its_pattern_and_special_tokens(self, tmp_path: Path) -> None:
        path = tmp_path / "ranks.tiktoken"
        path.write_bytes(small.ranks())
        registry.add(path, name="mine", pattern="gpt2", special_tokens=small.SPECIAL)
        assert jeton.load("mine").fingerprint == small.tokenizer().fingerprint

    def test_a_folder(self, tmp_path: Path) -> None:
        save_file(small.tokenizer(), tmp_path / "mine")
        registry.add(tmp_path / "mine")
        assert jeton.load("mine").encode("hello") == [259]

    def test_adding_again_replaces(self, tmp_path: Path) -> None:
        save_file(small.tokenizer(), tmp_path / "a.jeton.json")
        save_file(small.tokenizer(), tmp_path / "a.json")
        registry.add(tmp_path / "a.jeton.json", name="mine")
        registry.add(tmp_path / "a.json", name="mine")
        assert [p.name for p in registry.cache_dir().iterdir()] == ["mine.json"]

    def test_what_does_not_load_is_not_added(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.json"
        path.write_text('{"model": {')
        with pytest.raises(FormatError):
            registry.add(path)
        assert not registry.cache_dir().exists() or not list(registry.cache_dir().iterdir())

    @pytest.mark.parametrize("name", ["a/b", "..", "-x", "x.json", "a b", "x.tiktoken"])
    def test_names_that_could_not_be_used_are_refused(self, tmp_path: Path, name: str) -> None:
        save_file(small.tokenizer(), tmp_path / "a.json")
        with pytest.raises(UsageError, match="cannot be the name"):
            registry.add(tmp_path / "a.json", name=name)

    def test_a_bundled_name_cannot_be_taken(self, tmp_path: Path, bundled: Path) -> None:
        save_file(small.tokenizer(), bundled / "x-v1.jeton.json.zst")
        save_file(small.tokenizer(), tmp_path / "a.json")
        with pytest.raises(UsageError, match="bundled"):
            registry.add(tmp_path / "a.json", name="x")


class TestList:
    def test_what_is_not_at_hand_says_how_to_get_it(self) -> None:
        entries = {e.name: e for e in registry.list_vocabularies()}
        assert entries["cl100k_base"].where == "published"
        assert not entries["cl100k_base"].available
        assert entries["cl100k_base"].how == "jeton vocab fetch cl100k_base"

    def test_a_rank_file_makes_its_other_vocabularies_available(self, shared: Path) -> None:
        os.environ["JETON_VOCAB_DIR"] = str(shared / "data" / "vocab")
        try:
            entries = {e.name: e for e in registry.list_vocabularies()}
        finally:
            del os.environ["JETON_VOCAB_DIR"]
        assert entries["p50k_edit"].available
        assert entries["p50k_edit"].path == shared / "data" / "vocab" / "p50k_base.tiktoken.zst"
        assert "llama2" in entries
        assert entries["llama2"].path == shared / "data" / "vocab" / "llama2.json.zst"
        assert entries["bert_chinese"].available
        # The second half of a pair is no vocabulary of its own.
        assert entries["roberta-base"].path == shared / "data" / "vocab" / "roberta-base.json.zst"
        assert entries["gpt2"].path == shared / "data" / "vocab" / "gpt2.json.zst"
        assert "gpt2.vocab" not in entries


class TestPlaces:
    def test_the_cache_folder_of_the_platform(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("JETON_CACHE_DIR")
        monkeypatch.setattr("sys.platform", "linux")
        monkeypatch.setenv("XDG_CACHE_HOME", "/x/cache")
        assert registry.cache_dir() == Path("/x/cache/jeton")
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv("HOME", "/home/someone")
        assert registry.cache_dir() == Path("/home/someone/.cache/jeton")
        monkeypatch.setattr("sys.platform", "darwin")
        assert registry.cache_dir() == Path("/home/someone/Library/Caches/jeton")


class TestRealFiles:
    @pytest.fixture(autouse=True)
    def _folder(self, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JETON_VOCAB_DIR", str(shared / "data" / "vocab"))

    @pytest.mark.parametrize(
        ("name", "ids"),
        [
            # Published examples: the ids that tiktoken gives for "hello world".
            ("gpt2", [31373, 995]),
            ("cl100k_base", [15339, 1917]),
            ("o200k_base", [24912, 2375]),
            ("p50k_edit", [31373, 995]),
            ("whisper_gpt2", [31373, 995]),
        ],
    )
    def test_published_vocabularies_by_name(self, name: str, ids: list[int]) -> None:
        tokenizer = jeton.load(name)
        assert tokenizer.encode("hello world") == ids
        assert tokenizer.name == name

    def test_special_tokens_are_text_unless_allowed(self) -> None:
        tokenizer = jeton.load("whisper_multilingual")
        assert tokenizer.encode("<|en|>", allow_special={"<|en|>"}) == [50259]
        assert len(tokenizer.encode("<|en|>")) > 1

    def test_options_of_a_format_go_through(self) -> None:
        assert jeton.load("bert_chinese").encode("HELLO") == jeton.load("bert_chinese").encode(
            "hello"
        )
        cased = jeton.load("bert_chinese", lowercase=False)
        assert cased.encode("HELLO") != cased.encode("hello")
        with pytest.raises(UsageError, match="lowercase cannot apply"):
            jeton.load("cl100k_base", lowercase=False)
        assert jeton.load("r50k_base", reference="hf").reference == "hf"
        assert jeton.load("r50k_base").reference == "tiktoken"


def test_a_change_beside_a_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_bytes(small.vocab_json())
    merges = tmp_path / "merges.txt"
    merges.write_bytes(small.merges_txt())
    first = jeton.load(tmp_path / "vocab.json")
    assert jeton.load(tmp_path / "vocab.json") is first
    merges.write_bytes(b"#version: 0.2\nh e\n")
    second = jeton.load(tmp_path / "vocab.json")
    assert first.encode("hello") == [259]
    assert len(second.encode("hello")) == 4


def test_adding_half_of_a_pair_keeps_the_whole(tmp_path: Path) -> None:
    (tmp_path / "mine.vocab.json").write_bytes(small.vocab_json())
    (tmp_path / "mine.merges.txt").write_bytes(small.merges_txt())
    entry = registry.add(tmp_path / "mine.vocab.json")
    assert entry.name == "mine"
    assert jeton.load("mine").encode("hello world") == [259, 264]
