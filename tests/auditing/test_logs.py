"""Audits of request logs: counted as sent, completed by what they say, reconciled with bills."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jeton._core import Tokenizer
from jeton.auditing import LogOptions, audit
from jeton.errors import TemplateError, UnknownPriceError, UsageError
from jeton.findings import Figure
from tests.auditing.conftest import EvidenceOf
from tests.auditing.tiny import train_tiny

HOUR = 3600


def _records(n: int = 48, *, model: str = "gpt-4o", usage: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "model": model,
            "prompt": f"what is the value of statement {i}?",
            "response": "the value is " + "one " * (i % 5),
            "timestamp": 1_760_000_000 + i * HOUR / 2,
            **({"usage": {"prompt_tokens": 20, "completion_tokens": 5}} if usage else {}),
        }
        for i in range(n)
    ]


def test_logs_say_what_the_user_did_not(good: Tokenizer) -> None:
    report = audit(_records(), tokenizers=[good], logs=True)
    workload = report.workload
    assert workload.taken_from_logs == (
        "requests_per_day",
        "output_tokens_per_request",
        "price_model",
    )
    assert workload.requests_per_day == pytest.approx(48, rel=0.03)
    assert workload.output_tokens_per_request == 5
    assert workload.price_model == "gpt-4o"
    assert report.requests is not None
    assert report.requests.n_requests == report.corpus.n_documents == 48
    assert report.waterfall is not None
    assert report.waterfall.naive_usd_per_month > 0


def test_what_the_user_says_goes_before(good: Tokenizer) -> None:
    report = audit(
        _records(),
        tokenizers=[good],
        logs=True,
        price_model="usd:1/2",
        requests_per_day=7,
        output_tokens_per_request=0,
    )
    assert report.workload.taken_from_logs == ()
    assert report.workload.output_tokens_per_request == 0
    assert report.workload.requests_per_day == 7
    assert report.workload.price_provider == "user"


def test_answers_are_counted_where_no_usage_was_logged(good: Tokenizer) -> None:
    records = _records(usage=False)
    report = audit(records, tokenizers=[good], logs=True)
    mean = sum(good.count(record["response"]) for record in records) / len(records)
    assert report.workload.output_tokens_per_request == pytest.approx(mean)


def test_a_model_without_a_price_gives_no_money(good: Tokenizer) -> None:
    report = audit(_records(model="our-own-model"), tokenizers=[good], logs=True)
    assert report.workload.price_model is None
    assert report.waterfall is None
    mixed = [*_records(10), *_records(10, model="our-own-model"), *_records(10, model="other")]
    assert audit(mixed, tokenizers=[good], logs=True).workload.price_model is None


def test_a_log_without_any_price_costs_no_zero(good: Tokenizer) -> None:
    records = [{"prompt": f"where is order {n}", "response": "on its way"} for n in range(9)]
    report = audit(records, logs=True, tokenizers=good, quality=False)
    assert report.tokenizers[0].economics.usd_per_request is None
    assert report.ledger is not None
    assert report.ledger.not_priced[0].kind == "no_model"


def test_the_formula_of_chats_counts_for_lengths_and_money_alone(good: Tokenizer) -> None:
    chats = [
        {"messages": [{"role": "user", "content": f"the statement {i}"}] * (1 + i % 2)}
        for i in range(20)
    ]
    report = audit(chats, tokenizers=[good], logs=True).tokenizers[0]
    texts = ["\n".join(m["content"] for m in chat["messages"]) for chat in chats]
    lengths = [good.count(text) for text in texts]
    # 3 tokens and the role for each message, 3 for the reply.
    overhead = [4 * len(chat["messages"]) + 3 for chat in chats]
    assert report.n_overhead_tokens == sum(overhead)
    assert report.n_tokens == sum(lengths) + sum(overhead)
    assert report.tokens_per_document.mean == report.n_tokens / len(chats)
    assert report.tokens_per_document.max == max(map(sum, zip(lengths, overhead, strict=True)))
    assert report.bytes_per_token == sum(len(t.encode()) for t in texts) / sum(lengths)
    interval = report.tokens_per_document_interval
    assert interval is not None
    assert interval.low <= report.tokens_per_document.mean <= interval.high


TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|stop|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def test_chats_are_counted_as_a_template_writes_them(tmp_path: Path) -> None:
    tokenizer = train_tiny(vocab_size=400, special_tokens=("<|start|>", "<|stop|>"))
    other = train_tiny(vocab_size=300)
    file = tmp_path / "chat.jinja"
    file.write_text(TEMPLATE, encoding="utf-8")
    chats = [{"messages": [{"role": "user", "content": f"the value {i}"}]} for i in range(12)]
    report = audit(chats, tokenizers=[tokenizer, other], logs=LogOptions(template=file))
    for shown, used in zip(report.tokenizers, (tokenizer, other), strict=True):
        expected = [
            len(
                used.encode(
                    f"<|start|>user\nthe value {i}<|stop|>\n<|start|>assistant\n",
                    allow_special="all",
                )
            )
            for i in range(12)
        ]
        assert shown.n_tokens == sum(expected)
        assert shown.tokens_per_document.max == max(expected)
    # Control tokens are one token each for the one tokenizer, text for the other.
    assert report.tokenizers[0].n_overhead_tokens < 0
    assert report.tokenizers[1].n_overhead_tokens == 0


def test_a_template_that_is_none_is_an_error(tmp_path: Path, good: Tokenizer) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text("{% for %}", encoding="utf-8")
    with pytest.raises(TemplateError):
        audit(_records(), tokenizers=[good], logs=LogOptions(template=file))


def test_usage_without_text_is_no_document_of_length_zero(good: Tokenizer) -> None:
    records = [*_records(20), {"model": "gpt-4o", "usage": {"prompt_tokens": 900}}]
    report = audit(records, tokenizers=[good], logs=True)
    assert report.corpus.n_documents == 20
    assert report.requests is not None
    assert (report.requests.n_requests, report.requests.n_with_text) == (21, 20)
    # Without any text there is still the bill.
    bill = audit(records[-1:], tokenizers=[good], logs=True)
    assert bill.tokenizers == ()
    assert bill.ledger is not None
    assert bill.ledger.usd == Decimal("0.00225")
    assert "shows its prompt" in bill.notices[0]


def test_columns_are_kept_for_the_checks(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(_records(), tokenizers=[good], logs=True).requests
    assert evidence is not None
    assert evidence.is_complete
    assert evidence.models == ("gpt-4o",)
    assert evidence.output_tokens.tolist() == [5] * 48
    assert evidence.time_s[1] - evidence.time_s[0] == HOUR / 2
    assert evidence.cache_read_tokens.tolist() in ([-1] * 48, [0] * 48)


def test_a_bill_is_reconciled_to_the_cent(tmp_path: Path, good: Tokenizer) -> None:
    records = _records(200)
    report = audit(records, tokenizers=[good], logs=True, bill="12.34")
    assert report.bill is not None
    # 200 requests of 20 and 5 tokens at the list's price of their day.
    explained = sum((line.usd_computed for line in report.bill.lines), Decimal(0))
    assert report.bill.usd_billed == Decimal("12.34")
    assert report.bill.usd_explained == explained.quantize(Decimal("0.01"))
    assert report.bill.usd_difference == report.bill.usd_billed - report.bill.usd_explained
    (cause,) = report.bill.causes
    assert cause.id == "unknown"
    assert abs(cause.usd - report.bill.usd_difference) < Decimal("0.01")
    assert {line.what: line.n_tokens for line in report.bill.lines} == {
        "input": 4_000,
        "output": 1_000,
    }
    file = tmp_path / "bill.csv"
    file.write_text("date,model,usd\n2025-10-09,gpt-4o,12.34\n", encoding="utf-8")
    by_file = audit(records, tokenizers=[good], logs=True, bill=file).bill
    assert by_file is not None
    assert by_file.usd_billed == Decimal("12.34")
    plain = json.loads(json.dumps(audit(records, tokenizers=[good], logs=True, bill=3).to_dict()))
    assert plain["bill"]["usd_billed"] == "3.00"
    assert plain["bill"]["first_day"] == "2025-10-09"


def test_bills_that_cannot_be_reconciled_are_errors(good: Tokenizer) -> None:
    with pytest.raises(UsageError, match="the inputs are not request logs"):
        audit(iter(["text"]), tokenizers=[good], bill="3")
    with pytest.raises(UsageError, match="expected an amount in USD"):
        audit(_records(), tokenizers=[good], logs=True, bill="-3")
    with pytest.raises(FileNotFoundError):
        audit(_records(), tokenizers=[good], logs=True, bill="no-such-bill.csv")
    with pytest.raises(UsageError, match="no request of the logs says"):
        audit(_records(usage=False), tokenizers=[good], logs=True, bill="3")
    with pytest.raises(UnknownPriceError):
        audit(_records(model="gtp-4o-mini-x"), tokenizers=[good], logs=True, bill="3")
    with pytest.raises(UnknownPriceError):
        audit(_records(model="gtp-4o-mini-x"), tokenizers=[good], logs=True, strict_prices=True)


def test_half_the_tokens_halve_the_linear_parts_of_the_bill(good: Tokenizer) -> None:
    def month(n: int) -> tuple[Decimal, Decimal, Figure | None]:
        records = [{"prompt": " the" * n, "timestamp": 1_760_000_000 + i * HOUR} for i in range(40)]
        report = audit(records, tokenizers=[good], logs=True, price_model="usd:2/8")
        assert report.waterfall is not None
        money = report.tokenizers[0].economics.usd_per_month
        return (
            report.waterfall.naive_usd_per_month,
            report.waterfall.input_usd_per_month,
            money,
        )

    whole, half = month(400), month(200)
    # Each is rounded to a millionth.
    assert abs(whole[0] - 2 * half[0]) <= Decimal("0.000002")
    assert abs(whole[1] - 2 * half[1]) <= Decimal("0.000002")
    assert whole[2] is not None
    assert half[2] is not None
    assert float(whole[2].value) == pytest.approx(2 * float(half[2].value))
    # The waterfall begins with the bill that the economics computed by themselves.
    assert abs(Decimal(whole[2].value) - whole[0]) < Decimal("0.000001")
