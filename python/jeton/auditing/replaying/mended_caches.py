"""Mended caches and agents as remedies: what the examination found, applied to billed requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

import numpy as np

from jeton.auditing.caching.result import CacheReport
from jeton.auditing.registry import remedy_facts
from jeton.auditing.replaying.requests import BilledRequests, amounts_of_ledger, with_extras
from jeton.economics.remedies import LedgerChange, Remedy
from jeton.findings import Basis
from jeton.workload.inputs.requests import RequestEvidence

_DIGITS = 60


def finding_of_verdict(verdict: str) -> str:
    """Return the id of the finding about a verdict."""
    return "cache-writes-unread" if verdict == "write-unread" else f"cache-{verdict}"


@dataclass(frozen=True, slots=True)
class MendedRows:
    """Changes of rows: input, read, written, of these for an hour; and the model, -2: the same."""

    changes: Mapping[int, tuple[int, int, int, int, int]]

    def __call__(self, requests: BilledRequests) -> BilledRequests:
        """Return the requests as they are billed with the changes."""
        found = [self.changes.get(row) for row in requests.rows.tolist()]
        kept = np.array([change is None or change[0] > _NOT_SENT for change in found])
        if not kept.all():
            return requests.kept(kept)
        places = [i for i, change in enumerate(found) if change is not None]
        if not places:
            return requests
        numbers = np.array([found[i] for i in places], dtype=np.int64)
        columns = requests.columns
        billed = np.maximum(columns.input_tokens, 0)
        total, read, written, hour = (
            np.maximum(values, 0).copy()
            for values in (billed, columns.cache_read_tokens, columns.cache_write_tokens,
                           columns.cache_write_1h_tokens)
        )  # fmt: skip
        for column, part in enumerate((total, read, written, hour)):
            part[places] = np.maximum(part[places] + numbers[:, column], 0)
        read = np.minimum(read, total)
        written = np.minimum(written, total - read)
        model = columns.model.copy()
        switched = numbers[:, 4] > _SAME
        model[np.array(places)[switched]] = numbers[switched, 4]
        new = replace(
            columns,
            input_tokens=np.where(columns.input_tokens >= 0, total, columns.input_tokens),
            cache_read_tokens=np.where(billed > 0, read, columns.cache_read_tokens),
            cache_write_tokens=np.where(billed > 0, written, columns.cache_write_tokens),
            cache_write_1h_tokens=np.where(
                billed > 0, np.minimum(hour, written), columns.cache_write_1h_tokens
            ),
            model=model,
        )
        return replace(requests, columns=with_extras(new, columns))


_NOT_SENT = -(1 << 40)
_SAME = -2


def mended_rows(report: CacheReport, requests: RequestEvidence, finding: str) -> MendedRows | None:
    """Return the changes that a finding's remedy makes; None where it has none.

    Args:
        report: The examination.
        requests: The log.
        finding: Id of the finding.
    """
    columns = requests.columns
    if columns is None:
        return None
    changes: dict[int, tuple[int, int, int, int, int]] = {}
    for use in report.agents:
        if f"agent-{use.kind}" == finding:
            for row, less in use.rows.items():
                gone = _NOT_SENT if less[0] < 0 else -less[0]
                changes[row] = (gone, -less[1], -less[2], -less[3], _SAME)
    before: dict[int, tuple[int, int, int, int, int]] = {}
    for step in report.mended:
        for row in {*step.rows, *before} if finding_of_verdict(step.verdict) == finding else ():
            logged = (
                int(columns.input_tokens[row]), max(int(columns.cache_read_tokens[row]), 0),
                max(int(columns.cache_write_tokens[row]), 0),
                max(int(columns.cache_write_1h_tokens[row]), 0), int(columns.model[row]),
            )  # fmt: skip
            was, now = before.get(row, logged), step.rows.get(row, logged)
            sums = changes.get(row, (0, 0, 0, 0, _SAME))
            model = now[4] if now[4] != was[4] else sums[4]
            parts = [s + b - a for s, a, b in zip(sums[:4], was[:4], now[:4], strict=True)]
            changes[row] = (parts[0], parts[1], parts[2], parts[3], model)
        before = dict(step.rows)
    return MendedRows(changes) if changes else None


def cache_remedies(report: CacheReport, requests: RequestEvidence) -> tuple[Remedy, ...]:
    """Return the remedies of a log that shows no text, each priced on all its requests."""
    if requests.columns is None or requests.pricing is None:
        return ()
    found: list[Remedy] = []
    columns = requests.columns
    for step in report.mended:
        rows = np.array(sorted(step.rows), dtype=np.intp)
        if not len(rows):
            continue
        before = columns
        values = np.array([step.rows[int(row)] for row in rows], dtype=np.int64)
        arrays = {}
        names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")
        for place, name in enumerate(names):
            column = getattr(columns, name).copy()
            column[rows] = values[:, place]
            arrays[name] = column
        columns = with_extras(replace(columns, **arrays), before)
        ledgers = [requests.pricing.ledger_of(c, requests.names) for c in (before, columns)]
        id = finding_of_verdict(step.verdict)  # noqa: A001
        if ledgers[0].usd <= ledgers[1].usd or any(remedy.id == id for remedy in found):
            continue
        was, now = (amounts_of_ledger(ledger) for ledger in ledgers)
        zero = (Decimal(0), Decimal(0))
        with localcontext(prec=_DIGITS):
            changes = tuple(
                LedgerChange(
                    *key,
                    now.get(key, zero)[0] - was.get(key, zero)[0],
                    now.get(key, zero)[1] - was.get(key, zero)[1],
                )
                for key in dict.fromkeys((*was, *now))
            )
        facts = remedy_facts(id)
        found.append(
            Remedy(
                id=id,
                name=facts.name,
                applies_to="cached",
                basis=Basis.ESTIMATED,
                formula=f"{len(rows):,} requests priced again: {ledgers[0].usd:,.6g} USD before, "
                f"{ledgers[1].usd:,.6g} USD after",
                effort=facts.effort,
                risk=facts.risk,
                changes=changes,
            )
        )
    return tuple(found)
