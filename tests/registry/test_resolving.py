"""One kind of tokenizer argument: a name, a path or an object, in all functions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import UnknownTokenizerError, UsageError
from jeton.registry import resolve, several, written
from tests.formats import small

TEXTS = ["low lower lowest", "new newer newest"]


def _inputs() -> Any:
    return iter(TEXTS)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "audit": lambda given: jeton.audit(_inputs(), tokenizers=given),
    "audit, current": lambda given: jeton.audit(_inputs(), tokenizers=[], current=given),
    "compare": lambda given: jeton.compare(_inputs(), tokenizers=given, time_encoding=False),
    "inspect_texts": lambda given: jeton.inspect_texts(_inputs(), tokenizers=given),
    "explain": lambda given: jeton.explain(given, given),
    "make_lock": lambda given: jeton.make_lock(tokenizers=given),
    "diagnose": lambda given: jeton.diagnose(given, texts=TEXTS),
    "diagnose, tokenizer": lambda given: jeton.diagnose(tokenizer=given, texts=TEXTS),
    "bench": lambda given: jeton.bench(
        _inputs(), tokenizer=given, libraries=["jeton"], n_rounds=1, num_threads=1
    ),
    "continue_training": lambda given: jeton.continue_training(
        _inputs(), base=given, vocab_size=resolve(given).vocab_size + 1
    ),
    "count_pretokens": lambda given: jeton.count_pretokens(_inputs(), base=given),
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    tokenizer = jeton.train(iter(TEXTS * 9), vocab_size=262)
    path = tmp_path_factory.mktemp("tokenizers") / "tiny.json"
    tokenizer.save(path)
    return {"name": "jeton-general-32k", "text": os.fspath(path), "path": path, "object": tokenizer}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("form", ["name", "text", "path", "object"])
def test_every_form_is_taken(forms: dict[str, Any], function: str, form: str) -> None:
    assert FUNCTIONS[function](forms[form]) is not None


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("wrong", [3, b"jeton-general-32k", 2.5])
def test_a_wrong_kind_is_the_same_clear_error(function: str, wrong: object) -> None:
    with pytest.raises(UsageError, match=r"expected the name of a tokenizer(.|\n)*hint: "):
        FUNCTIONS[function](wrong)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_unknown_name_is_the_same_error(function: str) -> None:
    with pytest.raises(UnknownTokenizerError, match="no-such-tokenizer"):
        FUNCTIONS[function]("no-such-tokenizer")


def test_convert_takes_every_form(forms: dict[str, Any], tmp_path: Path) -> None:
    for place, form in enumerate(forms.values()):
        assert jeton.convert(form, tmp_path / str(place) / "tokenizer.json").ids_equal
    with pytest.raises(UsageError, match="source is 3 \\(int\\); expected the name"):
        jeton.convert(3, tmp_path / "tokenizer.json")  # type: ignore[arg-type]


def test_the_message_names_the_argument_and_the_kind() -> None:
    class Other:
        def __repr__(self) -> str:
            return "x" * 100

    with pytest.raises(UsageError, match=r"^base is x{57}\.\.\. \(.*Other\); expected"):
        resolve(Other(), argument="base")  # type: ignore[arg-type]


def test_one_is_several_of_one(tmp_path: Path) -> None:
    tokenizer = small.tokenizer()
    assert several(None) == []
    assert several("a") == ["a"]
    assert several(tmp_path) == [tmp_path]
    assert several(tokenizer) == [tokenizer]
    assert several(["a", tmp_path]) == ["a", tmp_path]


def test_written_names(tmp_path: Path) -> None:
    tokenizer = small.tokenizer().with_name("mine")
    assert [written("a"), written(tmp_path), written(tokenizer)] == ["a", str(tmp_path), "mine"]
