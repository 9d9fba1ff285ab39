"""Compiled tokenizers: files of their own, and the cache that ``jeton.load`` keeps of them."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import jeton
from jeton._core import from_compiled, from_tiktoken
from jeton.formats.compiled import MAGIC
from jeton.registry import compiled, index
from tests.formats import small

TEXT = "hello <|end|> naïve 中文 123\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, switched on and empty; small files count."""
    monkeypatch.delenv("JETON_COMPILED_CACHE")
    monkeypatch.setenv("JETON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "_MIN_SOURCE_BYTES", 1)
    return tmp_path / "cache" / "compiled"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tokenizer.json that was not touched for a while."""
    path = tmp_path / "mine.json"
    tokenizer = from_tiktoken(small.ranks(), pattern="gpt2", special_tokens=small.SPECIAL)
    path.write_bytes(tokenizer.to_hf_json())
    return settle(path)


def sentencepiece_model() -> bytes:
    """Two pieces: an unknown one, and a letter."""

    def piece(text: bytes, kind: int) -> bytes:
        message = b"\x0a" + bytes([len(text)]) + text + b"\x18" + bytes([kind])
        return b"\x0a" + bytes([len(message)]) + message

    return piece(b"<unk>", 2) + piece(b"hello", 1) + piece(b"a", 1)


def settle(path: Path) -> Path:
    """Make believe that a file was changed long ago: the time of change itself cannot be set."""
    os.utime(path, ns=(10**18, 10**18))
    return path


@pytest.fixture(autouse=True)
def _old_changes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_SETTLED_NS", -(10**12))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jetonc"))


def load(path: Path, **options: object) -> jeton.Tokenizer:
    """Load as a fresh process would: nobody holds a tokenizer of the file any more."""
    gc.collect()
    loader: Callable[..., jeton.Tokenizer] = jeton.load
    return loader(path, **options)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were really read."""
    from jeton.registry import loading

    seen: list[Path] = []
    real = loading._load_file

    def noted(path: Path, **options: object) -> jeton.Tokenizer:
        seen.append(path)
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(loading, "_load_file", noted)
    return seen


def same(a: jeton.Tokenizer, b: jeton.Tokenizer) -> None:
    assert a.fingerprint == b.fingerprint
    assert a.name == b.name
    assert a.to_canonical() == b.to_canonical()
    for specials in ("none", "all"):
        allowed = set(a.special_tokens) if specials == "all" else set()
        ids = a.encode(TEXT, add_special_tokens=True, allow_special=allowed)
        assert b.encode(TEXT, add_special_tokens=True, allow_special=allowed) == ids
        assert b.decode(ids) == a.decode(ids)


@pytest.mark.parametrize("name", ["jeton-general-32k", "jeton-medical-32k", "jeton-code-32k"])
def test_a_file_of_its_own(name: str, tmp_path: Path) -> None:
    tokenizer = jeton.load(name)
    path = tmp_path / "any.jetonc"
    tokenizer.save_compiled(path)
    assert path.read_bytes().startswith(MAGIC)
    again = jeton.load(path)
    assert again.name == "any"
    same(tokenizer.with_name("any"), again)
    same(tokenizer, from_compiled(path.read_bytes()))
    same(pickle.loads(pickle.dumps(again)), again)
    assert again.to_hf_json() == tokenizer.to_hf_json()


def test_long_texts_and_many_words_are_the_same() -> None:
    tokenizer = jeton.load("jeton-general-32k")
    again = from_compiled(tokenizer.to_compiled())
    words = " ".join(f"w{n}x{n * n}é" for n in range(20_000))
    assert again.encode(words) == tokenizer.encode(words)
    assert again.encode("a" * 5000) == tokenizer.encode("a" * 5000)


def test_damage_is_an_error(tmp_path: Path) -> None:
    data = jeton.load("jeton-general-32k").to_compiled()
    path = tmp_path / "x.jetonc"
    for n_bytes in (len(MAGIC), 39, 1000, len(data) - 1):
        path.write_bytes(data[:n_bytes])
        with pytest.raises(jeton.FormatError, match="compiled tokenizer"):
            jeton.load(path)
    for at in (9, 13, 20, 30, 41, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
        with pytest.raises(jeton.FormatError):
            jeton.load(path)


def test_sentencepiece_has_no_compiled_form(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(sentencepiece_model())
    with pytest.raises(jeton.VocabularyError, match="SentencePiece"):
        jeton.load(path).save_compiled(tmp_path / "m.jetonc")
    assert not (tmp_path / "m.jetonc").exists()


def test_the_second_load_reads_no_file(folder: Path, source: Path, loads: list[Path]) -> None:
    fingerprint = load(source).fingerprint
    assert len(entries(folder)) == 1
    assert loads == [source]
    again = load(source)
    assert loads == [source]
    assert again.fingerprint == fingerprint
    assert again.name == "mine"
    compiled_form = again.to_canonical()
    del again
    assert load(source, cache=False).to_canonical() == compiled_form
    assert loads == [source, source]


def test_a_copy_and_a_touched_file_share_the_entry(
    folder: Path, source: Path, tmp_path: Path, loads: list[Path]
) -> None:
    load(source)
    os.utime(source, ns=(10**18 + 1, 10**18 + 1))
    load(source)
    other = tmp_path / "other" / "mine.json"
    other.parent.mkdir()
    other.write_bytes(source.read_bytes())
    load(other)
    assert loads == [source]
    assert len(entries(folder)) == 1


def test_a_changed_file_is_read_again(folder: Path, source: Path, loads: list[Path]) -> None:
    before = load(source).encode("hello")
    tree = json.loads(source.read_bytes())
    merges = tree["model"]["merges"]
    tree["model"]["merges"] = merges[::-1] if merges[0] != merges[-1] else merges
    changed = json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode()
    state = source.stat()
    # As sly as it gets: the same size and the same time of modification.
    size = max(state.st_size, len(changed))
    source.write_bytes(changed.ljust(size))
    os.utime(source, ns=(state.st_mtime_ns, state.st_mtime_ns))
    after = load(source)
    assert len(loads) == 2
    assert after.fingerprint == load(source, cache=False).fingerprint
    assert isinstance(before, list)


def test_files_beside_it_and_options_count(folder: Path, tmp_path: Path, loads: list[Path]) -> None:
    words = tmp_path / "vocab.txt"
    words.write_text("[UNK]\n[CLS]\n[SEP]\nhello\nHello\nworld\n")
    settle(words)
    lower = load(words, lowercase=True)
    cased = load(words, lowercase=False)
    assert lower.fingerprint != cased.fingerprint
    assert len(loads) == 2
    plain = load(words)
    config = tmp_path / "tokenizer_config.json"
    config.write_text('{"do_lower_case": true}')
    settle(config)
    told = load(words)
    assert len(loads) == 4
    assert told.fingerprint == lower.fingerprint != plain.fingerprint
    config.unlink()
    assert load(words).fingerprint == plain.fingerprint
    assert len(loads) == 4


def test_a_folder(folder: Path, source: Path, tmp_path: Path, loads: list[Path]) -> None:
    model = tmp_path / "house"
    model.mkdir()
    (model / "tokenizer.json").write_bytes(source.read_bytes())
    (model / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    (model / "model.safetensors").write_bytes(b"\0" * 10)
    first = load(model)
    (model / "model.safetensors").write_bytes(b"\0" * 20)
    same(first, load(model))
    assert loads == [model]
    (model / "tokenizer_config.json").write_text(
        '{"added_tokens_decoder": {"400": {"content": "<new>", "special": true}}}'
    )
    assert "<new>" in load(model).special_tokens
    assert loads == [model, model]


def test_what_was_changed_a_moment_ago_is_not_kept(
    folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "_SETTLED_NS", 10**12)
    load(source)
    assert not folder.exists()


@pytest.mark.parametrize("value", ["0", "off", "False", "no"])
def test_it_can_be_switched_off(
    folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("JETON_COMPILED_CACHE", value)
    load(source)
    assert not folder.exists()
    load(source, cache=folder)
    assert len(entries(folder)) == 1


def test_damaged_entries_are_made_anew(folder: Path, source: Path, loads: list[Path]) -> None:
    expected = load(source).fingerprint
    (entry,) = entries(folder)
    good = entry.read_bytes()
    for bad in (good[:100], good[:-1] + bytes([good[-1] ^ 1]), b""):
        entry.write_bytes(bad)
        assert load(source).fingerprint == expected
        assert entry.read_bytes() == good
    (pointer,) = (folder / "index").iterdir()
    for text in ("", "../../etc/passwd", "f" * 64, "\udcff".encode("utf-8", "surrogateescape")):
        pointer.write_bytes(text if isinstance(text, bytes) else text.encode())
        assert load(source).fingerprint == expected
    assert len(loads) == 4


@pytest.mark.skipif(os.name != "posix", reason="owners and modes are those of POSIX")
def test_what_others_can_write_is_not_trusted(
    folder: Path, source: Path, loads: list[Path]
) -> None:
    load(source)
    (entry,) = entries(folder)
    entry.chmod(0o666)
    load(source)
    assert len(loads) == 2


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    # No folder can be made below a file, whoever asks.
    monkeypatch.setenv("JETON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert load(source).encode("hello")


def test_another_release_makes_its_own(
    folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch, loads: list[Path]
) -> None:
    load(source)
    monkeypatch.setattr(index, "__version__", "99.0")
    load(source)
    assert len(loads) == 2
    assert len(entries(folder)) == 2


def test_sentencepiece_is_remembered_as_such(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(sentencepiece_model())
    settle(path)
    load(path)
    assert entries(folder) == []
    (note,) = (folder / "index").iterdir()
    assert note.read_bytes() == index.note_of(index.NOT_COMPILED, compiled.sources_of(path))
    same(load(path), load(path, cache=False))


def test_two_processes_at_once(folder: Path, source: Path) -> None:
    code = (
        "import sys, jeton; from jeton.registry import compiled; "
        "compiled._MIN_SOURCE_BYTES = 1; compiled._SETTLED_NS = -10**12; "
        "print(jeton.load(sys.argv[1]).fingerprint)"
    )
    command = [sys.executable, "-c", code, str(source)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = {run.communicate(timeout=60)[0].strip() for run in runs}
    assert printed == {load(source, cache=False).fingerprint}
    assert len(entries(folder)) == 1
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []


def test_old_entries_go(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    now = time.time()
    for n in range(8):
        file = folder / f"{n}.jetonc"
        file.write_bytes(b"x" * 100)
        os.utime(file, (now + n, now + n))
    compiled._prune(folder, ".jetonc", max_bytes=800, max_files=8)
    assert len(entries(folder)) == 8
    compiled._prune(folder, ".jetonc", max_bytes=700, max_files=8)
    assert [p.name for p in entries(folder)] == [f"{n}.jetonc" for n in range(3, 8)]
    compiled._prune(folder, ".jetonc", max_bytes=700, max_files=4)
    assert [p.name for p in entries(folder)] == [f"{n}.jetonc" for n in range(5, 8)]


def test_clear(folder: Path, source: Path) -> None:
    load(source)
    (entry,) = entries(folder)
    size = entry.stat().st_size
    assert compiled.clear(folder) == (1, size)
    assert entries(folder) == []
    assert compiled.clear(folder) == (0, 0)


def test_loading_what_is_cached_imports_little(folder: Path, source: Path) -> None:
    load(source)
    code = (
        "import sys, jeton; jeton.load(sys.argv[1]); "
        "print(sorted(m for m in sys.modules if m.startswith('jeton'))); "
        "print([m for m in ('http.client', 'numpy', 'dataclasses') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(source)], capture_output=True, text=True, check=True
    )
    imported, others = done.stdout.splitlines()
    registry = [f"jeton.registry{name}" for name in ("", ".folders", ".index", ".loading")]
    low = [f"jeton.{name}" for name in ("_core", "_forks", "_lazy", "errors")]
    assert imported == str(["jeton", *low, *registry])
    assert others == "[]"


def test_one_file_under_two_names(folder: Path, tmp_path: Path, loads: list[Path]) -> None:
    """Files beside a name count, not those beside the file that it links to."""
    words = tmp_path / "vocab.txt"
    words.write_text("[UNK]\n[CLS]\n[SEP]\nhello\nHello\nworld\n")
    settle(words)
    places = [tmp_path / name / "vocab.txt" for name in ("cased  ones", "low\nercase")]
    for place, lower in zip(places, ("false", "true"), strict=True):
        place.parent.mkdir()
        place.symlink_to(words)
        config = place.with_name("tokenizer_config.json")
        config.write_text(f'{{"do_lower_case": {lower}}}')
        settle(config)
    first = [load(place).fingerprint for place in places]
    assert first[0] != first[1]
    assert [load(place).fingerprint for place in places] == first
    assert loads == places


def test_a_relative_path_means_another_file_elsewhere(
    folder: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: list[Path]
) -> None:
    monkeypatch.chdir(source.parent)
    here = load(Path(source.name)).fingerprint
    other = tmp_path / "elsewhere"
    other.mkdir()
    tokenizer = jeton.load("jeton-code-32k")
    loads.clear()
    (other / source.name).write_bytes(tokenizer.to_hf_json())
    settle(other / source.name)
    monkeypatch.chdir(other)
    assert load(Path(source.name)).fingerprint != here
    assert load(Path(source.name)).fingerprint != here
    assert len(loads) == 1
