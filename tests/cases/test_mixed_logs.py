"""Twenty logs of mixed providers and shapes: each request and every sum is the list's."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

import jeton
from jeton.auditing import audit
from jeton.cli.app import app
from jeton.report.numbers import money_kind, write_number
from tests.cases.mixed_logs import mixed_log
from tests.cases.test_audit import check_sums

HALF_A_CENT = Decimal("0.005")


@pytest.mark.parametrize("seed", range(20))
def test_each_request_costs_what_the_list_says(seed: int) -> None:
    log = mixed_log(seed)
    ledger = jeton.ledger(log.records)
    assert ledger.usd == log.usd
    assert ledger.n_requests == len(log.calls) + log.n_unknown
    assert sum(entry.n_requests for entry in ledger.not_priced) == log.n_unknown
    wanted: dict[str, Decimal] = {}
    for call in log.calls:
        day = call.at.date().isoformat()
        wanted[day] = wanted.get(day, Decimal(0)) + call.usd()
    assert {str(use.day): use.usd for use in ledger.by_day if use.usd} == wanted
    # Record by record: a log of one request, whatever its shape.
    for call in log.calls[:5]:
        rows = [row for row in log.records if _is_of(row, call.number)]
        if rows:
            assert jeton.ledger(rows).usd == call.usd(), call


def _is_of(row: dict[str, object], number: int) -> bool:
    ids = {f"l{number}", f"b{number}", f"g{number}", f"chatcmpl-{number}", f"req_{number}"}
    return bool(ids & {str(row.get(k)) for k in ("request_id", "requestId", "responseId", "id")})


@pytest.mark.parametrize("seed", range(4))
def test_all_sums_of_a_report_are_the_ledgers(seed: int) -> None:
    log = mixed_log(seed)
    report = audit(log.records, logs=True, quality=False, bill=round(log.usd, 2))
    data = json.loads(json.dumps(report.to_dict(), default=str))
    assert Decimal(data["ledger"]["usd"]) == log.usd
    check_sums(data)
    assert abs(Decimal(data["bill"]["usd_explained"]) - log.usd) <= HALF_A_CENT
    assert not data["bill"]["causes"], "nothing is left for a cause"


@pytest.mark.parametrize("without_text", [False, True])
def test_pages_and_files_show_the_ledger(tmp_path: Path, without_text: bool) -> None:
    log = mixed_log(3)
    records = [row for row in log.records if not (without_text and "request" in row)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")
    names = [tmp_path / f"report.{suffix}" for suffix in ("json", "html", "md")]
    outputs = [part for file in names for part in (f"--{_OPTION[file.suffix]}", str(file))]
    ran = CliRunner().invoke(app, ["audit", str(path), "--logs", *outputs], prog_name="jeton")
    assert ran.exit_code == 0, ran.output
    ledger = json.loads(names[0].read_text())["ledger"]
    priced = jeton.ledger(records)
    assert Decimal(ledger["usd"]) == priced.usd
    page = re.sub(r"<[^>]+>", " ", names[1].read_text(encoding="utf-8"))
    for figure in ("usd_per_year", "usd_per_month"):
        assert write_number(Decimal(ledger[figure]), "usd") in page, figure
    models = [use.usd for use in priced.by_model if use.usd]
    shown = [written(usd, models) for usd in models]
    assert [usd for usd in shown[:10] if usd not in page] == []
    for text in (names[2].read_text(encoding="utf-8"), ran.output):
        assert [usd for usd in shown[:5] if usd not in text] == []
    days = [use.usd for use in priced.by_day]
    assert [written(usd, days) for usd in days if written(usd, days) not in page] == []


def written(usd: Decimal, column: list[Decimal]) -> str:
    """An amount as its column shows it."""
    return write_number(usd, money_kind(column))


_OPTION = {".json": "json", ".html": "html", ".md": "markdown"}
