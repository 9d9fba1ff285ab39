"""The monitor: requests in, alerts out, with a bounded chance of a false one.

Each signal of all requests, the two main ones of each route, and the share of each source that the
history has are bet on (`bets`): "nothing changed". The chances of a false alarm of all bets add up
to ``alpha``.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from jeton._core import Tokenizer
from jeton.catalog.api_price import ApiPrice
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.registry import TokenizerLike, resolve
from jeton.watch.alerts import Alert
from jeton.watch.bets import OF_ROUTES, Bank, Bet, bets_of, learned_bet
from jeton.watch.billed import (
    RecentRequest,
    RecentRequests,
    RequestBilling,
    RequestSample,
    watched_side,
)
from jeton.watch.causes import (
    DRIFT_CAUSES,
    BilledSide,
    CauseShare,
    TokenizerIdentity,
    explain_drift,
)
from jeton.watch.history import CanaryReading, WatchHistory, read_canary
from jeton.watch.outlook import ServedBy, outlook
from jeton.watch.signals import SIGNALS, SOURCE_SHARE
from jeton.watch.windows import Measurer, RequestCounts, WatchSums

_MIN_SINCE: Final = 20

_MAX_TRAFFIC: Final = 20_000

_CAUSES_OF_SIGNALS: Final = MappingProxyType(
    {
        SOURCE_SHARE.name: ("source_mix", "", Basis.EXACT),
        "special_hit_share": ("preprocessing", "text that spells special tokens", Basis.EXACT),
        "invisible_share": ("preprocessing", "characters that nobody sees", Basis.EXACT),
        "estimate_ratio": ("unlogged", "", Basis.ESTIMATED),
    }
)
"""Signals that are their own cause: nothing is left to divide."""


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Settings of a watch.

    Attributes:
        alpha: Chance of any false alarm while nothing changes, for all signals and all time.
        learn_requests: Requests from which a signal that the history lacks is learned.
        window_requests: Requests of a window.
        kept_requests: Requests of late that causes are looked for in.
        kept_chars: Characters of their texts.
        sample_texts: Texts of a history that the causes are measured against.
    """

    alpha: float = 0.01
    learn_requests: int = 500
    window_requests: int = 1000
    kept_requests: int = 400
    kept_chars: int = 4_000_000
    sample_texts: int = 2000

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha is {self.alpha}; expected between 0 and 1")
        for name in ("learn_requests", "window_requests", "kept_requests", "sample_texts"):
            if getattr(self, name) < 20:
                raise UsageError(f"{name} is {getattr(self, name)}; expected at least 20")


@dataclass(frozen=True, slots=True)
class WatchedRequest:
    """One request, as far as it is known.

    Attributes:
        text: The sent text; None: not known.
        n_tokens: Its tokens, counted by the service or the provider; None: counted here.
        overhead_tokens: Tokens that a chat format adds to those of the text.
        route: Route, endpoint or use case.
        source: Where its text comes from (customer, feed, parser).
        at: Time, seconds since 1970; None: not known.
        n_output: Tokens of the answer.
        n_padding: Tokens of padding that its batch adds.
        n_estimated: Tokens that were estimated before it was counted.
        billing: Model, cached tokens and parts of the text, for the dollars; None: not known.
    """

    text: str | None = None
    n_tokens: int | None = None
    overhead_tokens: int = 0
    route: str = ""
    source: str = ""
    at: float | None = None
    n_output: int | None = None
    n_padding: int | None = None
    n_estimated: int | None = None
    billing: RequestBilling | None = None


@dataclass(frozen=True, slots=True)
class SignalState:
    """State of one signal, for those who look.

    Attributes:
        signal: Its name.
        label: Its name in sentences.
        is_share: True for a share of 0 to 1.
        route: Route that it is of; empty: all.
        before: Normal value; None while it is learned.
        now: Value of the requests of late; None without any.
        evidence: How often the stake has grown.
        limit: Growth at which an alarm is raised.
        is_raised: True from an alarm on.
    """

    signal: str
    label: str
    is_share: bool
    route: str
    before: float | None
    now: float | None
    evidence: float
    limit: float
    is_raised: bool


class Monitor:
    """Watches the requests of a service.

    Safe to use from several threads. Memory is bounded: sums by group, and the texts of late.

    Args:
        history: The history to compare with, or its file; None: it is learned from the first
            requests.
        tokenizer: The tokenizer in use; None: that of the history, or the counts that requests
            bring.
        settings: Settings.
        served_by: Model and GPUs, for the minutes until memory is full.
        price: Price of all requests, or of those whose model has none, for the dollars of a drift;
            None: each by its model.
        on_alert: Called with each alert, in the thread that saw it.
        encode: The live path from text to ids, for the canary; None: the tokenizer's own.
        preprocess: The step before it in the live path.

    Example:
        >>> monitor = Monitor(tokenizer="jeton-general-32k")
        >>> monitor.observe(WatchedRequest("The committee said that it will help the town."))
        ()
        >>> monitor.sums.total().n_requests
        1
    """

    def __init__(
        self,
        history: WatchHistory | str | None = None,
        *,
        tokenizer: TokenizerLike | None = None,
        settings: WatchSettings | None = None,
        served_by: ServedBy | None = None,
        price: ApiPrice | None = None,
        on_alert: Callable[[Alert], None] | None = None,
        encode: Callable[[str], Sequence[int]] | None = None,
        preprocess: Callable[[str], str] | None = None,
    ) -> None:
        self.settings = settings or WatchSettings()
        self.history = WatchHistory.read(history) if isinstance(history, str) else history
        self._before = self.history.load_tokenizer() if self.history is not None else None
        self.tokenizer: Tokenizer | None = self._before if tokenizer is None else resolve(tokenizer)
        self._asked = tokenizer if isinstance(tokenizer, str) else ""
        self._measurer = None if self.tokenizer is None else Measurer(self.tokenizer)
        self._served_by, self._price = served_by, price
        self._on_alert = on_alert
        self._encode, self._preprocess = encode, preprocess
        self._lock = threading.RLock()
        kept = self.settings
        self._recent = RecentRequests(max_requests=kept.kept_requests, max_chars=kept.kept_chars)
        self._sample = RequestSample(max_texts=kept.sample_texts)
        self._traffic: deque[tuple[float, int, int]] = deque(maxlen=_MAX_TRAFFIC)
        self._learning: dict[str, Counter[int]] = {}
        self._banks: list[Bank] = []
        self._canary: CanaryReading | None = self.history.canary if self.history else None
        self._learned: tuple[RecentRequest, ...] = ()
        self._learned_side: BilledSide | None = None
        self.sums = WatchSums()
        self.window = WatchSums()
        self.closed: deque[WatchSums] = deque(maxlen=100)
        self.alerts: deque[Alert] = deque(maxlen=1000)
        self.n_requests = 0
        self.last_canary: str = ""
        self._is_canary_read = False
        self._begin()

    # ---- requests in

    def observe(self, *requests: WatchedRequest) -> tuple[Alert, ...]:
        """Take requests in their order; return the alerts that they raise.

        Raises:
            UsageError: A request has neither a text that can be counted nor a number of tokens.
        """
        counted = self._counted(requests)
        # A history of another tokenizer is known before the first request is.
        is_first = self.history is not None and not self._is_canary_read
        canary = self.check_canary() if is_first and requests else None
        found: list[Alert] = []
        with self._lock:
            for request, counts in zip(requests, counted, strict=True):
                found += self._take(request, counts)
        for alert in found:
            self._tell(alert)
        return tuple(found) if canary is None else (canary, *found)

    def check_canary(self, tokenizer: TokenizerLike | None = None) -> Alert | None:
        """Send the canary down the live path; return an alert where its ids have changed.

        It is compared with that of the history, else with the first one; an alert comes once.

        Args:
            tokenizer: The tokenizer as it is now, where it is loaded anew; None: the live path.
        """
        encode = self._encode
        if tokenizer is not None:
            encode = resolve(tokenizer).encode
        elif encode is None and self.tokenizer is not None:
            encode = self.tokenizer.encode
        if encode is None:
            return None
        reading = read_canary(encode, self._preprocess)
        with self._lock:
            self._is_canary_read = True
            if self._canary is None:
                # A history of `jeton audit` has no canary, and its tokenizer reads one.
                self._canary = (
                    reading
                    if self._before is None
                    else read_canary(self._before.encode, self._preprocess)
                )
            before, told = self._canary, self.last_canary
            self.last_canary = cause = reading.cause_since(before)
            if not cause or cause == told:
                return None
            entry = DRIFT_CAUSES[cause]
            share = CauseShare(
                cause, entry.label, self._change_of(cause, tokenizer) or entry.label, 1.0, (), None,
                Basis.EXACT, entry.remedy,
            )  # fmt: skip
            alert = Alert(
                kind="canary", signal=cause, route="", n_requests=self.n_requests,
                since_request=self.n_requests, at_seconds=self.last_time,
                before=before.n_tokens, after=reading.n_tokens, evidence=float("inf"),
                alpha=self.settings.alpha, causes=(share,),
            )  # fmt: skip
            self.alerts.append(alert)
        self._tell(alert)
        return alert

    # ---- what is known

    def locked(self) -> threading.RLock:
        """Return the lock, for those who read several things at once."""
        return self._lock

    def make_history(self) -> WatchHistory:
        """Return what was seen as a history for later watches."""
        with self._lock:
            side, identity = None, None
            if self.tokenizer is not None:
                name = self.tokenizer.name or self._asked
                identity = TokenizerIdentity.of(self.tokenizer, name=name, asked=self._asked)
                if self._sample.requests:
                    side = self._side(self.tokenizer, self._sample.requests)
            if self._canary is None and (self._encode or self.tokenizer):
                self.check_canary()
            return WatchHistory(self.sums, side, identity, self._canary)

    @property
    def last_time(self) -> float | None:
        """Time of the last request that had one."""
        return self._traffic[-1][0] if self._traffic else None

    def states(self) -> tuple[SignalState, ...]:
        """Return the state of every signal."""
        with self._lock:
            found = [
                SignalState(
                    name,
                    SIGNALS[name].label,
                    SIGNALS[name].is_share,
                    "",
                    None,
                    None,
                    1.0,
                    0.0,
                    is_raised=False,
                )
                for name in self._learning
            ]
            for bank in self._banks:
                for i, (bet, evidence) in enumerate(zip(bank.bets, bank.evidence(), strict=True)):
                    signal = bet.normal.signal
                    now = _mean_level(bet, self._recent.since(0))
                    found.append(
                        SignalState(
                            signal.name,
                            f"{signal.label} {bet.source}".strip(),
                            signal.is_share,
                            bet.route,
                            signal.value(bet.normal.mean),
                            None if now is None else signal.value(now),
                            evidence,
                            bet.limit,
                            is_raised=bank.raised[i],
                        )
                    )
        return tuple(found)

    def accept(self) -> None:
        """Take the requests of late for the new normal: alarms end, and bets begin anew."""
        with self._lock:
            sums = WatchSums()
            kept = self._recent.since(0)
            for request in kept:
                counts = RequestCounts(request.n_tokens)
                sums.count(counts, request.levels, route=request.route, source=request.source)
            kept = [r for r in kept if r.text is not None]
            side = self._side(self.tokenizer, kept) if kept and self.tokenizer is not None else None
            identity = self.history.tokenizer if self.history is not None else None
            self.history = WatchHistory(sums, side, identity)
            self._before, self._canary, self.last_canary = self.tokenizer, None, ""
            self._is_canary_read = False
            self._begin()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: states, windows and alerts, without any text."""
        with self._lock:
            return {
                "schema_version": "jeton.watch_state/1",
                "n_requests": self.n_requests,
                "alpha": self.settings.alpha,
                "tokenizer": None if self.tokenizer is None else self.tokenizer.fingerprint,
                "canary": self.last_canary or ("same" if self._is_canary_read else "unread"),
                "states": [asdict(state) for state in self.states()],
                "windows": [_window(window) for window in (*self.closed, self.window)],
                "groups": [
                    {key: value for key, value in group.items() if key != "levels"}
                    for group in self.sums.to_plain()
                ],
                "alerts": [alert.to_dict() for alert in self.alerts],
            }

    # ---- inside

    def _change_of(self, cause: str, tokenizer: TokenizerLike | None) -> str:
        """Names of the two tokenizers; empty where only one is known."""
        identity = self.history.tokenizer if self.history is not None else None
        now = self.tokenizer if tokenizer is None else resolve(tokenizer)
        if cause != "tokenizer" or identity is None or now is None:
            return ""
        if identity.fingerprint == now.fingerprint:
            return ""
        named = self._asked or now.name or now.fingerprint[:12]
        return f"{identity.name or identity.fingerprint[:12]} -> {named}"

    def _begin(self) -> None:
        """Start the bets of the signals that the history has; the others are learned."""
        sums = self.history.sums if self.history is not None else WatchSums()
        bets = bets_of(sums, self.settings.alpha)
        known = {bet.normal.signal.name for bet in bets}
        self._learning = {name: Counter() for name in SIGNALS if name not in known}
        self._banks = [Bank(bets)] if bets else []
        is_shared = any(bet.route or bet.source for bet in bets)
        self._chance = self.settings.alpha / (2 if is_shared else 1)

    def _counted(self, requests: Sequence[WatchedRequest]) -> list[RequestCounts]:
        with_text = [
            i for i, r in enumerate(requests) if r.text is not None and self._measurer is not None
        ]
        measured: dict[int, RequestCounts] = {}
        if with_text and self._measurer is not None:
            texts = [requests[i].text or "" for i in with_text]
            overheads = [requests[i].overhead_tokens for i in with_text]
            found = self._measurer.measure(texts, overheads=overheads)
            measured = dict(zip(with_text, found, strict=True))
        return [_completed(request, measured.get(i)) for i, request in enumerate(requests)]

    def _take(self, request: WatchedRequest, counts: RequestCounts) -> Iterable[Alert]:
        levels = counts.levels()
        number, self.n_requests = self.n_requests, self.n_requests + 1
        route, source, _ = self.sums.key(request.route, request.source, counts.script)
        self.sums.count(counts, levels, route=route, source=source)
        self.window.count(counts, levels, route=route, source=source)
        at = request.at
        recent = RecentRequest(
            number, request.text, route, source, levels, at, counts.n_tokens,
            n_billed=counts.n_tokens if request.n_tokens is None else request.n_tokens,
            n_output=request.n_output or 0, overhead_tokens=request.overhead_tokens,
            billing=request.billing or RequestBilling(),
        )  # fmt: skip
        self._recent.add(recent)
        self._sample.add(recent)
        if at is not None:
            self._traffic.append((at, counts.n_tokens, request.n_output or 0))
        for bank in self._banks:
            bank.add(number, levels, route=route, source=source)
        self._learn(levels)
        found = [self._alert(bank, i) for bank in self._banks for i in self._moved(bank)]
        if self.n_requests % self.settings.window_requests == 0:
            self.closed.append(self.window)
            self.window = WatchSums()
        return found

    def _learn(self, levels: dict[str, int]) -> None:
        done = []
        for name, level in levels.items():
            histogram = self._learning.get(name)
            if histogram is None:
                continue
            histogram[level] += 1
            if histogram.total() >= self.settings.learn_requests:
                done.append((name, histogram))
        if not done:
            return
        for name, _ in done:
            del self._learning[name]
        self._banks.append(Bank([learned_bet(name, h, self._chance) for name, h in done]))
        self._learned = self._learned or tuple(self._sample.requests)

    def _moved(self, bank: Bank) -> list[int]:
        moved = []
        for i, (bet, evidence) in enumerate(zip(bank.bets, bank.evidence(), strict=True)):
            if bank.raised[i] or evidence < bet.limit:
                continue
            if self.n_requests - bank.since(i) >= _MIN_SINCE:
                bank.raised[i] = True
                moved.append(i)
        return moved

    def _alert(self, bank: Bank, i: int) -> Alert:
        bet, since = bank.bets[i], bank.since(i)
        signal = bet.normal.signal
        requests = self._recent.since(since, route=bet.route)
        now = _mean_level(bet, requests)
        before = signal.value(bet.normal.mean)
        after = before if now is None else signal.value(now)
        growth = after / before if signal.name in OF_ROUTES and before > 0 else 1.0
        forecast = None
        if self._served_by is not None and self._traffic and requests and requests[0].at:
            forecast = outlook(
                self._served_by, self._traffic, since_seconds=requests[0].at, growth=growth
            )
        causes = self._causes(signal.metric, requests, bet.route)
        cause, detail, basis = _CAUSES_OF_SIGNALS.get(signal.name, ("", "", Basis.EXACT))
        if cause:
            own, groups = DRIFT_CAUSES[cause], (bet.source,) if bet.source else ()
            causes = (
                CauseShare(
                    cause, own.label, detail or own.label, 1.0, groups, None, basis, own.remedy
                ),
            )
        alert = Alert(
            kind="drift", signal=signal.name, route=bet.route, n_requests=self.n_requests,
            since_request=since, at_seconds=self.last_time, before=before, after=after,
            evidence=bank.evidence()[i], alpha=self.settings.alpha, causes=causes,
            full_seconds=None if forecast is None else forecast.full_seconds,
            memory_words="" if forecast is None else forecast.in_words,
        )  # fmt: skip
        self.alerts.append(alert)
        return alert

    def _causes(
        self, metric: str, requests: list[RecentRequest], route: str
    ) -> tuple[CauseShare, ...]:
        if not metric or self.tokenizer is None or all(r.text is None for r in requests):
            return ()
        before = self._side_before(self.tokenizer)
        if before is None:
            return ()
        same = self._before is None or self._before.fingerprint == self.tokenizer.fingerprint
        identity = self.history.tokenizer if self.history is not None else None
        if self._before is None and identity is not None:
            same = identity.fingerprint == self.tokenizer.fingerprint
        return explain_drift(
            metric, before, requests,
            tokenizer=self.tokenizer, before_tokenizer=None if same else self._before,
            is_same_tokenizer=same, price=self._price,
            domain=route if route and not any(r.source for r in requests) else None,
            requests_per_day=self._per_day(),
        )  # fmt: skip

    def _side(self, tokenizer: Tokenizer, requests: Sequence[RecentRequest]) -> BilledSide:
        return watched_side(requests, tokenizer, price=self._price).side

    def _side_before(self, tokenizer: Tokenizer) -> BilledSide | None:
        """The history, or the requests that were learned from."""
        if self.history is not None and self.history.side is not None:
            return self.history.side
        if self._learned_side is None and self._learned:
            self._learned_side = self._side(tokenizer, self._learned)
        return self._learned_side

    def _per_day(self) -> float | None:
        if len(self._traffic) < 2 or self._traffic[-1][0] <= self._traffic[0][0]:
            return None
        seconds = self._traffic[-1][0] - self._traffic[0][0]
        return (len(self._traffic) - 1) / seconds * 86_400

    def _tell(self, alert: Alert) -> None:
        if self._on_alert is not None:
            self._on_alert(alert)


def _mean_level(bet: Bet, requests: list[RecentRequest]) -> float | None:
    found = [bet.level(r.levels, route=r.route, source=r.source) for r in requests]
    levels = [level for level in found if level is not None]
    return sum(levels) / len(levels) if levels else None


def _completed(request: WatchedRequest, counts: RequestCounts | None) -> RequestCounts:
    """Counts with what the request itself brings."""
    is_counted = counts is not None
    if counts is None:
        if request.n_tokens is None:
            raise UsageError(
                "a request has neither a number of tokens nor a text that can be counted\n"
                "hint: name the tokenizer (tokenizer=..., -t), or give n_tokens"
            )
        size = None if request.text is None else len(request.text.encode("utf-8", "replace"))
        counts = RequestCounts(request.n_tokens, n_bytes=size)
    estimated, billed = request.n_estimated, request.n_tokens
    if estimated is None and billed is not None and is_counted:
        estimated = counts.n_tokens  # ours, beside the provider's
    return replace(counts, n_padding=request.n_padding, n_estimated=estimated, n_billed=billed)


def _window(window: WatchSums) -> dict[str, Any]:
    """Figures of a window, for a chart."""
    total = window.total()
    return {
        "n_requests": total.n_requests,
        "n_tokens": total.n_tokens,
        "n_bytes": total.n_bytes,
        "tokens_per_request": total.n_tokens / total.n_requests if total.n_requests else None,
        "tokens_per_byte": total.n_tokens / total.n_bytes if total.n_bytes else None,
    }
