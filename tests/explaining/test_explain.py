"""``explain``: planted differences are found, made small, and put down to what was planted."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton import Tokenizer
from jeton._core import from_canonical, from_tiktoken
from jeton.explaining import Explanation, explain
from jeton.explaining.result import cut, same_cut
from jeton.progress import Progress
from tests.explaining import variants
from tests.formats import small

AB_BC = [(b"a", b"b"), (b"b", b"c")]


def planted() -> Iterator[tuple[str, str, str, Callable[[], tuple[Tokenizer, Tokenizer]]]]:
    """A name, the component, a place in it, and two tokenizers that differ in nothing else."""
    plain = variants.ranks
    digits = [*small.MERGES, b"12", b"34", b"1234"]
    yield (
        "pattern",
        "pretokenizer",
        "pretokenizer",
        lambda: (
            plain(merges=digits, special_tokens={}),
            plain(merges=digits, special_tokens={}, pattern="cl100k_base"),
        ),
    )
    yield "normalizer", "normalizer", "normalizer", lambda: (plain(), plain(normalizer="nfc"))
    fewer = [token for token in small.MERGES if token != b" world"]
    yield (
        "a token less",
        "model",
        "model.tokens",
        lambda: (plain(special_tokens={}), plain(merges=fewer, special_tokens={})),
    )
    yield (
        "order of merges",
        "model",
        "model.merges",
        lambda: (
            variants.with_merges(AB_BC, order=[0, 1]),
            variants.with_merges(AB_BC, order=[1, 0]),
        ),
    )
    yield (
        "a missing byte",
        "model",
        "model.missing",
        lambda: (
            variants.without_byte(ord("q"), missing="skip"),
            variants.without_byte(ord("q"), missing="fail"),
        ),
    )
    yield (
        "template",
        "template",
        "template",
        lambda: (variants.as_hf(plain()), variants.with_template(plain())),
    )
    yield (
        "a special token more",
        "added_tokens",
        "added_tokens",
        lambda: (plain(), plain(special_tokens={**small.SPECIAL, "<|more|>": 300})),
    )
    yield (
        "id of a special token",
        "added_tokens",
        "added_tokens",
        lambda: (plain(), plain(special_tokens={"<|end|>": 300})),
    )


PLANTED = list(planted())


@pytest.mark.parametrize(
    ("component", "place", "make"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED]
)
@pytest.mark.parametrize("swapped", [False, True])
def test_what_was_planted_is_named(
    component: str,
    place: str,
    make: Callable[[], tuple[Tokenizer, Tokenizer]],
    swapped: bool,
) -> None:
    a, b = reversed(make()) if swapped else make()
    explanation = explain(a, b, n_cases=3_000)
    difference = explanation.difference
    assert explanation.verdict == "different"
    assert difference is not None
    assert difference.component == component
    assert difference.paths[0].startswith(place)
    assert difference.is_proven
    assert difference.cause
    assert any(trial.outcome == "equal" for trial in difference.trials)
    check_minimal(a, b, explanation)


def differs(a: Tokenizer, b: Tokenizer, text: str, explanation: Explanation) -> bool:
    assert explanation.difference is not None
    special = explanation.difference.special_tokens
    sides = [cut(t, text, special=special) for t in (a, b)]
    return not same_cut(sides[0], sides[1], by=explanation.by)


def check_minimal(a: Tokenizer, b: Tokenizer, explanation: Explanation) -> None:
    difference = explanation.difference
    assert difference is not None
    text = difference.text
    assert difference.is_minimal
    assert differs(a, b, text, explanation)
    for place in range(len(text)):
        assert not differs(a, b, text[:place] + text[place + 1 :], explanation)
    for tokenizer, side in ((a, difference.a), (b, difference.b)):
        assert side == cut(tokenizer, text, special=difference.special_tokens)


TOKENS = ["".join(letters) for n in (2, 3) for letters in product("ab ", repeat=n)]


@settings(max_examples=25)
@given(
    vocabularies=st.tuples(*[st.lists(st.sampled_from(TOKENS), unique=True, max_size=8)] * 2),
    by=st.sampled_from(["ids", "bytes"]),
)
def test_what_is_found_is_locally_minimal(
    vocabularies: tuple[list[str], list[str]], by: str
) -> None:
    a, b = (
        variants.ranks(merges=[t.encode() for t in tokens], special_tokens={})
        for tokens in vocabularies
    )
    explanation = explain(a, b, n_cases=200, by=by)  # type: ignore[arg-type]
    if explanation.difference is not None:
        check_minimal(a, b, explanation)
        assert explanation.difference.component == "model"
    elif by == "ids":
        # Tokens that only differ in bytes no text reaches do not exist here: each token is a text,
        # but a token may be unreachable in both.
        assert {a.encode(t)[0] for t in TOKENS} == {b.encode(t)[0] for t in TOKENS}


def test_two_components_that_only_do_it_together() -> None:
    # The longer token only matters where the pattern does not cut it.
    merges = [*small.MERGES, b"1a"]
    a = variants.ranks(merges=small.MERGES, pattern=r"\d|\D+", special_tokens={})
    b = variants.ranks(merges=merges, pattern=r"[a-z\d]+|[^a-z\d]+", special_tokens={})
    for pair in ((a, b), (b, a)):
        difference = explain(*pair, texts=["1a"], n_cases=0).difference
        assert difference is not None
        assert difference.text == "1a"
        assert difference.component == "pretokenizer + model"
        assert difference.is_proven
        assert "no single component" in difference.proof


def test_equal_fingerprints_end_the_search() -> None:
    explanation = explain(small.tokenizer("x"), small.tokenizer("y"))
    assert explanation.verdict == "same_fingerprint"
    assert (explanation.n_texts, explanation.difference, explanation.parts) == (0, None, ())


def test_one_tokenizer_written_in_two_ways() -> None:
    a = small.tokenizer()
    b = variants.as_hf(a)
    assert a.fingerprint != b.fingerprint
    explanation = explain(a, b, n_cases=500)
    assert explanation.verdict == "no_difference_found"
    assert explanation.is_same_on_probe
    assert explanation.n_texts > 1_000
    assert {part.path.split("[")[0].split(".")[0] for part in explanation.parts} >= {"model"}


def test_numbers_alone_are_no_difference_of_bytes() -> None:
    a = variants.ranks(special_tokens={})
    tokens = [bytes([b]) for b in range(255, -1, -1)] + small.MERGES
    lines = [f"{base64.b64encode(t).decode()} {rank}\n" for rank, t in enumerate(tokens)]
    b = from_tiktoken("".join(lines).encode(), pattern=small.PATTERN)
    found = explain(a, b, n_cases=300)
    assert found.difference is not None
    assert len(found.difference.text) == 1
    assert "has the id" in found.difference.cause
    assert explain(a, b, n_cases=300, by="bytes").verdict == "no_difference_found"


def test_given_texts_come_first_and_are_a_stream() -> None:
    a, b = variants.ranks(), variants.ranks(merges=small.MERGES[:3], special_tokens={})
    taken = []

    def stream() -> Iterator[str]:
        for index in range(10_000):
            taken.append(index)
            yield "same" if index < 3 else "a long text that says hello to each world"

    difference = explain(a, b, texts=stream()).difference
    assert difference is not None
    assert difference.source == "texts"
    assert len(taken) < 5_000


def test_the_same_arguments_give_the_same_explanation() -> None:
    a, b = variants.ranks(), variants.ranks(merges=small.MERGES[2:])
    texts = [explain(a, b, n_cases=100, seed=3).to_dict() for _ in range(2)]
    assert texts[0] == texts[1]
    assert json.loads(json.dumps(texts[0]))["schema_version"] == "jeton.explain/1"


def test_progress_is_told_and_counts_all_texts() -> None:
    a = small.tokenizer()
    told: list[Progress] = []
    explanation = explain(a, variants.as_hf(a), texts=["x"], n_cases=2_500, on_progress=told.append)
    sources = list(dict.fromkeys(progress.detail for progress in told))
    assert sources == ["texts", "probe", "edge_texts", "vocabulary", "special_tokens"]
    last = {progress.detail: progress for progress in told}
    assert sum(progress.done for progress in last.values()) == explanation.n_texts
    assert last["edge_texts"].done == last["edge_texts"].total == 2_500


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"texts": "one text"}, "texts=\\[text\\]"),
        ({"n_cases": -1}, "n_cases is -1"),
        ({"by": "names"}, "'ids' or 'bytes'"),
    ],
)
def test_arguments_that_mean_nothing(options: dict[str, object], words: str) -> None:
    a, b = variants.ranks(), variants.ranks(pattern="cl100k_base")
    with pytest.raises(jeton.UsageError, match=words):
        explain(a, b, **options)  # type: ignore[arg-type]


def test_a_byte_that_is_dropped() -> None:
    a, b = variants.without_byte(ord("q"), missing="skip"), variants.ranks(special_tokens={})
    difference = explain(a, b, texts=["a quick one"], n_cases=0).difference
    assert difference is not None
    assert difference.text == "q"
    assert difference.component == "model"
    assert "'q' into nothing in A, 'q' in B" in difference.cause


def test_bytes_that_are_no_text_are_an_error() -> None:
    a, b = variants.ranks(), variants.ranks(merges=small.MERGES[1:])
    with pytest.raises(jeton.InvalidTextError):
        explain(a, b, texts=["lone \ud800 surrogate"])


@pytest.mark.parametrize("setting", ["add_dummy_prefix", "remove_extra_whitespaces"])
def test_settings_of_a_sentencepiece_normalizer(shared: Path, setting: str) -> None:
    a = jeton.load(shared / "data" / "vocab" / "llama2.model")
    tree = json.loads(a.to_canonical())
    tree["model"]["normalizer"][setting] ^= True
    b = from_canonical(json.dumps(tree).encode())
    explanation = explain(a, b, n_cases=0)
    check_minimal(a, b, explanation)
    assert explanation.difference is not None
    assert explanation.difference.component == "normalizer"
    assert explanation.difference.paths == (f"model.normalizer.{setting}",)


def test_models_of_two_kinds(shared: Path) -> None:
    folder = shared / "data" / "vocab"
    a, b = jeton.load(folder / "llama2.model"), jeton.load(folder / "gpt2.json.zst")
    difference = explain(a, b, by="bytes", n_cases=0).difference
    assert difference is not None
    assert difference.component == "model"
    assert "normalizes" in difference.cause


def test_published_vocabularies(shared: Path) -> None:
    folder = shared / "data" / "vocab"
    a, b = (jeton.load(folder / f"{n}.tiktoken.zst") for n in ("cl100k_base", "o200k_base"))
    explanation = explain(a, b, by="bytes", n_cases=0)
    check_minimal(a, b, explanation)
    assert explanation.difference is not None
    assert explanation.difference.component == "model"
