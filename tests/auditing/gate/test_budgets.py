"""The language of --fail-on: what is understood, what is refused, and where limits lie."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from jeton._core import Tokenizer
from jeton.auditing.gate import Budget, judge, read_budgets
from jeton.auditing.gate.budgets import Kind
from jeton.errors import UsageError
from tests.auditing.gate.changed_texts import corpus, gate, run


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tokens_per_document>+2%", ("tokens_per_document", None, ">", Kind.RELATIVE_CHANGE, 0.02)),
        ("bytes_per_token < -0.5", ("bytes_per_token", None, "<", Kind.CHANGE, -0.5)),
        ("p>=4_096", ("p", None, ">=", Kind.VALUE, 4096)),
        ("p>4k", ("p", None, ">", Kind.VALUE, 4000)),
        ("p<=+1.5M", ("p", None, "<=", Kind.CHANGE, 1_500_000)),
        ("p!=1e3", ("p", None, "!=", Kind.VALUE, 1000)),
        ("legal:p==3", ("p", "legal", "==", Kind.VALUE, 3)),
        ("C:/a b/x.txt:p>+1%", ("p", "C:/a b/x.txt", ">", Kind.RELATIVE_CHANGE, 0.01)),
        ("*:p>-1%", ("p", "*", ">", Kind.RELATIVE_CHANGE, -0.01)),
    ],
)
def test_budgets_are_understood(text: str, expected: tuple[object, ...]) -> None:
    budget = Budget.parse(text)
    assert (budget.metric, budget.domain, budget.comparison, budget.kind) == expected[:4]
    assert float(budget.limit) == expected[4]
    assert not budget.either_way


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no budget"),
        ("tokens_per_document", "is no budget"),
        ("tokens_per_document>>2", "is no budget"),
        ("tokens_per_document>2%", "2% of what"),
        ("tokens_per_document>+nan", "is no budget"),
        ("tokens_per_document>+1e9999", "is no budget"),
        (">+2%", "is no budget"),
        ("x<+-2%", "goes with > or >="),
        ("x" * 100_000, "is no budget"),
    ],
)
def test_what_is_no_budget_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as error:
        Budget.parse(text)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("text", "before", "after", "exceeded"),
    [
        ("x>+2%", 100, 102, False),
        ("x>=+2%", 100, 102, True),
        ("x>+2%", 100, Fraction(10_201, 100), True),
        ("x>+2%", 0, 0, False),
        ("x>+2%", 0, 1, True),
        ("x<-2%", 100, 98, False),
        ("x<-2%", 100, 97, True),
        ("x<-2%", 0, 1, False),
        ("x>+-2%", 100, 97, True),
        ("x>±2", 100, 98, False),
        ("x>±2", 100, 97, True),
        ("x>512", 0, 512, False),
        ("x>512", 0, 513, True),
        ("x==0", 3, 0, True),
        ("x!=+0", 3, 3, False),
        ("x!=+0", 3, 4, True),
    ],
)
def test_limits_are_exact(text: str, before: int, after: int | Fraction, exceeded: bool) -> None:
    assert Budget.parse(text).is_exceeded(Fraction(before), Fraction(after)) is exceeded


def test_a_file_holds_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "budgets.txt"
    path.write_text("# ours\n\ntokens_per_document>+2%  # mean\n*:bytes_per_token<-1%\n")
    texts = [budget.text for budget in read_budgets([f"@{path}", "tokens_per_document>+2%"])]
    assert texts == ["tokens_per_document>+2%", "*:bytes_per_token<-1%"]
    path.write_text("# nothing\n")
    with pytest.raises(UsageError, match="holds no budget"):
        read_budgets([f"@{path}"])
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_budgets([f"@{path}"])


def test_limits_without_a_sign_need_no_baseline(good: Tokenizer) -> None:
    today, collector = run(corpus(), good)
    budgets = read_budgets(["tokens_per_document_p95>1", "n_error_findings>1000"])
    result = judge(today, collector, None, budgets)
    assert [item.is_exceeded for item in result.results] == [True, False]
    assert result.results[0].before is None
    with pytest.raises(UsageError, match=r"--baseline F"):
        judge(today, collector, None, read_budgets(["n_tokens>+1"]))


def test_unknown_names_are_errors_with_the_nearest(good: Tokenizer) -> None:
    before = run(corpus(), good)[0]
    today, collector = run(corpus(), good, baseline=before)
    for budget, message in (
        ("token_per_document>+2%", r"unknown figure 'token_per_document'.*tokens_per_document"),
        ("usd_per_month>+2%", r"unknown figure 'usd_per_month'"),
        ("legal:tokens_per_document>+2%", r"unknown domain 'legal'"),
        ("fit<100", r"known here: .*tokens_per_document_p95"),
    ):
        with pytest.raises(UsageError, match=message):
            judge(today, collector, before, read_budgets([budget]))


def test_every_domain_of_a_corpus_without_domains_is_the_corpus(good: Tokenizer) -> None:
    before = run(corpus(), good)[0]
    result = gate(corpus(), good, before, "*:tokens_per_document>+2%")
    assert result.is_passed
    assert [item.domain for item in result.results] == [None]
    assert "the whole corpus is judged" in result.notes[0]


def test_domains_are_judged_by_themselves(good: Tokenizer, tmp_path: Path) -> None:
    names = ("legal.txt", "news.txt")
    for name, text in zip(names, corpus(), strict=False):
        (tmp_path / name).write_text(text, encoding="utf-8")
    before = run([tmp_path], good)[0]
    news = tmp_path / "news.txt"
    news.write_text(news.read_text(encoding="utf-8").upper(), encoding="utf-8")
    result = gate([tmp_path], good, before, "*:tokens_per_document>+2%")
    assert {(Path(r.domain or "").stem, r.is_exceeded) for r in result.results} == {
        ("legal", False),
        ("news", True),
    }
    one = gate([tmp_path], good, before, "news:bytes_per_token<-2%")
    assert one.results[0].main_cause is not None
    assert one.results[0].main_cause.part.cause == "letter_case"
    assert {Path(d.source).name for d in one.results[0].documents} == {"news.txt"}
    (tmp_path / "more.txt").write_text("entirely new " * 3000, encoding="utf-8")
    grown = gate([tmp_path], good, before, "*:n_tokens>+1M", "n_tokens>+1")
    assert len(grown.results) == 3, "a new domain has nothing to be compared with"
    assert grown.results[-1].main_cause is not None
    assert sum(c.part.value for c in grown.results[-1].causes) == grown.results[-1].difference
