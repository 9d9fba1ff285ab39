"""A small corpus with ways to change it, and audits of it through the gate."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton.auditing import audit
from jeton.auditing.gate import Baseline, Collector, GateResult, judge, read_budgets
from tests.auditing.tiny import documentation

FRENCH = (
    "Les élèves français ont été reçus à l'école où ils étudièrent déjà la poésie. Après l'été, "
    "nous avons décidé que les règles générales seraient précisées pour tous les métiers. ",
    "Le procès-verbal de la réunion a été approuvé; les membres présents ont voté à l'unanimité "
    "la création d'un comité chargé d'étudier les problèmes liés à la santé des employés. ",
)


def corpus() -> tuple[str, ...]:
    """English documentation and French prose: white space of all kinds, and accents."""
    english = documentation()[:20]
    return (*english, *(text * n for n in (30, 60, 90) for text in FRENCH))


def doubled_white_space(text: str) -> str:
    return re.sub(r"\s", lambda run: run.group() * 2, text)


def decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def run(
    texts: Sequence[str | bytes] | Sequence[Path],
    tokenizer: Tokenizer,
    *,
    baseline: Baseline | None = None,
    other: Tokenizer | None = None,
    **options: Any,
) -> tuple[Baseline, Collector]:
    """Audit texts (or files) as the command line does."""
    if other is None and baseline is not None:
        other = baseline.tokenizer.tokenizer()
    collector = Collector(other=other)
    inputs: Any = list(texts) if texts and isinstance(texts[0], Path) else iter(texts)
    report = audit(inputs, tokenizers=tokenizer, observers=[collector], **options)
    return Baseline.build(report, collector), collector


def gate(
    texts: Sequence[str | bytes] | Sequence[Path],
    tokenizer: Tokenizer,
    baseline: Baseline,
    *budgets: str,
    **options: Any,
) -> GateResult:
    """Judge texts against a baseline."""
    today, collector = run(texts, tokenizer, baseline=baseline, **options)
    return judge(today, collector, baseline, read_budgets(budgets))


Change = Callable[[str], str]
