"""The analyses of an audit, each registered once: found by a check, told, mended, and priced.

One line registers an analysis above its check: the id of its findings, the remedy in a few words,
and the replay that prices it. The waterfall, the chart of savings and the gate know it by the id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from jeton.findings import Basis, Figure, Finding, Severity

if TYPE_CHECKING:
    from jeton.auditing.evidence import Evidence
    from jeton.auditing.replaying.remedies import Replayable

FLAG = "turn on a flag"
LINES = "a few lines of code"
SOURCE = "change the step that makes the text"
PROMPT = "change the prompt and try it on your own cases"
SERVICE = "run a cache of answers"
CHUNKING = "cut documents anew and measure retrieval"
EMBEDDINGS = "train embeddings"
MODEL = "train or change the model"

NONE = "none: the text means the same"
LOW = "low: the model sees the same text in another form"
LOSES = "low: what is taken out is lost"
ANSWERS = "medium: answers may change"
SAME = "none: answers stay the same"
FRESH = "medium: an answer may be out of date"
LIKE = "high: requests that look alike may want other answers"
QUALITY = "high: the model has to be evaluated again"

Check: TypeAlias = "Callable[[Evidence], Iterator[Finding]]"
"""A check yields nothing, or its findings."""

Replay: TypeAlias = "Callable[[Finding, Evidence], Replayable | None]"
"""From a finding to its remedy on logged requests; None where a person has to choose."""


@dataclass(frozen=True, slots=True)
class RemedyFacts:
    """A remedy in a few words.

    Attributes:
        name: Name in charts and tables.
        effort: Effort of carrying it out, from "turn on a flag" to "train or change the model".
        risk: Risk, in words.
        needs_own_model: True if only the owner of a model can do it.
    """

    name: str
    effort: str
    risk: str
    needs_own_model: bool = False


@dataclass(frozen=True, slots=True)
class Analysis:
    """One analysis.

    Attributes:
        id: Id of its findings, which never changes.
        check: Yields its findings from the evidence.
        remedy: The remedy; None: the finding proposes nothing that has a price.
        replay: Carries the remedy out on requests, so that its saving is measured; None: the
            finding names the money at stake, and nothing is promised.
        stage: Place among the remedies: those of the cache act last, for what is not sent need not
            be cached.
    """

    id: str
    check: Check
    remedy: RemedyFacts | None
    replay: Replay | None
    stage: int


ANALYSES: dict[str, Analysis] = {}
"""By the id of the finding."""


def analysis(
    id: str,  # noqa: A002
    name: str = "",
    effort: str = "",
    risk: str = "",
    *,
    needs_own_model: bool = False,
    replay: Replay | None = None,
    stage: int = 1,
) -> Callable[[Check], Check]:
    """Register a check with the remedy that its findings propose.

    Args:
        id: Id of its findings, which are yielded without one.
        name: Name of the remedy; empty: it has none.
        effort: Effort of the remedy.
        risk: Risk of it.
        needs_own_model: True if it changes a model, which has to be one's own.
        replay: From a finding to its remedy on requests.
        stage: Place among the remedies.
    """

    def register(check: Check) -> Check:
        @wraps(check)
        def named(evidence: Evidence) -> Iterator[Finding]:
            for finding in check(evidence):
                yield finding if finding.id else replace(finding, id=id)

        remedy = RemedyFacts(name, effort, risk, needs_own_model) if name else None
        ANALYSES[id] = Analysis(id, named, remedy, replay, stage)
        return named

    return register


def remedy_facts(finding_id: str) -> RemedyFacts:
    """The facts of a finding's remedy; its id in words where it has none."""
    entry = ANALYSES.get(finding_id)
    if entry is not None and entry.remedy is not None:
        return entry.remedy
    return RemedyFacts(finding_id.replace("-", " ").capitalize(), "", "")


class _Rest(TypedDict, total=False):
    """Fields of a finding that few findings set."""

    saving_usd_per_year: Decimal | None
    saving_formula: str
    saving_basis: Basis
    evidence: dict[str, Any]


def finding_of(
    *,
    title: str,
    value: float | int | Decimal,
    formula: str,
    cause: str,
    remedy: str,
    id: str = "",  # noqa: A002
    severity: Severity = Severity.WARNING,
    where: str = "the text",
    unit: str = "tokens on the audited text",
    basis: Basis = Basis.EXACT,
    source: str = "",
    **rest: Unpack[_Rest],
) -> Finding:
    """Return a finding whose fields are those of most findings, unless stated."""
    figure = Figure(value, unit, basis, formula, source)
    return Finding(id, severity, title, where, figure, cause, remedy, **rest)
