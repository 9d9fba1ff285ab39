"""Shards: counted apart and merged in any order, they give the report of the whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jeton._core import Tokenizer
from jeton.auditing import Audit, AuditReport
from jeton.workload.counting import counts as counts_module
from jeton.workload.inputs import requests as requests_module
from jeton.workload.inputs.requests import RequestCollector
from jeton.workload.sampling.deep_sample import Drawer, Unit
from tests.auditing.tiny import documentation

DOCUMENTS = st.lists(
    st.sampled_from(
        ["", "a", "the statement", "Ωmega 漢字 🙂", "x  =  1   \n\n\n\n", "<|im_end|> said he"]
        + [topic[:400] for topic in documentation()[:6]]
    ),
    min_size=1,
    max_size=24,
)


def _without_sources(report: AuditReport) -> AuditReport:
    """Sources are listed in the order of the shards."""
    return replace(report, corpus=replace(report.corpus, sources=()))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=DOCUMENTS, data=st.data())
def test_shards_merged_in_any_order_are_the_whole(texts: list[str], data: st.DataObject) -> None:
    from tests.auditing.tiny import train_tiny

    texts = [*texts, "never empty"]
    audit = Audit(
        tokenizers=[train_tiny(vocab_size=300), train_tiny(vocab_size=500)],
        terms=["statement", "said"],
        price_model="usd:2.5/10",
        requests_per_day=100,
        # Small enough that larger workloads are drawn and smaller ones are whole.
        sample_bytes=data.draw(st.sampled_from([1, 500, 10_000])),
    )
    whole = audit.report(audit.count(iter(texts)))
    order = data.draw(st.permutations(texts))
    n_shards = data.draw(st.integers(1, 4))
    shards = [order[i::n_shards] for i in range(n_shards)]
    counts = [audit.count(iter(shard)) for shard in shards if any(shard)]
    # A shard without any text is refused by itself; here its empty documents go to another.
    n_lost = sum(len(shard) for shard in shards if not any(shard))
    if n_lost:
        counts.append(audit.count(iter(["x", *[""] * n_lost])))
        whole = audit.report(audit.count(iter([*texts, "x"])))
    while len(counts) > 1:
        first = counts.pop(data.draw(st.integers(0, len(counts) - 1)))
        second = counts.pop(data.draw(st.integers(0, len(counts) - 1)))
        counts.append(first.merge(second))
    merged = audit.report(counts[0])
    assert _without_sources(merged) == _without_sources(whole)
    assert sum(s.n_documents for s in merged.corpus.sources) == merged.corpus.n_documents


def test_shards_of_files_keep_domains_and_sources(tmp_path: Path, good: Tokenizer) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"the {name} statement\n" * 40, encoding="utf-8")
    audit = Audit(tokenizers=[good], domains="file", documents="line")
    whole = audit.report(audit.count(tmp_path))
    parts = [audit.count(tmp_path / f"{name}.txt") for name in ("c", "a", "b")]
    merged = audit.report(parts[0].merge(parts[1]).merge(parts[2]))
    assert merged.domains == whole.domains
    assert [d.n_documents for d in merged.domains] == [40, 40, 40]
    assert [Path(s.path).name for s in merged.corpus.sources] == ["c.txt", "a.txt", "b.txt"]


def test_shards_of_logs_are_the_whole_log(good: Tokenizer) -> None:
    records: list[dict[str, Any]] = [
        {
            "model": f"gpt-4o{'-mini' if i % 3 else ''}",
            "prompt": f"what is the statement number {i % 7}?",
            "response": "the value",
            "timestamp": 1_760_000_000 + 600 * i,
            "service": "chat" if i % 2 else "search",
            "usage": {"prompt_tokens": 9 + i, "completion_tokens": 2},
        }
        for i in range(60)
    ]
    audit = Audit(tokenizers=[good], logs=True, domain_field="service", bill="1.00")
    whole = audit.report(audit.count(records))
    one, other = audit.count(records[:25]), audit.count(records[25:])
    for merged in (one.merge(other), other.merge(one)):
        report = audit.report(merged)
        assert _without_sources(report) == _without_sources(whole)
        assert report.requests is not None
        assert report.requests.n_requests == 60
        assert report.bill is not None
        assert report.bill.usd_billed - report.bill.usd_explained == report.bill.usd_unexplained


def test_shards_of_logs_beyond_the_limit_keep_the_first_requests(
    good: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (counts_module, requests_module):
        monkeypatch.setattr(module, "MAX_REQUEST_ROWS", 3)
    defaults: Any = RequestCollector.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "max_rows", 3)
    audit = Audit(tokenizers=[good], logs=True)
    records = [{"prompt": f"number {i}", "usage": {"input_tokens": 3 + i}} for i in range(8)]
    whole = audit.report(audit.count(records))
    for cut in (1, 2, 4, 7):
        merged = audit.count(records[:cut]).merge(audit.count(records[cut:]))
        assert merged.requests is not None
        assert merged.requests.n_rows == 8
        ours, wanted = (_without_places(_without_sources(r)) for r in (audit.report(merged), whole))
        assert ours == wanted


def _without_places(report: AuditReport) -> AuditReport:
    """The report without rows of the log, which each list of records numbers from one."""
    assert report.requests is not None
    issues = tuple(replace(issue, examples=()) for issue in report.requests.issues)
    return replace(report, requests=replace(report.requests, issues=issues))


@given(
    keys=st.lists(st.integers(0, 60), max_size=50),
    max_units=st.integers(1, 8),
    max_bytes=st.integers(1, 60),
    cut=st.integers(0, 50),
)
def test_a_draw_does_not_depend_on_order_or_shards(
    keys: list[int], max_units: int, max_bytes: int, cut: int
) -> None:
    def drawn(some: list[int]) -> Drawer:
        drawer = Drawer(max_units=max_units, max_bytes=max_bytes)
        for key in some:
            drawer.offer(Unit(key, b"x" * (key % 9), "source", ""))
        return drawer

    forward = drawn(keys).units
    assert forward == drawn(keys[::-1]).units
    assert forward == drawn(keys[:cut]).merge(drawn(keys[cut:])).units
    assert all(unit.n_copies == keys.count(unit.key) for unit in forward)
    assert [unit.key for unit in forward] == sorted(set(keys))[: len(forward)]
    assert len(forward) <= max_units
    assert sum(len(unit.data) for unit in forward) <= max_bytes or len(forward) == 1


def test_the_report_of_shards_is_plain_json(good: Tokenizer) -> None:
    audit = Audit(tokenizers=[good])
    counts = audit.count(iter(["one", "two"])).merge(audit.count(iter(["three"])))
    assert json.loads(json.dumps(audit.report(counts).to_dict()))["corpus"]["n_documents"] == 3
