"""Which document is which: by id, by text, by wording, by place; and the interval that follows."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton._core import Tokenizer
from jeton.auditing.gate import BudgetResult, IntervalKind, Status, judge, read_budgets
from jeton.auditing.gate.shared_text import SharedText
from jeton.auditing.gate.side import in_order, look_like_two_states
from jeton.auditing.gate.values import change_interval
from tests.auditing.gate.changed_texts import corpus, doubled_white_space, run

pytestmark = pytest.mark.usefixtures("no_checks")


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def records(texts: list[str], **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"case-{i}", "text": text, **more} for i, text in enumerate(texts)]


def judged(before: Path, after: Path, tokenizer: Tokenizer, **options: Any) -> BudgetResult:
    baseline = run([before], tokenizer, **options)[0]
    today, collector = run([after], tokenizer, baseline=baseline, **options)
    return judge(today, collector, baseline, read_budgets(["n_tokens>+-0%"])).results[0]


TEXTS = list(corpus()[:8])


def test_another_folder_and_another_order_are_no_new_documents(
    good: Tokenizer, tmp_path: Path
) -> None:
    changed = [doubled_white_space(text) if i == 3 else text for i, text in enumerate(TEXTS)]
    before = write(tmp_path / "before" / "a.jsonl", [{"text": text} for text in TEXTS])
    after = write(tmp_path / "after" / "b.jsonl", [{"text": text} for text in changed[::-1]])
    result = judged(before, after, good)
    assert [(d.status, d.line, d.cause) for d in result.documents] == [
        (Status.CHANGED, len(TEXTS) - 3, "white_space")
    ]


def test_ids_go_before_places(good: Tokenizer, tmp_path: Path) -> None:
    rewritten = [f"All of it was written anew, number {i * i}. {TEXTS[i][:80]}" for i in range(8)]
    before = write(tmp_path / "october.jsonl", records(TEXTS))
    after = write(
        tmp_path / "november.jsonl", [*records(rewritten)[::-1], {"id": "x", "text": "y"}]
    )
    result = judged(before, after, good)
    pairs = {(d.n_tokens_before, d.n_tokens_after) for d in result.documents}
    expected = {(good.count(a), good.count(b)) for a, b in zip(TEXTS, rewritten, strict=True)}
    assert {pair for pair in pairs if None not in pair} <= expected
    assert not [d for d in result.documents if d.status is Status.GONE]


def test_a_record_with_a_new_id_is_new(good: Tokenizer, tmp_path: Path) -> None:
    before = write(tmp_path / "a.jsonl", records(TEXTS))
    after = write(
        tmp_path / "b.jsonl",
        [*records(TEXTS)[:-1], {"id": "other", "text": "word " * 3000}],
    )
    (new,) = [d for d in judged(before, after, good).documents if d.n_tokens_before is None]
    assert (new.status, new.line) == (Status.NEW, len(TEXTS))


def test_request_logs_are_matched_by_their_ids(good: Tokenizer, tmp_path: Path) -> None:
    def log(texts: list[str]) -> list[dict[str, Any]]:
        return [
            {"request_id": f"r{i}", "model": "m", "messages": [{"role": "user", "content": text}]}
            for i, text in enumerate(texts)
        ]

    before = write(tmp_path / "last" / "log.jsonl", log(TEXTS))
    after = write(tmp_path / "log-2.jsonl", log([text.upper() for text in TEXTS])[::-1])
    result = judged(before, after, good, logs=True)
    assert {d.status for d in result.documents} == {Status.CHANGED}
    assert {d.cause for d in result.documents} == {"letter_case"}
    assert sorted(d.line for d in result.documents) == list(range(1, len(TEXTS) + 1))


COUNTS = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=2, max_size=40)


@given(COUNTS)
def test_a_paired_interval_is_that_of_the_differences(pairs: list[tuple[int, int]]) -> None:
    old, new = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    found = change_interval(old, new, pairs)
    differences = [b - a for a, b in pairs]
    half = 1.959963984540054 * statistics.stdev(differences) / math.sqrt(len(pairs))
    assert found is not None
    assert found.kind is IntervalKind.PAIRED
    assert found.low == pytest.approx(statistics.mean(differences) - half, abs=1e-6)
    assert found.high == pytest.approx(statistics.mean(differences) + half, abs=1e-6)


def test_without_pairs_it_is_welchs() -> None:
    old, new = [10, 20, 30, 40], [15, 25, 60]
    found = change_interval(Counter(old), Counter(new), [])
    error = math.sqrt(statistics.variance(old) / 4 + statistics.variance(new) / 3)
    assert found is not None
    assert found.kind is IntervalKind.UNPAIRED
    assert found.high - found.low == pytest.approx(2 * 1.959963984540054 * error)
    partly = change_interval(Counter(old), Counter(new), [(10, 15), (40, 60)])
    assert partly is not None
    assert partly.kind is IntervalKind.PARTLY_PAIRED
    assert partly.high - partly.low < found.high - found.low
    assert change_interval(Counter([5]), Counter(new), []) is None


def test_shared_text_is_what_documents_begin_end_and_go_on_with() -> None:
    head = "You are the clerk of a small town, and you know all of its rules by heart. "
    foot = "\nThis message was written by a machine and may be wrong; call us if in doubt."
    bodies = ["Where do I register a dog?", "May I burn leaves?", "When is the market?"]
    shared = SharedText()
    assert shared.without([head + body + foot for body in bodies]) == bodies
    assert shared.without([head + "One more question."]) == ["One more question."]
    assert SharedText().without([head + bodies[0]] * 5) == [head + bodies[0]] * 5, "copies"
    assert SharedText().without([]) == []


def test_names_say_before_and_after() -> None:
    assert look_like_two_states(["before/", "after_ascii/"]) == ("before/", "after_ascii/")
    assert look_like_two_states(["prompts-new.jsonl", "prompts-old.jsonl"]) == (
        "prompts-old.jsonl",
        "prompts-new.jsonl",
    )
    assert look_like_two_states(["old/requests.jsonl", "new/requests.jsonl"]) is not None
    for others in (["a/", "b/"], ["before/"], ["before/", "after/", "x/"], ["news/", "folder/"]):
        assert look_like_two_states(others) is None, others
    assert in_order(["after/"], ["before/"]) == (("before/",), ("after/",))
    assert in_order(["a/"], ["b/"]) == (("a/",), ("b/",))
