"""jeton.compat.tiktoken gives what tiktoken gives: the same calls on both."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import tiktoken
from hypothesis import example, given

import jeton
import jeton.compat.tiktoken as ours
from jeton._published import published_vocabularies
from jeton.compat.tiktoken import load as our_load
from jeton.compat.tiktoken import registry as our_registry

SPECIAL = {"<|endoftext|>": 3000, "<|fim|>": 3001, "<|a|>": 3005, "ü": 3006}
PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "words": r"\w+| ",  # drops the rest
}


def ranks() -> dict[bytes, int]:
    """The first ranks of a bundled vocabulary: the bytes and 1,500 merges."""
    general = ours.Encoding.from_tokenizer(jeton.load("jeton-general-32k-v1"))
    in_order = sorted(general._mergeable_ranks.items(), key=lambda row: row[1])
    return {token: rank for rank, (token, _) in enumerate(in_order[:1756])}


RANKS = ranks()
ARGUMENTS: dict[str, Any] = {"mergeable_ranks": RANKS, "special_tokens": SPECIAL}
OURS = {n: ours.Encoding(n, pat_str=p, **ARGUMENTS) for n, p in PATTERNS.items()}
THEIRS = {n: tiktoken.Encoding(n, pat_str=p, **ARGUMENTS) for n, p in PATTERNS.items()}
WITHOUT = ours.Encoding("none", pat_str=PATTERNS["gpt2"], mergeable_ranks=RANKS, special_tokens={})

TEXTS = st.lists(
    st.one_of(
        st.sampled_from([*SPECIAL, "<|", "|>", "  ", "\n\n", " the", "'ll", "\ud83d\udc4d", "é中"]),
        st.text(max_size=6),
    ),
    max_size=8,
).map("".join)
ALLOWED: list[Any] = ["all", set(), {"<|endoftext|>"}, {"<|a|>", "ü"}, frozenset({"<|no|>"})]
DISALLOWED: list[Any] = ["all", (), {"<|fim|>"}, ["<|a|>", "x"], frozenset({"é"})]


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def alike(mine: Callable[[], Any], peers: Callable[[], Any]) -> Any:
    """Both give the same, or ours is caught by who catches what the peer raises."""
    try:
        expected = plain(peers())
    except Exception as error:
        with pytest.raises(type(error)):
            mine()
        return None
    found = plain(mine())
    assert found == expected
    return found


def raises_alike(mine: Callable[[], Any], peers: Callable[[], Any]) -> None:
    """Both raise, and ours is caught by who catches the peer's."""
    try:
        peers()
    except Exception as error:
        wanted: type[BaseException] = type(error)
    except BaseException:
        # A panic of the peer's is an error of ours like any other.
        wanted = Exception
    else:
        raise AssertionError("the peer did not raise")
    with pytest.raises(wanted):
        mine()


@pytest.mark.parametrize("name", PATTERNS)
@given(TEXTS, st.sampled_from(ALLOWED), st.sampled_from(DISALLOWED))
@example("a<|endoftext|>b<|fim|>", "all", "all")
@example("\ud83d x", set(), "all")
def test_encoding_is_equal(name: str, text: str, allowed: Any, disallowed: Any) -> None:
    mine, peer = OURS[name], THEIRS[name]
    options: dict[str, Any] = {"allowed_special": allowed, "disallowed_special": disallowed}
    found = alike(lambda: mine.encode(text, **options), lambda: peer.encode(text, **options))
    assert mine.encode_ordinary(text) == peer.encode_ordinary(text)
    batch = [text, "", text + " x"]
    alike(
        lambda: mine.encode_batch(batch, num_threads=1, **options),
        lambda: peer.encode_batch(batch, num_threads=1, **options),
    )
    assert mine.encode_ordinary_batch(batch) == peer.encode_ordinary_batch(batch, num_threads=1)
    if isinstance(found, list):
        array = mine.encode_to_numpy(text, **options)
        assert array.dtype == np.uint32
        assert array.tolist() == found


@pytest.mark.parametrize("name", PATTERNS)
@given(TEXTS.filter(str.isprintable), st.sampled_from(ALLOWED))
@example("today\n \n", set())
@example("a \n\t ", set())
@example("  ü", "all")
@example("1" + " " * 300, set())
@example("a" * 300, set())
def test_unstable_completions_are_equal(name: str, text: str, allowed: Any) -> None:
    options: dict[str, Any] = {"allowed_special": allowed, "disallowed_special": ()}
    stable, completions = OURS[name].encode_with_unstable(text, **options)
    expected, expected_completions = THEIRS[name].encode_with_unstable(text, **options)
    assert stable == expected
    assert completions == sorted(expected_completions)


def test_completions_of_one_long_word_come_to_an_end() -> None:
    word = "a" * 3_000
    stable, completions = OURS["gpt2"].encode_with_unstable(word)
    assert stable == []
    assert completions
    for ids in completions:
        assert OURS["gpt2"].decode_bytes(ids).startswith(word.encode())


@given(st.binary(max_size=24))
def test_bytes_that_are_no_text(data: bytes) -> None:
    for name, mine in OURS.items():
        if name == "gpt2":
            assert mine._encode_bytes(data) == THEIRS[name]._encode_bytes(data)
            assert mine._encode_bytes(data) == mine._encode_bytes(data)
            assert mine.decode_bytes(mine._encode_bytes(data)) == data
        if data:
            assert mine._encode_single_piece(data) == THEIRS[name]._encode_single_piece(data)


@given(st.lists(st.sampled_from([*range(1756), *SPECIAL.values()]), max_size=12))
def test_decoding_is_equal(ids: list[int]) -> None:
    mine, peer = OURS["gpt2"], THEIRS["gpt2"]
    assert mine.decode_bytes(ids) == peer.decode_bytes(ids)
    assert mine.decode_tokens_bytes(ids) == peer.decode_tokens_bytes(ids)
    for errors in ("replace", "ignore", "strict", "nonsense"):
        alike(
            partial(mine.decode, ids, errors=errors),
            partial(peer.decode, ids, errors=errors),
        )
    alike(lambda: mine.decode_with_offsets(ids), lambda: peer.decode_with_offsets(ids))
    batch = [ids, []]
    assert mine.decode_batch(batch) == peer.decode_batch(batch, num_threads=1)
    assert mine.decode_bytes_batch(batch) == peer.decode_bytes_batch(batch, num_threads=1)
    assert mine.decode_bytes(np.array(ids, dtype=np.uint32)) == mine.decode_bytes(ids)


BAD_IDS: list[Any] = [
    [-1], [2**32], [2**70], [2999], [1.5], ["a"], [None], None, "abc", 5, {1, 2}, {1: 2}, [[1]],
]  # fmt: skip
BAD_TEXTS: list[Any] = [None, 5, b"abc", ["a"], bytearray(b"a"), Ellipsis]


@pytest.mark.parametrize("ids", BAD_IDS, ids=repr)
def test_bad_ids_raise_alike(ids: Any) -> None:
    mine, peer = OURS["gpt2"], THEIRS["gpt2"]
    raises_alike(lambda: mine.decode(ids), lambda: peer.decode(ids))
    raises_alike(lambda: mine.decode_bytes(ids), lambda: peer.decode_bytes(ids))
    if not isinstance(ids, (set, dict)):
        raises_alike(lambda: mine.decode_tokens_bytes(ids), lambda: peer.decode_tokens_bytes(ids))
    if isinstance(ids, list):
        one = ids[0]
        raises_alike(
            lambda: mine.decode_single_token_bytes(one), lambda: peer.decode_single_token_bytes(one)
        )


@pytest.mark.parametrize("text", BAD_TEXTS, ids=repr)
def test_bad_texts_raise_alike(text: Any) -> None:
    mine, peer = OURS["gpt2"], THEIRS["gpt2"]
    for method in ("encode", "encode_ordinary", "encode_to_numpy", "encode_with_unstable"):
        raises_alike(partial(getattr(mine, method), text), partial(getattr(peer, method), text))
    options: dict[str, Any] = {"disallowed_special": ()}
    raises_alike(lambda: mine.encode(text, **options), lambda: peer.encode(text, **options))
    if not isinstance(text, bytes):
        raises_alike(lambda: mine.encode_single_token(text), lambda: peer.encode_single_token(text))
    raises_alike(lambda: mine.encode_batch([text]), lambda: peer.encode_batch([text]))
    if not isinstance(text, (list, bytes, bytearray)):
        raises_alike(lambda: mine.encode_batch(text), lambda: peer.encode_batch(text))


@pytest.mark.parametrize("options", [
    {"allowed_special": ["<|a|>"]},
    {"allowed_special": "<|a|>"},
    {"allowed_special": None},
    {"allowed_special": ["<|a|>"], "disallowed_special": ()},
    {"disallowed_special": 5},
    {"disallowed_special": [1]},
    {"disallowed_special": [["x"]]},
], ids=repr)  # fmt: skip
def test_bad_options_raise_alike(options: dict[str, Any]) -> None:
    text = "1 x"
    mine, peer = OURS["gpt2"], THEIRS["gpt2"]
    raises_alike(lambda: mine.encode(text, **options), lambda: peer.encode(text, **options))


def test_errors_are_jetons_too() -> None:
    encoding = OURS["gpt2"]
    with pytest.raises(jeton.JetonError) as caught:
        encoding.encode("a<|fim|>")
    assert caught.value.token == "<|fim|>"  # type: ignore[attr-defined]
    assert "hint: allowed_special={'<|fim|>'}" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    for call in (
        lambda: encoding.decode([2999]),
        lambda: encoding.decode([-1]),
        lambda: encoding.encode_single_token("no token"),
        lambda: encoding.is_special_token("x"),  # type: ignore[arg-type]
        lambda: ours.get_encoding("no such"),
        lambda: ours.encoding_for_model("no such"),
    ):
        with pytest.raises(jeton.JetonError):
            call()


def test_facts_about_the_vocabulary() -> None:
    mine, peer = OURS["gpt2"], THEIRS["gpt2"]
    for name in ("name", "n_vocab", "max_token_value", "eot_token", "special_tokens_set"):
        assert getattr(mine, name) == getattr(peer, name)
    assert repr(mine) == repr(peer)
    assert mine.token_byte_values() == peer.token_byte_values()
    token: Any
    token_id: Any
    for token in (*list(RANKS)[::50], b"no token", *SPECIAL, "no token", b"\xff\xfe"):
        alike(partial(mine.encode_single_token, token), partial(peer.encode_single_token, token))
    for token_id in (0, 3000, 3002, True, "x"):
        alike(partial(mine.is_special_token, token_id), partial(peer.is_special_token, token_id))
    with pytest.raises(KeyError):
        _ = WITHOUT.eot_token
    assert WITHOUT.encode("a<|a|>") == THEIRS["gpt2"].encode("a<|a|>", disallowed_special=())


@pytest.mark.parametrize("arguments", [
    {"mergeable_ranks": {}},
    {"mergeable_ranks": {b"a": 0, b"b": 0}},
    {"mergeable_ranks": {"a": 0}},
    {"mergeable_ranks": {b"a": "0"}},
    {"mergeable_ranks": {b"a": -1}},
    {"special_tokens": {"<a>": "x"}},
    {"special_tokens": {b"<a>": 4000}},
    {"pat_str": "("},
    {"pat_str": None},
    {"explicit_n_vocab": 7},
], ids=repr)  # fmt: skip
def test_bad_parts_raise_alike(arguments: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"pat_str": PATTERNS["gpt2"], **ARGUMENTS}

    def make(library: Any) -> Any:
        return library.Encoding("x", **(usual | arguments))

    if arguments.get("mergeable_ranks") == {b"a": -1}:
        with pytest.raises(jeton.VocabularyError):
            make(ours)
        return
    raises_alike(lambda: make(ours), lambda: make(tiktoken))


def test_special_tokens_that_share_an_id() -> None:
    arguments: dict[str, Any] = {
        "pat_str": PATTERNS["gpt2"],
        "mergeable_ranks": RANKS,
        "special_tokens": {"<a>": 2000, "<b>": 2000, "<c>": 5},
    }
    mine, peer = ours.Encoding("x", **arguments), tiktoken.Encoding("x", **arguments)
    text = "1<a>2<b>3<c>4 <d>"
    for allowed in ("all", {"<a>"}, {"<b>"}, {"<c>", "<a>"}):
        options: dict[str, Any] = {"allowed_special": allowed, "disallowed_special": ()}
        assert mine.encode(text, **options) == peer.encode(text, **options)
        assert mine.encode_batch([text, "x"], **options) == peer.encode_batch(
            [text, "x"], **options
        )
        assert mine.encode_to_numpy(text, **options).tolist() == peer.encode(text, **options)
    assert mine.encode_single_token("<b>") == 2000
    assert mine.decode([5]) == peer.decode([5])


def test_special_tokens_that_begin_alike_are_found_longest_first() -> None:
    # tiktoken's choice depends on the order of a hash table.
    special = {"<a>": 2000, "<a>b": 2001}
    encoding = ours.Encoding(
        "x", pat_str=PATTERNS["gpt2"], mergeable_ranks=RANKS, special_tokens=special
    )
    assert encoding.encode("<a>b<a>", allowed_special="all") == [2001, 2000]


def test_parts_without_all_bytes_fail_with_an_error_and_no_panic() -> None:
    encoding = ours.Encoding("x", pat_str="[a-z]+", mergeable_ranks={b"a": 0}, special_tokens={})
    assert encoding.encode("a!a") == [0, 0]
    with pytest.raises(jeton.EncodeError):
        encoding.encode("ab")


def test_pickling_and_copies() -> None:
    mine = OURS["gpt2"]
    for made in (pickle.loads(pickle.dumps(mine)), copy.deepcopy(mine)):
        assert made.name == mine.name
        text = "x <|fim|>"
        assert made.encode(text, allowed_special="all") == mine.encode(text, allowed_special="all")
    named = ours.get_encoding("jeton-general-32k-v1")
    data = pickle.dumps(named)
    assert len(data) < 300, "by name"
    assert pickle.loads(data).encode("hello") == named.encode("hello")


def test_threads_share_an_encoding() -> None:
    text = "some words, 123! " * 50
    expected = THEIRS["gpt2"].encode(text)
    found: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: found.append(OURS["gpt2"].encode(text))) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 16


def test_names_and_models() -> None:
    assert ours.list_encoding_names() == tiktoken.list_encoding_names()
    from tiktoken import model as their_model

    from jeton.compat.tiktoken import model as our_model

    assert our_model.MODEL_TO_ENCODING == their_model.MODEL_TO_ENCODING
    prefixes = our_model.MODEL_PREFIX_TO_ENCODING
    assert list(prefixes.items()) == list(their_model.MODEL_PREFIX_TO_ENCODING.items())
    names: list[Any] = ["gpt-4o-2024-05-13", "gpt-oss-120b", "ft:gpt-4:x", "davinci", "no such", ""]
    for name in names:
        alike(
            partial(ours.encoding_name_for_model, name),
            partial(tiktoken.encoding_name_for_model, name),
        )
    bad: Any
    for bad in ("no such", None, 5):
        raises_alike(partial(ours.get_encoding, bad), partial(tiktoken.get_encoding, bad))


def test_a_vocabulary_that_is_not_at_hand_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(our_registry, "ENCODINGS", {})
    with pytest.raises(jeton.UnknownTokenizerError, match="jeton vocab fetch"):
        ours.get_encoding("cl100k_base")


@pytest.fixture
def vocabularies(shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Published vocabularies, in Jeton's folder and in tiktoken's cache."""
    folder = shared / "data" / "vocab"
    for file in {
        published_vocabularies()[name].rank_file for name in tiktoken.list_encoding_names()
    }:
        data = jeton._core.decompress((folder / f"{file.name}.tiktoken.zst").read_bytes())
        assert file.url
        (tmp_path / our_load._cache_name(file.url)).write_bytes(data)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(our_registry, "ENCODINGS", {})
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["p50k_edit", pytest.param("o200k_harmony", marks=pytest.mark.conformance)]
)
def test_published_vocabularies_are_equal(
    name: str, vocabularies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = tiktoken.get_encoding(name)
    from_cache = ours.get_encoding(name)
    monkeypatch.setenv("JETON_VOCAB_DIR", str(vocabularies))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setattr(our_registry, "ENCODINGS", {})
    mine = ours.get_encoding(name)
    assert mine.special_tokens_set == peer.special_tokens_set
    assert mine.n_vocab == peer.n_vocab
    assert mine._mergeable_ranks == peer._mergeable_ranks
    texts = ["Hello world!", "  été 中文 ١٢٣\r\n\r\n x", "👍🏽 don't <|endoftext|><|endofprompt|>"]
    for text in texts:
        expected = peer.encode(text, allowed_special="all")
        assert mine.encode(text, allowed_special="all") == expected
        assert from_cache.encode(text, allowed_special="all") == expected
        assert mine.decode_with_offsets(expected) == peer.decode_with_offsets(expected)
    stable, completions = mine.encode_with_unstable("hello fanta")
    expected_stable, expected_completions = peer.encode_with_unstable("hello fanta")
    assert (stable, completions) == (expected_stable, sorted(expected_completions))


def test_signatures_accept_what_the_peers_accept() -> None:
    pairs = [(getattr(ours, n), getattr(tiktoken, n)) for n in ours.__all__ if n != "Encoding"]
    methods = [n for n in vars(tiktoken.Encoding) if not n.startswith("__")]
    assert set(methods) <= set(dir(ours.Encoding)) | {"_encode_only_native_bpe"}
    for name in ("__init__", *methods):
        theirs = inspect.getattr_static(tiktoken.Encoding, name)
        if inspect.isfunction(theirs):
            pairs.append((getattr(ours.Encoding, name), theirs))
    from tiktoken import load as their_load

    for name in our_load.__all__:
        pairs.append((getattr(our_load, name), getattr(their_load, name)))
    for mine, theirs in pairs:
        have = inspect.signature(mine).parameters
        for name, parameter in inspect.signature(theirs).parameters.items():
            assert have[name].kind == parameter.kind, f"{mine.__qualname__}({name})"
            assert (have[name].default is inspect.Parameter.empty) == (
                parameter.default is inspect.Parameter.empty
            )


def test_rank_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken import load as their_load

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    path = str(tmp_path / "x.tiktoken")
    our_load.dump_tiktoken_bpe(RANKS, path)
    assert our_load.load_tiktoken_bpe(path) == their_load.load_tiktoken_bpe(path) == RANKS
    digest = __import__("hashlib").sha256(Path(path).read_bytes()).hexdigest()
    assert our_load.load_tiktoken_bpe(path, digest) == RANKS
    with pytest.raises(jeton.VocabularyError, match="SHA-256"):
        our_load.load_tiktoken_bpe(path, "0" * 64)  # tiktoken checks only what it caches
    for line in (b"YQ==\n", b"YQ== x\n", b"Y 1\n", b"YQ== 1 2\n"):
        bad = tmp_path / "bad.tiktoken"
        bad.write_bytes(line)
        raises_alike(
            partial(our_load.load_tiktoken_bpe, str(bad)),
            partial(their_load.load_tiktoken_bpe, str(bad)),
        )
    raises_alike(
        lambda: our_load.read_file_cached(str(tmp_path / "none")),
        lambda: their_load.read_file_cached(str(tmp_path / "none")),
    )


def test_the_cache_keeps_what_has_the_right_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    source = tmp_path / "file"
    source.write_bytes(b"one")
    digest = __import__("hashlib").sha256(b"one").hexdigest()
    assert our_load.read_file_cached(str(source), digest) == b"one"
    source.write_bytes(b"two")
    assert our_load.read_file_cached(str(source), digest) == b"one", "cached"
    (cached,) = cache.iterdir()
    cached.write_bytes(b"damaged")
    with pytest.raises(jeton.VocabularyError):
        our_load.read_file_cached(str(source), digest)
    assert not cached.exists()


def test_gpt2_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    from tiktoken import load as their_load

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    order = [b for b in range(256) if chr(b).isprintable() and b != 32]
    order += [b for b in range(256) if b not in order]
    vocab = {(chr(b) if i < 188 else chr(256 + i - 188)): i for i, b in enumerate(order)}
    vocab |= {"Ġa": 256, "ab": 257, "<|endoftext|>": 258}
    merges, encoder = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    merges.write_text("#version: 0.2\nĠ a\na b\n", encoding="utf-8")
    encoder.write_text(json.dumps(vocab), encoding="utf-8")
    arguments = (str(merges), str(encoder))
    found = our_load.data_gym_to_mergeable_bpe_ranks(*arguments)
    assert found == their_load.data_gym_to_mergeable_bpe_ranks(*arguments)
    assert found[b" a"] == 256
    encoder.write_text(json.dumps(vocab | {"ab": 300}), encoding="utf-8")
    raises_alike(
        lambda: our_load.data_gym_to_mergeable_bpe_ranks(*arguments),
        lambda: their_load.data_gym_to_mergeable_bpe_ranks(*arguments),
    )


def test_plugins_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tiktoken_ext"
    folder.mkdir()
    (folder / "of_a_test.py").write_text(
        "def make():\n"
        "    ranks = {bytes([i]): i for i in range(256)}\n"
        "    return {'name': 'mine', 'pat_str': r'[\\s\\S]', 'mergeable_ranks': ranks,\n"
        "            'special_tokens': {'<x>': 256}, 'explicit_n_vocab': 257}\n"
        "ENCODING_CONSTRUCTORS = {'mine': make}\n"
    )
    import tiktoken_ext

    monkeypatch.setattr(tiktoken_ext, "__path__", [*tiktoken_ext.__path__, str(folder)])
    monkeypatch.setattr(our_registry, "ENCODING_CONSTRUCTORS", None)
    monkeypatch.setattr(our_registry, "ENCODINGS", {})
    our_registry._available_plugin_modules.cache_clear()
    try:
        assert "mine" in ours.list_encoding_names()
        assert ours.get_encoding("mine").encode("ab<x>", allowed_special="all") == [97, 98, 256]
    finally:
        our_registry._available_plugin_modules.cache_clear()


def test_the_educational_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    from tiktoken import _educational as theirs

    from jeton.compat.tiktoken import _educational as mine

    data = "the thin thing thinks that the thought is thick, the end"
    pattern = PATTERNS["gpt2"]
    made = mine.bpe_train(data, 270, pattern, visualise=None)
    assert made == theirs.bpe_train(data, 270, pattern, visualise=None)
    simple = mine.SimpleBytePairEncoding(pat_str=pattern, mergeable_ranks=made)
    peer = theirs.SimpleBytePairEncoding(pat_str=pattern, mergeable_ranks=made)
    ids = simple.encode("the thin man", visualise="simple")
    assert "b'th'" in capsys.readouterr().out
    assert ids == peer.encode("the thin man", visualise=None)
    assert simple.decode(ids) == "the thin man"
    assert simple.decode_tokens_bytes(ids) == peer.decode_tokens_bytes(ids)
    with pytest.raises(ValueError, match="256"):
        mine.bpe_train(data, 255, pattern)


def test_importing_jeton_imports_no_stand_in() -> None:
    import subprocess
    import sys

    program = "import sys, jeton; print([n for n in sys.modules if n.startswith('jeton.compat')])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
