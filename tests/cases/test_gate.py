"""The gate names what a pipeline did to the text: one file a break in ``gate/``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton._core import Tokenizer, decompress
from jeton.auditing import reporting
from jeton.auditing.gate import Baseline, BudgetResult, IntervalKind, judge, read_budgets
from tests.auditing.gate.changed_texts import run
from tests.cases.gate_breaks import BREAKS, corpus

CASES = sorted(Path(__file__).with_name("gate").glob("*.json"))
BUDGETS = ("tokens_per_document>+-0.1%",)
QUICK: dict[str, Any] = {"quality": False}
N_REAL_DOCUMENTS = 15
N_PARTS = 10
N_QUICK_PARTS = 4
"""A break is tried on real text in `make test` if it lies in one of these parts."""


@pytest.fixture(scope="module", autouse=True)
def _no_checks() -> Iterator[None]:
    """The gate needs no finding of the audit, and all of them take a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reporting, "run_checks", lambda evidence: ())
        yield


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return jeton.load("jeton-general-32k")


@pytest.fixture(scope="module")
def before(tokenizer: Tokenizer) -> Baseline:
    return run(corpus(), tokenizer, **QUICK)[0]


def judged(texts: list[str], tokenizer: Tokenizer, before: Baseline) -> BudgetResult:
    today, collector = run(texts, tokenizer, baseline=before, **QUICK)
    return judge(today, collector, before, read_budgets(BUDGETS)).results[0]


def assert_named(result: BudgetResult, expected: dict[str, Any]) -> None:
    main = result.main_cause
    assert result.is_exceeded
    assert main is not None
    assert main.part.cause in expected["main_cause"]
    assert main.share is not None
    assert main.share >= expected["least_share"]
    assert expected["word"] in main.label
    assert sum(cause.part.value for cause in result.causes) == result.difference
    assert result.interval is not None
    assert result.interval.kind is IntervalKind.PAIRED
    assert result.documents
    assert {document.cause for document in result.documents} & set(expected["main_cause"])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_break_is_the_main_cause(path: Path, tokenizer: Tokenizer, before: Baseline) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    change = BREAKS[case["input"]["break"]]
    assert_named(judged([change(text) for text in corpus()], tokenizer, before), case["expected"])


def test_every_break_has_a_case() -> None:
    named = {json.loads(path.read_text(encoding="utf-8"))["input"]["break"] for path in CASES}
    assert named == BREAKS.keys()


@pytest.fixture(scope="module")
def real(shared: Path) -> list[str]:
    """Manuals of many languages and chats, as people write them."""
    texts = []
    for name in ("multilingual", "chat"):
        data = (shared / "data" / "corpora" / f"{name}.jsonl.zst").read_bytes()
        found = (
            json.loads(line)["text"]
            for line in decompress(data, max_bytes=1 << 31).split(b"\n")
            if line
        )
        kept = [text for text in found if 300 <= len(text) <= 2000]
        texts += kept[:: max(1, len(kept) // N_REAL_DOCUMENTS)][:N_REAL_DOCUMENTS]
    return texts


@pytest.fixture(scope="module")
def real_before(real: list[str], tokenizer: Tokenizer) -> Baseline:
    return run(real, tokenizer, **QUICK)[0]


@pytest.mark.parametrize(
    "part",
    [
        *range(N_QUICK_PARTS),
        *(
            pytest.param(part, marks=pytest.mark.conformance)
            for part in range(N_QUICK_PARTS, N_PARTS)
        ),
    ],
)
def test_real_text_broken_in_every_way(
    part: int, real: list[str], tokenizer: Tokenizer, real_before: Baseline
) -> None:
    for path in CASES[part::N_PARTS]:
        case = json.loads(path.read_text(encoding="utf-8"))
        change = BREAKS[case["input"]["break"]]
        result = judged([change(text) for text in real], tokenizer, real_before)
        assert_named(result, case["expected"])


REPLAYS: dict[str, Callable[[list[str]], list[str]]] = {
    "as it was": lambda texts: texts,
    "backwards": lambda texts: texts[::-1],
    "by the alphabet": sorted,
}


@pytest.mark.parametrize("name", REPLAYS)
def test_a_replay_never_fails(name: str, tokenizer: Tokenizer, before: Baseline) -> None:
    result = judged(REPLAYS[name](corpus()), tokenizer, before)
    assert not result.is_exceeded
    assert result.difference == 0
    assert not result.causes


def test_a_longer_text_is_length_and_no_feature(tokenizer: Tokenizer) -> None:
    texts = corpus(48)
    before = run(texts[:24], tokenizer, **QUICK)[0]
    longer = [f"{a}\n\n{b}" for a, b in zip(texts[:24], texts[24:], strict=True)]
    main = judged(longer, tokenizer, before).main_cause
    assert main is not None
    assert main.part.cause in ("length", "repeated_passages")
