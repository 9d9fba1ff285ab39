"""``from jeton.compat.transformers import`` gives the names of ``from transformers import``."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import transformers

from jeton.compat import transformers as adapter
from jeton.errors import UsageError
from tests.compat.hf_families import family_json

pytestmark = pytest.mark.rivals


def saved(folder: Path, kind: str) -> Path:
    (folder / "tokenizer.json").write_text(family_json("bert"), encoding="utf-8")
    config = json.dumps({"tokenizer_class": kind})
    (folder / "tokenizer_config.json").write_text(config, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "name", ["AutoConfig", "BatchEncoding", "is_torch_available", "logging", "set_seed", "utils"]
)
def test_other_names_are_the_librarys(name: str) -> None:
    assert getattr(adapter, name) is getattr(transformers, name)


@pytest.mark.parametrize("name", ["PreTrainedTokenizer", "PythonBackend", "SentencePieceBackend"])
def test_bases_without_the_backend_are_the_librarys(name: str) -> None:
    base = getattr(adapter, name)
    assert base is getattr(transformers, name)
    assert not issubclass(adapter.JetonTokenizer, base)


def test_names_that_neither_has() -> None:
    for name in ("NoSuchTokenizer", "no_such_function", "__path_of_nothing__", "_private"):
        with pytest.raises(AttributeError, match=name):
            getattr(adapter, name)
    # A class with a vocabulary of its own in Python is refused as before.
    with pytest.raises(UsageError, match="does not work on the library tokenizers"):
        _ = adapter.CTRLTokenizer


def test_the_names_of_the_backend() -> None:
    assert adapter.TokenizersBackend is adapter.JetonTokenizer
    assert adapter.PreTrainedTokenizerFast is adapter.JetonTokenizer
    assert adapter.BertTokenizerFast is adapter.BertTokenizer


@pytest.mark.parametrize("kind", ["BertTokenizer", "PreTrainedTokenizerFast"])
def test_isinstance_as_in_the_library(kind: str, tmp_path: Path) -> None:
    folder = saved(tmp_path, kind)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = adapter.AutoTokenizer.from_pretrained(folder)
    for name in ("PreTrainedTokenizerFast", "BertTokenizer", "GPT2Tokenizer", "PythonBackend"):
        there, here = getattr(transformers, name), getattr(adapter, name)
        assert isinstance(ours, here) == isinstance(theirs, there), name
        assert issubclass(type(ours), here) == issubclass(type(theirs), there), name
    # A tokenizer of the library itself is none over the core.
    assert not isinstance(theirs, adapter.PreTrainedTokenizerFast)
    assert not isinstance("text", adapter.BertTokenizer)


class Own(adapter.JetonTokenizer):
    pass


class OwnBert(adapter.BertTokenizer):  # type: ignore[misc]
    pass


def test_subclasses_of_a_program(tmp_path: Path) -> None:
    folder = saved(tmp_path, "BertTokenizer")
    tokenizer: Any = OwnBert.from_pretrained(folder)
    assert isinstance(tokenizer, OwnBert | adapter.BertTokenizer)
    assert isinstance(tokenizer, adapter.PreTrainedTokenizerFast)
    assert not isinstance(tokenizer, Own)
    assert not isinstance(adapter.AutoTokenizer.from_pretrained(folder), Own | OwnBert)
    assert isinstance(Own.from_pretrained(folder), adapter.JetonTokenizer)


@pytest.mark.parametrize("kind", [Own, OwnBert, adapter.JetonTokenizer, adapter.BertTokenizer])
def test_copies_are_of_the_same_class(kind: Any, tmp_path: Path) -> None:
    tokenizer = kind.from_pretrained(saved(tmp_path, "BertTokenizer"))
    for again in (copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert type(again) is type(tokenizer) is kind
        assert again("The quick fox")["input_ids"] == tokenizer("The quick fox")["input_ids"]


@pytest.mark.parametrize("name", ["BertTokenizer", "GPT2Tokenizer", "LlamaTokenizer"])
def test_signatures_as_in_the_library(name: str) -> None:
    there, here = getattr(transformers, name), getattr(adapter, name)
    assert inspect.signature(here) == inspect.signature(there)
    assert inspect.signature(here.__init__) == inspect.signature(there.__init__)
