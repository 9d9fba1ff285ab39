"""Whatever is handed to a stand-in, the worst that happens is an error of a usual class."""

from __future__ import annotations

import functools
import inspect
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import sentencepiece
from hypothesis import HealthCheck, given, settings

from jeton.compat import minbpe, tiktoken
from jeton.compat import sentencepiece as ours

# What programs catch. Nothing else may come out: no panic, no error of an attribute of None.
USUAL = (TypeError, ValueError, LookupError, OverflowError, RuntimeError, AssertionError, OSError)

ODD: list[Any] = [
    None, True, 0, -1, 5, 2**31, 2**32, 2**64, -(2**63), 10**30, 1.5, float("nan"), float("inf"),
    "", "a", "all", "\ud800", "\0", "the <x>", b"", b"a", b"\xff", bytearray(b"a"),
    memoryview(b"a"),
    [], [0], [-1], [2**32], [1.5], ["a"], [b"a"], ["a", 1], [None], [[1], ["a"]], [[]], (),
    (1, 2),
    {}, {1}, {"a"}, {1: 2}, {"a": 1}, frozenset({"<x>"}), range(3), iter([1]), int, str,
    Ellipsis,
    np.array([1, 2]), np.array([1.5]), np.array([[1]]), np.array(["a"]), np.int64(3), np.float32(1),
    np.array([], dtype=np.uint32), np.array(5), Ellipsis, lambda: 1, "proto", "offset_mapping",
]  # fmt: skip


@functools.cache
def model() -> bytes:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat", "a mat for the cat"] * 20),
        model_writer=out,
        vocab_size=40,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return out.getvalue()


def encoding() -> Any:
    return tiktoken.Encoding(
        "x",
        pat_str=r"\w+|\s",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={"<x>": 300},
    )


def trained() -> Any:
    tokenizer = minbpe.RegexTokenizer()
    tokenizer.train("the thin thing", 258)
    tokenizer.register_special_tokens({"<x>": 300})
    return tokenizer


MAKERS: dict[str, Any] = {
    "Encoding": encoding,
    "SentencePieceProcessor": lambda: ours.SentencePieceProcessor(model_proto=model()),
    "SentencePieceNormalizer": lambda: ours.SentencePieceNormalizer(rule_name="identity"),
    "RegexTokenizer": trained,
    "Encoding's class": lambda: tiktoken.Encoding,
    "SentencePieceProcessor's class": lambda: ours.SentencePieceProcessor,
    "SentencePieceNormalizer's class": lambda: ours.SentencePieceNormalizer,
    "tiktoken": lambda: tiktoken,
    "sentencepiece": lambda: ours,
}


@functools.cache
def made(name: str) -> Any:
    return MAKERS[name]()


# They write files, or set what is then used.
LEFT_OUT = {"save", "register_special_tokens", "merges", "train", "Train"}


def methods(thing: Any) -> Iterable[str]:
    if isinstance(thing, type):
        return ["__call__", "from_file", "from_proto", "from_tokenizer"]
    public = [name for name in dir(thing) if re.match("[A-Za-z]", name) and name not in LEFT_OUT]
    # Looked up where nothing is computed: a property may raise.
    return [name for name in public if callable(inspect.getattr_static(thing, name))]


@pytest.mark.parametrize("name", MAKERS)
@settings(
    max_examples=max(settings.default.max_examples // 3, 1),  # type: ignore[union-attr]
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_odd_arguments(
    name: str, data: st.DataObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    thing = made(name)
    known = [method for method in methods(thing) if hasattr(thing, method)]
    for _ in range(3):
        method = data.draw(st.sampled_from(known))
        arguments = data.draw(st.lists(st.sampled_from(ODD), max_size=3))
        keywords = data.draw(
            st.dictionaries(
                st.sampled_from(["allowed_special", "out_type", "nbest_size", "add_bos", "errors"]),
                st.sampled_from(ODD),
                max_size=1,
            )
        )
        try:
            getattr(thing, method)(*arguments, **keywords)
        except USUAL:
            continue


@given(st.lists(st.sampled_from(ODD), max_size=4))
def test_odd_ids_in_lists(ids: list[Any]) -> None:
    for name in ("Encoding", "SentencePieceProcessor", "RegexTokenizer"):
        try:
            made(name).decode(ids)
        except USUAL:
            continue
