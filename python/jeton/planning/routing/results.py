"""Results of a replay: the bill of each way of routing, and its distance to the best; as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from jeton._shown import NotebookResult


@dataclass(frozen=True, slots=True)
class ReplayedEndpoint:
    """An endpoint as the replay took it.

    Attributes:
        name: Its name.
        model: Its model.
        tokenizer: Name of its tokenizer.
        price: Name of its price.
        price_source: Source of the price.
        usd_per_mtok_input: Dollars for a million prompt tokens, first step.
        usd_per_mtok_output: Dollars for a million answer tokens, first step.
        context_tokens: Limit of prompt and answer; None: none known.
        latency: ``measured``, ``roofline`` or ``unknown``.
        n_own: Requests of the log that its model answered.
    """

    name: str
    model: str
    tokenizer: str
    price: str
    price_source: str
    usd_per_mtok_input: float
    usd_per_mtok_output: float
    context_tokens: int | None
    latency: str
    n_own: int


@dataclass(frozen=True, slots=True)
class RouteOutcome:
    """One way of routing, over the whole log.

    Attributes:
        name: ``router``, ``litellm``, ``oracle`` or ``always NAME``.
        kind: ``router``, ``rule``, ``oracle`` or ``always``.
        usd: Dollars: the ledger's own sum, exact; of the oracle a sum of floats.
        regret_usd: Dollars more than the oracle's.
        regret_share: Dollars more, as a share of the oracle's bill; None where that is 0.
        regret_low: Lower end of its interval of 95%, by drawing conversations; None: too few.
        regret_high: Upper end.
        mean_seconds: Mean time to the last token; None: not known of all requests.
        p50_seconds: Median of it.
        p95_seconds: 95th percentile of it.
        mean_quality: Mean score, of the requests that have one; None: of none.
        n_requests: Requests that were sent.
        n_refused: Requests that no endpoint takes.
        n_failed: Times that an endpoint did not answer.
        n_too_long: Requests sent that did not fit after all.
        n_missed: Requests sent that miss the limits of latency or quality.
        n_fallbacks: Requests for which no endpoint met the policy.
        n_moves: Times that a conversation changed its endpoint.
        n_not_priced: Requests without a price there.
        shares: Share of the requests by endpoint.
    """

    name: str
    kind: str
    usd: Decimal
    regret_usd: Decimal
    regret_share: float | None
    regret_low: float | None
    regret_high: float | None
    mean_seconds: float | None
    p50_seconds: float | None
    p95_seconds: float | None
    mean_quality: float | None
    n_requests: int
    n_refused: int
    n_failed: int
    n_too_long: int
    n_missed: int
    n_fallbacks: int
    n_moves: int
    n_not_priced: int
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LoggedBill:
    """The compared requests with the models that the log names.

    Attributes:
        usd: Dollars by the ledger.
        n_not_priced: Requests without a price or without usage, which are not in the dollars.
    """

    usd: Decimal
    n_not_priced: int


@dataclass(frozen=True, slots=True)
class RouteIssue:
    """Something odd about the log, counted."""

    kind: str
    n: int
    meaning: str


@dataclass(frozen=True, slots=True)
class RouteReplay(NotebookResult):
    """A log replayed on endpoints.

    Attributes:
        endpoints: The endpoints.
        outcomes: The router first, then LiteLLM's rule, the fixed choices, and the oracle.
        as_logged: Bill of the same requests as they were.
        n_requests: Requests that were compared.
        n_conversations: Requests and conversations that were drawn for the intervals, at most.
        left_out: Requests that were not compared, by reason.
        assumptions: Requests by what their tokens at other endpoints rest on.
        issues: Faults of the log.
        policy: The policy, in words.
        jeton_version: Version that made it.
    """

    _page = "jeton.report.route:route_html"
    _table = "outcomes"
    _line = ("n_requests", "endpoints", "outcomes")

    endpoints: tuple[ReplayedEndpoint, ...]
    outcomes: tuple[RouteOutcome, ...]
    as_logged: LoggedBill
    n_requests: int
    n_conversations: int
    left_out: Mapping[str, int]
    assumptions: Mapping[str, int]
    issues: tuple[RouteIssue, ...]
    policy: Mapping[str, Any]
    jeton_version: str

    @property
    def saved_share(self) -> float | None:
        """Share of today's bill that the router saves; None: not the same requests are priced."""
        routed = self.outcomes[0]
        if self.as_logged.n_not_priced or routed.n_refused or routed.n_not_priced:
            return None
        return float(1 - routed.usd / self.as_logged.usd) if self.as_logged.usd else None

    def outcome(self, name: str) -> RouteOutcome:
        """Return an outcome by its name."""
        for one in self.outcomes:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; money as decimal strings."""
        from jeton.planning.routing.results import replay_json

        return replay_json(self)


def replay_json(found: RouteReplay) -> dict[str, Any]:
    """Return a replay as plain values; money as decimal strings."""
    data: dict[str, Any] = {
        "schema": "jeton.route/1",
        "jeton_version": found.jeton_version,
        "n_requests": found.n_requests,
        "n_conversations": found.n_conversations,
        "policy": dict(found.policy),
        "endpoints": [asdict(one) for one in found.endpoints],
        "as_logged": _plain(asdict(found.as_logged)),
        "saved_share": found.saved_share,
        "outcomes": [_plain(asdict(one)) for one in found.outcomes],
        "left_out": dict(found.left_out),
        "assumptions": dict(found.assumptions),
        "issues": [asdict(one) for one in found.issues],
    }
    return data


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: f"{value:f}" if isinstance(value, Decimal) else value
        for name, value in values.items()
    }
