"""Sums of a replay made into its results: the oracle, bills, regret, and its intervals.

The oracle sends each request where it is cheapest, answer and caches known. Moving costs caches,
so a conversation that stays at one endpoint may yet be cheaper: the oracle then takes that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from jeton.corpus.requests.issues import LogIssue
from jeton.economics.ledger import Ledger, LedgerBuilder
from jeton.errors import EmptyCorpusError
from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.players import N_BLOCKS, Play
from jeton.planning.routing.policy import RoutingPolicy
from jeton.planning.routing.results import (
    LoggedBill,
    ReplayedEndpoint,
    RouteIssue,
    RouteOutcome,
    RouteReplay,
)

if TYPE_CHECKING:
    from jeton.planning.routing.replaying import LogReplay


_MAX_CONVERSATIONS: Final = 20_000

_Served = tuple[float, float, float | None]
"""Dollars, seconds and score of a request at an endpoint."""


class _Sums:
    """Sums of one way through a conversation."""

    __slots__ = ("n_misses", "places", "quality", "scored", "seconds", "timed", "usd")

    def __init__(self) -> None:
        self.usd = self.seconds = self.quality = 0.0
        self.timed = self.scored = self.n_misses = 0
        self.places: dict[int, int] = {}

    def add(self, place: int, served: _Served) -> None:
        """Add a request."""
        usd, seconds, quality = served
        self.usd += usd
        if seconds == seconds:
            self.seconds += seconds
            self.timed += 1
        if quality is not None:
            self.quality += quality
            self.scored += 1
        self.places[place] = self.places.get(place, 0) + 1


class _Open:
    __slots__ = ("block", "moving", "n_misses", "staying")

    def __init__(self, block: int, n_places: int) -> None:
        self.block = block
        self.n_misses = 0
        self.moving = _Sums()
        self.staying: list[_Sums | None] = [_Sums() for _ in range(n_places)]


class Oracle:
    """Sums of the oracle. Conversations that were silent for the longest are closed.

    Args:
        n_places: Number of endpoints.
    """

    def __init__(self, n_places: int) -> None:
        self.name = "oracle"
        self.by_block: NDArray[np.float64] = np.zeros(N_BLOCKS)
        self.by_place: NDArray[np.int64] = np.zeros(n_places, dtype=np.int64)
        self.seconds = self.quality = 0.0
        self.timed = self.scored = 0
        self.n_refused = 0
        self.n_missed = 0
        self._n_places = n_places
        self._open: dict[int, _Open] = {}

    def take(
        self,
        talk: int,
        block: int,
        best: tuple[int, float, float, float | None],
        elsewhere: Sequence[_Served | None],
        *,
        misses: bool,
    ) -> None:
        """Take a request.

        Args:
            talk: The conversation; 0: none.
            block: The block that it is drawn in.
            best: Place of the best endpoint, dollars, seconds and score there.
            elsewhere: Dollars, seconds and score at each endpoint for a conversation that never
                left it; None where it is not taken, or misses the policy that another one meets.
            misses: True if no endpoint meets the policy.
        """
        found = self._open.pop(talk, None) if talk else None
        if found is None:
            found = _Open(block, self._n_places)
        found.moving.add(best[0], best[1:])
        found.n_misses += misses
        for place, served in enumerate(elsewhere):
            sums = found.staying[place]
            if sums is None:
                continue
            if served is None:
                found.staying[place] = None
            else:
                sums.add(place, served)
        if not talk:
            self._close(found)
            return
        self._open[talk] = found
        if len(self._open) > _MAX_CONVERSATIONS:
            self._close(self._open.pop(next(iter(self._open))))

    def finish(self) -> None:
        """Close all conversations."""
        for found in self._open.values():
            self._close(found)
        self._open.clear()

    def _close(self, found: _Open) -> None:
        best = found.moving
        for sums in found.staying:
            if sums is not None and sums.usd < best.usd:
                best = sums
        self.by_block[found.block] += best.usd
        self.seconds += best.seconds
        self.quality += best.quality
        self.timed += best.timed
        self.scored += best.scored
        self.n_missed += found.n_misses
        for place, n in best.places.items():
            self.by_place[place] += n


_DRAWS: Final = 1000
_LEAST_SHARE: Final = 1e-9
_SEED: Final = 20261128
_MIN_BLOCKS: Final = 20
"""Fewer conversations give no interval: a bootstrap of so few is too narrow."""
_CENTS: Final = Decimal("1e-12")


def replay_of(replay: LogReplay, issues: Iterable[LogIssue], *, version: str) -> RouteReplay:
    """Return the results of a replay that has come to its end.

    Raises:
        EmptyCorpusError: No request could be compared.
    """
    if not replay.n_requests:
        raise _empty(replay)
    replay.oracle.finish()
    least = replay.oracle.by_block
    oracle_usd = Decimal(repr(float(least.sum()))).quantize(_CENTS)
    outcomes = []
    for play, kind in ((replay.routed, "router"), (replay.by_rule, "rule")):
        ledgers = [builder.build() for builder in replay.bills[play.name]]
        outcomes.append(_outcome(replay, play, kind, ledgers, oracle_usd, least))
    for play, builder in zip(replay.always, replay.always_bills, strict=True):
        outcomes.append(_outcome(replay, play, "always", [builder.build()], oracle_usd, least))
    outcomes.append(_oracle(replay, oracle_usd))
    n_blocks = int((least != 0).sum())
    return RouteReplay(
        endpoints=tuple(
            _endpoint(replay, lane, builder)
            for lane, builder in zip(replay.lanes, replay.always_bills, strict=True)
        ),
        outcomes=tuple(outcomes),
        as_logged=_as_logged(replay.as_logged.build()),
        n_requests=replay.n_requests,
        n_conversations=n_blocks,
        left_out=dict(replay.left_out),
        assumptions={name: n for name, n in replay.assumed.items() if n},
        issues=tuple(RouteIssue(one.kind, one.n, one.meaning) for one in issues),
        policy=_policy(replay.router.policy),
        jeton_version=version,
    )


def _as_logged(ledger: Ledger) -> LoggedBill:
    return LoggedBill(ledger.usd, sum(one.n_requests for one in ledger.not_priced))


def _empty(replay: LogReplay) -> EmptyCorpusError:
    reasons = "; ".join(f"{n:,}: {reason}" for reason, n in replay.left_out.items())
    hint = "a request needs its prompt or its input tokens, and its answer or its output tokens"
    if "the log tells nothing of their output" in replay.left_out:
        hint += "; --assume-output-tokens N takes N for all that have none"
    return EmptyCorpusError(
        f"no request can be compared ({reasons or 'none was read'})\nhint: {hint}"
    )


def _outcome(
    replay: LogReplay,
    play: Play,
    kind: str,
    ledgers: Sequence[Ledger],
    oracle_usd: Decimal,
    least: NDArray[np.float64],
) -> RouteOutcome:
    usd = sum((ledger.usd for ledger in ledgers), Decimal(0))
    regret = usd - oracle_usd
    low, high = regret_interval(play.by_block, least)
    n = play.n_requests
    is_timed = play.seconds.n == n and n > 0
    return RouteOutcome(
        name=play.name,
        kind=kind,
        usd=usd,
        regret_usd=regret,
        regret_share=_share(regret, oracle_usd) if oracle_usd else None,
        regret_low=low,
        regret_high=high,
        mean_seconds=play.seconds.mean if is_timed else None,
        p50_seconds=play.seconds.quantile(0.5) if is_timed else None,
        p95_seconds=play.seconds.quantile(0.95) if is_timed else None,
        mean_quality=play.quality_sum / play.n_quality if play.n_quality else None,
        n_requests=n,
        n_refused=play.n_refused,
        n_failed=play.n_failed,
        n_too_long=play.n_too_long,
        n_missed=play.n_missed,
        n_fallbacks=play.n_fallbacks,
        n_moves=play.n_moves,
        n_not_priced=sum(one.n_requests for ledger in ledgers for one in ledger.not_priced),
        shares=_shares(replay, play.by_place),
    )


def _share(part: Decimal, whole: Decimal) -> float:
    """The share, where it is more than what is left of rounding sums."""
    share = float(part / whole)
    return share if abs(share) >= _LEAST_SHARE else 0.0


def _oracle(replay: LogReplay, usd: Decimal) -> RouteOutcome:
    oracle = replay.oracle
    n = int(oracle.by_place.sum())
    return RouteOutcome(
        name="oracle",
        kind="oracle",
        usd=usd,
        regret_usd=Decimal(0),
        regret_share=0.0 if usd else None,
        regret_low=None,
        regret_high=None,
        mean_seconds=oracle.seconds / n if n and oracle.timed == n else None,
        p50_seconds=None,
        p95_seconds=None,
        mean_quality=oracle.quality / oracle.scored if oracle.scored else None,
        n_requests=n,
        n_refused=oracle.n_refused,
        n_failed=0,
        n_too_long=0,
        n_missed=oracle.n_missed,
        n_fallbacks=oracle.n_missed,
        n_moves=0,
        n_not_priced=0,
        shares=_shares(replay, oracle.by_place),
    )


def _shares(replay: LogReplay, by_place: NDArray[np.int64]) -> dict[str, float]:
    total = int(by_place.sum())
    return {
        lane.endpoint.name: int(by_place[lane.place]) / total if total else 0.0
        for lane in replay.lanes
    }


def regret_interval(
    usd: NDArray[np.float64], least: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Return the interval of 95% of a regret's share, by drawing blocks of conversations.

    Args:
        usd: Dollars by block.
        least: Dollars of the oracle by block.
    """
    used = (usd != 0) | (least != 0)
    if int(used.sum()) < _MIN_BLOCKS or not least.sum():
        return None, None
    weights = np.random.default_rng(_SEED).poisson(1.0, (_DRAWS, int(used.sum())))
    bills = weights @ least[used]
    shares = (weights @ usd[used] - bills)[bills > 0] / bills[bills > 0]
    low, high = np.quantile(np.where(abs(shares) < _LEAST_SHARE, 0.0, shares), [0.025, 0.975])
    return float(low), float(high)


def _endpoint(replay: LogReplay, lane: Lane, builder: LedgerBuilder) -> ReplayedEndpoint:
    endpoint = lane.endpoint
    tokenizer = replay.router.tokenizers[replay.router.tokenizer_of[lane.place]]
    base = lane.rates(0, float("nan"))
    source = lane.price.source if lane.price is not None else builder.build().price_source
    latency = "unknown"
    if lane.ttft_seconds is not None:
        latency = "roofline" if endpoint.latency is None else "measured"
    context = lane.context_tokens
    return ReplayedEndpoint(
        name=endpoint.name,
        model=endpoint.model,
        tokenizer=tokenizer.name or tokenizer.fingerprint,
        price=lane.price_name + (f"@{lane.tariff}" if lane.tariff else ""),
        price_source=source,
        usd_per_mtok_input=round(base.fresh * 1e6, 9),
        usd_per_mtok_output=round(base.output * 1e6, 9),
        context_tokens=None if context == float("inf") else int(context),
        latency=latency,
        n_own=int(replay.n_own[lane.place]),
    )


def _policy(policy: RoutingPolicy) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: getattr(policy, name)
        for name in (
            "rule", "max_seconds", "max_ttft_seconds", "min_quality", "sticky", "coverage",
            "assumed_output_tokens",
        )
    }  # fmt: skip
    found["fallbacks"] = list(policy.fallbacks)
    weights = policy.weights
    if policy.rule == "weighted":
        found["weights"] = {
            "cost": weights.cost, "latency": weights.latency, "quality": weights.quality,
        }  # fmt: skip
    return found
