"""Drawn faults of caches and agents: the cause is named, the dollars are the counterfactual's."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

import jeton
from jeton.auditing.caching.examine import examined
from jeton.auditing.caching.result import CacheReport
from jeton.auditing.run import Audit
from tests.auditing.caching.cache_simulator import (
    Faulty,
    Sent,
    as_anthropic,
    as_openai,
    as_otlp,
    bill,
    simulate,
    text,
)
from tests.auditing.caching.faulty_logs import (
    AGENT_FAULTS,
    FAULTS,
    HEALTHY,
    MARK,
    WHOLE_AUDIT_FAULTS,
    agent,
    clock,
    control,
    expired,
    model_switch,
    no_mark,
    singles,
    tool_order,
)
from tests.auditing.caching.openai_logs import OPENAI_FAULTS, chats
from tests.auditing.tiny import train_tiny

TINY = train_tiny(vocab_size=400)

PARTLY_LOGGED = ("06b paused under an hour's prompt", "07 hour unearned")
"""Spans state no lifetime."""


def report_of(records: list[dict[str, Any]]) -> CacheReport:
    """Return the examination alone, without the rest of an audit."""
    steps = Audit(tokenizers=[TINY], logs=True)
    counts = steps.count(records)
    assert counts.requests is not None
    requests = counts.requests.evidence(
        counts.request_tokens,
        counts.request_digests,
        counts.request_beginnings,
        counts.request_blocks,
    )
    sample = counts.deep.sample(counts.setup.chosen[0].tokenizer, n_tokens_of_all=1, num_threads=1)
    assert requests is not None
    report = examined(requests, sample.documents, year_per_usd=None)
    assert report is not None
    return report


RECORDS = {"anthropic": as_anthropic, "openai": as_openai, "otlp": as_otlp}


def check(name: str, shape: str, seed: int) -> None:
    faults = OPENAI_FAULTS if shape == "openai" else FAULTS
    faulty = faults[name](random.Random(seed))
    report = report_of(RECORDS[shape](faulty.sent))
    first = report.verdicts[0]
    assert first.verdict == faulty.verdict, (name, shape, seed, report.verdicts)
    within = 0.15 if shape == "otlp" else 0.05
    total = float(sum(group.usd for group in report.faults))
    assert total == pytest.approx(faulty.waste_usd(), rel=within), (name, shape, seed)
    assert total <= faulty.usd()


@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, "anthropic") for name in FAULTS] + [(name, "openai") for name in OPENAI_FAULTS],
)
def test_the_cause_is_named_and_costs_what_mending_saves(name: str, shape: str) -> None:
    check(name, shape, 1)


@pytest.mark.parametrize("name", ["01 clock in system", "09 agent without marks"])
def test_spans_without_marks_tell_the_same(name: str) -> None:
    check(name, "otlp", 2)


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("name", "shape"),
    # Spans state no lifetime of written tokens.
    [(name, "anthropic") for name in FAULTS]
    + [(name, "openai") for name in OPENAI_FAULTS]
    + [(name, "otlp") for name in FAULTS if name not in PARTLY_LOGGED],
)
def test_twenty_seeds(name: str, shape: str) -> None:
    for seed in range(20):
        check(name, shape, seed)


def check_finding(name: str, shape: str, seed: int) -> None:
    faulty = WHOLE_AUDIT_FAULTS[name](random.Random(seed))
    report = jeton.audit(RECORDS[shape](faulty.sent), tokenizers=[TINY], logs=True)
    first = report.findings[0]
    assert first.id == faulty.finding, (name, shape, seed)
    assert report.waterfall is not None
    year = 12 * float(report.waterfall.naive_usd_per_month)
    # A saving that takes a person's choice is at stake, and promised to no one.
    usd = first.saving_usd_per_year or first.evidence["usd_per_year_at_stake"]
    assert float(str(usd)) / year == pytest.approx(faulty.waste_usd() / faulty.usd(), rel=0.05)


@pytest.mark.parametrize("name", WHOLE_AUDIT_FAULTS)
@pytest.mark.parametrize("shape", ["anthropic", "otlp"])
def test_repeated_long_and_patient_requests_are_named(name: str, shape: str) -> None:
    check_finding(name, shape, 1)


@pytest.mark.conformance
@pytest.mark.parametrize("name", WHOLE_AUDIT_FAULTS)
@pytest.mark.parametrize("shape", ["anthropic", "otlp"])
def test_findings_of_twenty_seeds(name: str, shape: str) -> None:
    for seed in range(20):
        check_finding(name, shape, seed)


def check_agent(name: str, shape: str, seed: int) -> None:
    faulty = AGENT_FAULTS[name](random.Random(seed))
    if shape == "openai":
        faulty = Faulty(chats(faulty.sent), chats(faulty.mended), finding=faulty.finding)
    report = report_of(RECORDS[shape](faulty.sent))
    first = report.agents[0]
    assert f"agent-{first.kind}" == faulty.finding
    assert float(first.usd) == pytest.approx(faulty.waste_usd(), rel=0.15)


AGENT_SHAPES = [(name, shape) for name in AGENT_FAULTS for shape in RECORDS
                if (name, shape) != ("17 pictures", "openai")]  # fmt: skip
"""Chats of the generator hold no pictures."""


@pytest.mark.parametrize("name", AGENT_FAULTS)
def test_waste_of_agents_is_named(name: str) -> None:
    check_agent(name, "anthropic", 5)


@pytest.mark.conformance
@pytest.mark.parametrize(("name", "shape"), AGENT_SHAPES)
def test_waste_of_agents_of_twenty_seeds(name: str, shape: str) -> None:
    for seed in range(20):
        check_agent(name, shape, seed)


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("as_", [as_anthropic, as_otlp])
def test_a_healthy_log_has_no_fault(name: str, as_: Any) -> None:
    faulty = HEALTHY[name](random.Random(3))
    report = report_of(as_(faulty.sent))
    assert sum(float(g.usd) for g in report.faults) <= 0.02 * faulty.usd()
    assert report.predicted_error["mean_share_of_input"] < 0.01
    assert not report.predicted_error["contradicted_rules"]


def drawn_healthy(seed: int) -> list[Sent]:
    """A workload that does nothing wrong, of random size, pace and length."""
    rng = random.Random(seed)
    if rng.random() < 0.5:
        return singles(
            rng,
            n=rng.randrange(10, 60),
            gap=rng.uniform(8.0, 200.0),
            system=rng.randrange(1200, 6000),
            tools=rng.randrange(0, 9),
        )
    return agent(
        rng,
        sessions=rng.randrange(1, 4),
        turns=rng.randrange(4, 16),
        result=rng.randrange(50, 600),
        blocks=rng.randrange(1, 4),
        gap=rng.uniform(8.0, 120.0),
    )


def check_healthy(seed: int) -> None:
    sent = drawn_healthy(seed)
    report = report_of(as_anthropic(sent))
    usd = bill(sent, simulate(sent))
    assert sum(float(g.usd) for g in report.faults) <= 0.02 * usd, (seed, report.faults)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_healthy_workloads_have_no_fault(seed: int) -> None:
    check_healthy(seed)


@pytest.mark.conformance
def test_a_hundred_healthy_workloads() -> None:
    for seed in range(100):
        check_healthy(seed)


# Two faults


def joined(first: Faulty, second: Faulty) -> Faulty:
    """Two workloads after one another: the second begins an hour and a half later."""
    sent, mended = list(first.sent), list(first.mended)
    shift = first.sent[-1].time - second.sent[0].time + 5400
    for one in second.sent:
        sent.append(Sent(one.time + shift, one.body, one.output, one.session))
    for one in second.mended:
        mended.append(Sent(one.time + shift, one.body, one.output, one.session))
    return Faulty(sent, mended, wait=first.wait or second.wait)


def check_pair(names: tuple[str, str], seed: int) -> None:
    rng = random.Random(seed)
    parts = [FAULTS[name](rng) for name in names]
    both = joined(*parts)
    report = report_of(as_anthropic(both.sent))
    found = {group.verdict for group in report.faults}
    assert {part.verdict for part in parts} <= found, (names, seed, report.faults)
    total = float(sum(group.usd for group in report.faults))
    assert total == pytest.approx(both.waste_usd(), rel=0.1), (names, seed)


def test_two_faults_are_both_named() -> None:
    check_pair(("03 schema of a tool", "09 agent without marks"), 1)


def test_a_fault_behind_another_is_named() -> None:
    # A clock in front of a prompt that would have ended before the next request anyway.
    rng = random.Random(4)
    mended = expired(rng).mended
    sent = copy.deepcopy(mended)
    for i, one in enumerate(sent):
        one.body["system"][0].update(copy.deepcopy(MARK))
        one.body["system"][0]["text"] = f"Now: 12:{i:02d}\n" + one.body["system"][0]["text"]
        mended[i].body["messages"][0]["content"].append({"type": "text", "text": "Now: 12:00\n"})
    both = Faulty(sent, mended)
    report = report_of(as_anthropic(sent))
    assert {"changed", "expired"} <= {group.verdict for group in report.faults}
    total = float(sum(group.usd for group in report.faults))
    assert total == pytest.approx(both.waste_usd(), rel=0.1)


@pytest.mark.conformance
def test_fifty_pairs() -> None:
    # These two are pairs themselves: unread writes beside a late mark, no mark beside long pauses.
    two = {"14b mark behind each question", "06c rare and without a mark"}
    names = sorted(set(FAULTS) - two - {"05b below minimum of haiku"})
    rng = random.Random(0)
    for seed in range(50):
        first, second = rng.sample(names, 2)
        check_pair((first, second), seed)


# Usage alone


def claude_code() -> list[dict[str, Any]]:
    """A session of 40 calls without text, rebuilt at calls 10, 20 and 30."""
    lines, size, time = [], 20_000, 0.0
    for call in range(40):
        time += 420.0 if call == 10 else 30.0
        more = 1_000 + 37 * (call % 5)
        reason = {20: "tools_changed", 30: "previous_message_not_found"}.get(call)
        is_new = call in (0, 10, 20, 30)
        usage = {
            "input_tokens": 4,
            "cache_read_input_tokens": 0 if is_new else size,
            "cache_creation_input_tokens": size + more if is_new else more,
            "output_tokens": 200,
        }
        size += more
        message: dict[str, Any] = {
            "id": f"msg_{call:03d}", "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5", "content": [], "usage": usage,
        }  # fmt: skip
        if reason:
            message["diagnostics"] = {"cache_miss_reason": {"type": reason}}
        lines.append(
            {
                "type": "assistant", "uuid": f"u{call}", "sessionId": "s1",
                "requestId": f"req_{call}", "message": message,
                "timestamp": f"2026-06-01T10:{int(time // 60):02d}:{int(time % 60):02d}Z"
                if time < 3600
                else f"2026-06-01T11:{int(time // 60) - 60:02d}:{int(time % 60):02d}Z",
            }
        )  # fmt: skip
    return lines


def test_sessions_without_text_are_judged_by_their_usage() -> None:
    lines = claude_code()
    report = jeton.audit(lines, tokenizers=[TINY], logs=True)
    assert report.cache is not None
    found = {group.verdict: group for group in report.cache.verdicts}
    assert (found["expired"].n_requests, found["changed"].n_requests) == (1, 1)
    assert found["provider"].n_requests == 1
    assert found["changed"].block == "tools"
    rebuilt = [
        line["message"]["usage"]["cache_creation_input_tokens"] - 1_000 - 37 * (call % 5)
        for call, line in enumerate(lines)
        if call in (10, 20, 30)
    ]
    waste = sum(rebuilt) * (3.75 - 0.30) / 1e6
    total = float(sum(group.usd for group in report.cache.faults))
    assert total == pytest.approx(waste, rel=0.05)
    assert report.findings[0].id in ("cache-provider", "cache-changed", "cache-expired")
    assert report.waterfall is not None
    assert report.waterfall.saving_usd_per_month > 0
    (session,) = report.cache.sessions
    assert session.n_requests == 40
    assert session.missed_tokens == pytest.approx(sum(rebuilt), rel=0.1)


# The provider's reason, and logs that cannot be judged


def test_the_reason_of_the_provider_wins_and_disagreement_is_counted() -> None:
    rows = as_anthropic(clock(random.Random(1)).sent)
    for row in rows[1:]:
        row["response"]["diagnostics"] = {"cache_miss_reason": {"type": "tools_changed"}}
    (first, *_) = report_of(rows).verdicts
    assert (first.verdict, first.block) == ("changed", "tools")
    assert first.n_disagreeing == 39


def reasons_of(rows: list[dict[str, Any]]) -> dict[str, int]:
    report = report_of(rows)
    return {g.reason: g.n_requests for g in report.verdicts if g.verdict == "not-examinable"}


def test_more_marks_than_allowed_are_not_judged() -> None:
    rows = as_anthropic(control(random.Random(1)).sent)
    for row in rows:
        for tool in row["request"]["tools"]:
            tool.update(MARK)
    assert reasons_of(rows) == {"more than 4 cache marks, which the provider refuses": 40}


def test_cut_and_redacted_texts_are_not_judged() -> None:
    rows = as_anthropic(clock(random.Random(1)).sent)
    for row in rows:
        row["request"]["tools"] = []
        row["request"]["system"] = [{"type": "text", "text": "[REDACTED]", **MARK}]
        row["request"]["messages"] = [{"role": "user", "content": "***"}]
    assert reasons_of(rows) == {
        "the log does not show all of its text: cut, redacted, or tools left out": 40
    }


def test_a_tenth_of_the_requests_gives_no_guess() -> None:
    rows = as_anthropic(agent(random.Random(2), sessions=10, turns=20, gap=60.0))
    rng = random.Random(3)
    report = report_of([row for row in rows if rng.random() < 0.1])
    # Prefixes are read that no logged request wrote: their writers are not in the log.
    assert {group.verdict for group in report.verdicts} <= {"cold", "hit", "not-examinable"}
    assert not report.faults


@pytest.mark.parametrize("order", ["back", "tied"])
def test_times_that_go_back_or_tie_change_nothing(order: str) -> None:
    faulty = tool_order(random.Random(6))
    rows = as_anthropic(faulty.sent)
    if order == "back":
        rows = rows[::-1]
    else:
        for first, second in zip(rows[::2], rows[1::2], strict=False):
            second["timestamp"] = first["timestamp"]
    assert report_of(rows).verdicts[0].verdict == "changed"


def test_a_log_without_times_or_usage_says_so() -> None:
    rows = as_anthropic(control(random.Random(1)).sent)
    for row in rows[:5]:
        del row["response"]["usage"]
    for row in rows[5:8]:
        del row["timestamp"]
    assert reasons_of(rows) == {"the log states no usage": 5, "the log states no time": 3}


# The report


def test_the_block_of_the_json_report_and_the_headline() -> None:
    faulty = clock(random.Random(1))
    report = jeton.audit(as_anthropic(faulty.sent), tokenizers=[TINY], logs=True)
    plain = json.loads(json.dumps(report.to_dict()["cache"]))
    keys = {"verdict", "n_requests", "n_tokens", "usd", "usd_per_year", "block", "before",
            "after", "remedy"}  # fmt: skip
    first = plain["verdicts"][0]
    assert keys <= first.keys()
    assert (first["block"], first["change"]) == ("system[0]", "time")
    assert "20:" in first["before"]
    assert "20:" in first["after"]
    assert first["before"] != first["after"]
    costs = [float(group["usd"]) for group in plain["verdicts"]]
    assert costs == sorted(costs, reverse=True)
    assert report.findings[0].id == faulty.finding
    assert report.waterfall is not None
    share = report.waterfall.saving_usd_per_month / report.waterfall.naive_usd_per_month
    assert float(share) == pytest.approx(faulty.waste_usd() / faulty.usd(), rel=0.03)
    ids = {finding.id for finding in report.findings}
    assert not ids & {"prompt-prefix-volatile", "prompt-prefix-cacheable", "boilerplate"}


def test_the_headline_of_a_switched_model_and_unmarked_agent() -> None:
    for make in (model_switch, no_mark):
        faulty = make(random.Random(8))
        report = jeton.audit(as_anthropic(faulty.sent), tokenizers=[TINY], logs=True)
        assert report.findings[0].id == faulty.finding
        assert report.waterfall is not None
        share = report.waterfall.saving_usd_per_month / report.waterfall.naive_usd_per_month
        assert float(share) == pytest.approx(faulty.waste_usd() / faulty.usd(), rel=0.05)


def test_prompts_may_be_plain_text() -> None:
    rng = random.Random(1)
    rows = [
        {"timestamp": 1_780_000_000 + 60 * i, "model": "gpt-4o", "prompt": text(rng, 50),
         "usage": {"prompt_tokens": 50, "completion_tokens": 5}}
        for i in range(5)
    ]  # fmt: skip
    report = report_of(rows)
    assert {group.verdict for group in report.verdicts} == {"not-examinable"}
