"""Logs replayed on endpoints: the router against fixed choices, LiteLLM's rule, and an oracle.

Requests are read in order and forgotten: memory is that of some ten thousand requests, whatever the
log. Money is the ledger's; times and scores are the endpoints' own.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer, __version__
from jeton.corpus.requests import RequestInputs, RequestStream, open_requests
from jeton.corpus.requests.columns import STANDARD, Correction, RequestBatch, RequestColumns
from jeton.economics.ledger import LedgerBuilder
from jeton.errors import UsageError
from jeton.planning.routing.conversations import RateLimit
from jeton.planning.routing.players import (
    N_BLOCKS,
    CacheTruth,
    FailureReplay,
    LoggedOption,
    Play,
    RequestFacts,
)
from jeton.planning.routing.policy import RoutingPolicy
from jeton.planning.routing.requests import RoutingRequest
from jeton.planning.routing.results import RouteReplay
from jeton.planning.routing.router import Endpoints, Router
from jeton.planning.routing.served import (
    CountedRows,
    LogNames,
    ModelMatch,
    ServedRows,
    add_rows,
    builder_of,
    serve,
    with_read,
)
from jeton.planning.routing.summing import Oracle, replay_of
from jeton.progress import OnProgress

_PENDING_ROWS: Final = 20_000
"""Requests that are kept for later records to correct, before they are replayed."""


def route_logs(
    inputs: RequestInputs,
    endpoints: Endpoints,
    policy: RoutingPolicy | None = None,
    *,
    task_field: str = "",
    model_field: str = "",
    time_field: str = "",
    prompt_field: str = "",
    response_field: str = "",
    assume_output_tokens: int | None = None,
    on: date | None = None,
    num_threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> RouteReplay:
    """Replay logs on endpoints.

    Args:
        inputs: Logs as files, folders or records.
        endpoints: The endpoints, a file of them, or its path.
        policy: The policy; None: that of the file, else the default.
        task_field: Where a record names its task, by which quality tables go.
        model_field: Where the model's name is; empty: by the usual names.
        time_field: Where the time is; empty: by the usual names.
        prompt_field: Where the prompt is; empty: by the usual names.
        response_field: Where the answer is; empty: by the usual names.
        assume_output_tokens: Answer tokens of requests whose log states none and shows none; None:
            such requests are left out.
        on: Day whose prices hold for requests without a time; today (UTC) by default.
        num_threads: Threads that count; None: all there are.
        on_progress: Told how far reading has come.

    Raises:
        EmptyCorpusError: No request can be compared.
        UnknownPriceError: An endpoint has neither a price nor a GPU.
        CorpusError: A log cannot be read.
    """
    if assume_output_tokens is not None and not 0 <= assume_output_tokens <= 10**9:
        raise UsageError(
            f"assume_output_tokens is {assume_output_tokens}; expected a number of at least 0"
        )
    router = Router(endpoints, policy, on=on, clock=lambda: 0.0)
    stream = open_requests(
        inputs,
        domain_field=task_field,
        model_field=model_field,
        time_field=time_field,
        prompt_field=prompt_field,
        response_field=response_field,
        on_progress=on_progress,
    )
    replay = LogReplay(router, on=on, assume_output_tokens=assume_output_tokens)
    names = LogNames(stream.models, stream.providers, stream.tariffs, stream.domains)
    for batch, columns, is_request in _settled(stream, router.tokenizers, num_threads):
        replay.take(replace(batch.rows, columns=columns), is_request, names)
    return replay_of(replay, stream.issues.values(), version=__version__)


@dataclass(frozen=True, slots=True)
class _Pending:
    rows: CountedRows
    first_row: int


def _settled(
    stream: RequestStream, tokenizers: Sequence[Tokenizer], num_threads: int | None
) -> Iterator[tuple[_Pending, RequestColumns, NDArray[np.bool_]]]:
    """Yield batches once later records have had their chance to correct them."""
    waiting: deque[_Pending] = deque()
    changes: dict[int, Correction] = {}
    n_waiting = 0
    for batch in stream:
        waiting.append(_Pending(_counted(batch, tokenizers, num_threads), batch.first_row))
        n_waiting += len(batch)
        changes.update((one.row, one) for one in batch.corrections)
        while n_waiting > _PENDING_ROWS and len(waiting) > 1:
            n_waiting -= len(waiting[0].rows.columns)
            yield _corrected(waiting.popleft(), changes)
    while waiting:
        yield _corrected(waiting.popleft(), changes)


def _counted(
    batch: RequestBatch, tokenizers: Sequence[Tokenizer], num_threads: int | None
) -> CountedRows:
    """Count texts and answers, once by each different tokenizer."""

    def count(texts: TextBatch | None, missing: int) -> NDArray[np.int64]:
        if texts is None:
            return np.full((len(tokenizers), len(batch)), missing, dtype=np.int64)
        counts = [tok.count_batch(texts, num_threads=num_threads) for tok in tokenizers]
        return np.stack(counts).astype(np.int64)

    answers = count(batch.responses, -1)
    if batch.responses is not None:
        # An empty answer is no answer: a log writes it where there was none.
        is_empty = np.diff(batch.responses.offsets) == 0
        answers[:, is_empty] = -1
    return CountedRows(batch.columns, count(batch.texts, 0), answers)


def _corrected(
    batch: _Pending, changes: dict[int, Correction]
) -> tuple[_Pending, RequestColumns, NDArray[np.bool_]]:
    columns = batch.rows.columns
    n = len(columns)
    is_request = np.ones(n, dtype=np.bool_)
    order = np.arange(n)
    last: list[RequestColumns] = []
    for row in [row for row in changes if row < batch.first_row + n]:
        change = changes.pop(row)
        place = row - batch.first_row
        if place < 0:
            continue
        if change.columns is None:
            is_request[place] = False
        else:
            order[place] = n + len(last)
            last.append(change.columns)
    if last:
        columns = RequestColumns.concatenate([columns, *last]).take(order)
    return batch, columns, is_request


class LogReplay:
    """Takes batches of requests, and lets every player send them.

    Args:
        router: The router, as it is at the beginning of the log.
        on: Day whose prices hold for requests without a time.
        assume_output_tokens: Answer tokens of requests that state none.
    """

    def __init__(
        self, router: Router, *, on: date | None, assume_output_tokens: int | None
    ) -> None:
        self.router = router
        self.lanes = router.lanes
        self.left_out: Counter[str] = Counter()
        self.assumed: Counter[str] = Counter()
        self.n_requests = 0
        self.n_own = np.zeros(len(self.lanes), dtype=np.int64)
        n = len(self.lanes)
        self.routed = Play("router", n)
        self.by_rule = Play("litellm", n)
        self.always = [Play(f"always {lane.endpoint.name}", n) for lane in self.lanes]
        self.oracle = Oracle(n)
        self.bills: dict[str, list[LedgerBuilder]] = {
            play.name: [builder_of(lane, on) for lane in self.lanes]
            for play in (self.routed, self.by_rule)
        }
        self.always_bills = [builder_of(lane, on) for lane in self.lanes]
        self.as_logged = LedgerBuilder(on=on)
        self._pricers = [builder_of(lane, on) for lane in self.lanes]
        self._match = ModelMatch(self.lanes)
        self._assume = assume_output_tokens
        self._caches = {name: CacheTruth() for name in ("router", "litellm", "oracle")}
        # LiteLLM sorts deployments by the sum of both prices; equal ones stay in their order.
        self._by_sum = sorted(range(n), key=lambda place: self.lanes[place].price_sum)
        self._limits = [
            RateLimit(one.limits.requests_per_minute, one.limits.tokens_per_minute)
            for one in router.endpoints
        ]
        self._last: dict[str, dict[int, int]] = {"router": {}, "litellm": {}}
        self._now_s = -math.inf
        self._failures = FailureReplay([one.failures for one in router.endpoints])
        self._rule_rests_until = [-math.inf] * n

    # -- one batch ------------------------------------------------------------------------------

    def take(self, rows: CountedRows, is_request: NDArray[np.bool_], names: LogNames) -> None:
        """Take a batch of requests."""
        rows = self._comparable(rows, is_request)
        if not len(rows.columns):
            return
        own = self._match.places(rows.columns, names)
        assumed: Counter[str] = Counter()
        served, kept = serve(
            rows,
            self.lanes,
            self.router.tokenizer_of,
            own,
            names,
            self._pricers,
            assumed,
        )
        priced = np.zeros(len(own), dtype=np.bool_)
        for one in served:
            priced |= ~np.isnan(one.usd)
        no_tokens = int((~kept).sum())
        if no_tokens:
            self.left_out["neither the log nor a text tells their tokens"] += no_tokens
        if int((kept & ~priced).sum()):
            self.left_out["no endpoint has a price for them"] += int((kept & ~priced).sum())
        kept &= priced
        if not kept.any():
            return
        self.assumed.update(assumed)
        self.n_own += np.bincount(own[kept & (own >= 0)], minlength=len(self.lanes))
        served = [
            ServedRows(one.columns.take(kept), one.usd[kept], one.usd_cold[kept]) for one in served
        ]
        for lane, one in zip(self.lanes, served, strict=True):
            add_rows(self.always_bills[lane.place], lane, one.columns, names)
        columns = rows.columns.take(kept)
        self.as_logged.add(
            columns,
            models=names.models,
            providers=names.providers,
            tariffs=names.tariffs,
            domains=names.tasks,
        )
        self._play(served, columns, own[kept], names)

    def _comparable(self, rows: CountedRows, is_request: NDArray[np.bool_]) -> CountedRows:
        """Leave out what is no single request of a model."""
        columns = rows.columns
        several = is_request & (columns.n_requests != 1)
        free = is_request & columns.from_gateway_cache & ~several
        for reason, left in (
            ("rows that stand for several requests", several),
            ("answered by a gateway's cache, at no cost", free),
        ):
            if left.any():
                self.left_out[reason] += int(left.sum())
        kept = is_request & ~several & ~free
        unknown = kept & (columns.output_tokens < 0) & (rows.answers[0] < 0)
        if unknown.any():
            if self._assume is None:
                self.left_out["the log tells nothing of their output"] += int(unknown.sum())
                kept &= ~unknown
            else:
                self.assumed[f"output: {self._assume:,} tokens, as you said"] += int(unknown.sum())
                output = np.where(unknown, self._assume, columns.output_tokens)
                columns = replace(columns, output_tokens=output)
        return CountedRows(columns.take(kept), rows.prompts[:, kept], rows.answers[:, kept])

    # -- request by request ---------------------------------------------------------------------

    def _play(
        self,
        served: list[ServedRows],
        columns: RequestColumns,
        own: NDArray[np.int64],
        names: LogNames,
    ) -> None:
        n_places = len(self.lanes)
        n = len(columns)
        n_in = [one.columns.input_tokens.tolist() for one in served]
        n_out = [one.columns.output_tokens.tolist() for one in served]
        reads = [one.read.tolist() for one in served]
        writes = [np.maximum(one.columns.cache_write_tokens, 0).tolist() for one in served]
        warm = [one.usd.tolist() for one in served]
        cold = [one.usd_cold.tolist() for one in served]
        states_cache = (columns.cache_read_tokens >= 0).tolist()
        talks, times = columns.conversation.tolist(), columns.time_s.tolist()
        tasks = [names.tasks[i] if i >= 0 else "" for i in columns.domain.tolist()]
        sent: dict[str, tuple[list[int], list[int]]] = {
            "router": ([-1] * n, [0] * n),
            "litellm": ([-1] * n, [0] * n),
        }
        words = ["" if word == STANDARD else word for word in names.tariffs]
        tariffs = [words[i] for i in columns.tariff.tolist()]
        places = range(n_places)
        owns = own.tolist()
        for row in range(n):
            talk, task = talks[row], tasks[row]
            time_s = times[row]
            if time_s == time_s and time_s > self._now_s:
                self._now_s = time_s
            now_s = self._now_s if self._now_s > -math.inf else 0.0
            block = (talk or (self.n_requests + 1) * 2654435761) % N_BLOCKS
            self.n_requests += 1
            options = [
                LoggedOption(
                    self.lanes[p], self.router.policy, (n_in[p][row], n_out[p][row], reads[p][row]),
                    (warm[p][row], cold[p][row]), task,
                    writes[p][row] if states_cache[row] else None, is_own=owns[row] == p,
                )
                for p in places
            ]  # fmt: skip
            share = max((one.read / one.tokens for one in options if one.tokens), default=0.0)
            self._failures.draw(now_s)
            for p in places:
                one = options[p]
                if one.usd == one.usd:
                    one.delay = self._failures.wait(p, now_s)
                    self.always[p].n_failed += one.delay > 0
                    self.always[p].take(
                        p, block, one.usd, one.seconds(one.read), one.quality,
                        fits=one.fits, meets=one.meets(one.read),
                    )  # fmt: skip
            where = RequestFacts(talk, task, now_s, share, block, time_s == time_s, tariffs[row])
            self._route(row, options, where, sent["router"])
            self._rule(row, options, where, sent["litellm"])
            self._best(options, where)
        for name, (chosen, read) in sent.items():
            self._bill(name, served, np.array(chosen), np.array(read, dtype=np.int64), names)

    def _bill(
        self,
        name: str,
        served: list[ServedRows],
        chosen: NDArray[np.int64],
        read: NDArray[np.int64],
        names: LogNames,
    ) -> None:
        for lane, one in zip(self.lanes, served, strict=True):
            rows = np.flatnonzero(chosen == lane.place)
            if len(rows):
                own = with_read(one.columns.take(rows), read[rows])
                add_rows(self.bills[name][lane.place], lane, own, names)

    def _route(
        self,
        row: int,
        options: list[LoggedOption],
        where: RequestFacts,
        sent: tuple[list[int], list[int]],
    ) -> None:
        tokens = tuple(one.tokens for one in options)
        request = RoutingRequest(
            tokens,
            where.task,
            where.talk,
            None,
            where.now_s if where.is_timed else None,
            where.tariff,
        )
        choice = self.router.choose(request)
        play = self.routed
        delay = 0.0
        while choice.place >= 0 and self._failures.fails(choice.place):
            play.n_failed += 1
            delay += self._failures.timeout(choice.place)
            self.router.failed(choice)
            choice = self.router.choose(request)
        if choice.place < 0:
            play.n_refused += 1
            return
        one = options[choice.place]
        if one.usd != one.usd:
            # The list has no price for what this request holds; the router cannot know that.
            play.n_refused += 1
            return
        play.n_fallbacks += choice.is_fallback
        one.delay = delay
        read = self._send("router", play, one, where)
        sent[0][row], sent[1][row] = choice.place, read
        is_told = one.written is not None
        self.router.finished(
            choice,
            one.output,
            cached_tokens=read if is_told else None,
            written_tokens=(one.written or 0) + one.read - read if is_told else None,
        )

    def _rule(
        self,
        row: int,
        options: list[LoggedOption],
        where: RequestFacts,
        sent: tuple[list[int], list[int]],
    ) -> None:
        """Send a request by the sum of both prices, among those that meet the policy."""
        now_s = where.now_s
        taking = [
            options[p]
            for p in self._by_sum
            if options[p].fits
            and options[p].usd == options[p].usd
            and self._limits[p].has_room(options[p].tokens, now_s)
            and now_s >= self._rule_rests_until[p]
        ]
        for option in taking:
            option.delay = 0.0
        meeting = [one for one in taking if one.meets(0)]
        self.by_rule.n_fallbacks += not meeting
        allowed = meeting or self._fallbacks(taking)
        delay = 0.0
        for one in (*allowed, *(other for other in taking if other not in allowed)):
            if self._failures.answers(one.place):
                break
            self.by_rule.n_failed += 1
            delay += self._failures.timeout(one.place)
            self._rule_rests_until[one.place] = now_s + self._failures.cooldown(one.place)
        else:
            self.by_rule.n_refused += 1
            return
        one.delay = delay
        self._limits[one.place].take(one.tokens + one.output, now_s)
        sent[0][row] = one.place
        sent[1][row] = self._send("litellm", self.by_rule, one, where)

    def _send(self, name: str, play: Play, one: LoggedOption, where: RequestFacts) -> int:
        """Let a player send a request; return the tokens that are read from a cache."""
        talk, now_s, share, block = where.talk, where.now_s, where.share, where.block
        caches = self._caches[name]
        read = caches.read(talk, one.place, one.read, one.tokens, (now_s, one.ttl_seconds))
        caches.sent(talk, one.place, one.tokens, share, now_s)
        if talk:
            last = self._last[name]
            before = last.pop(talk, one.place)
            play.n_moves += before != one.place
            last[talk] = one.place
            if len(last) > 50_000:
                del last[next(iter(last))]
        play.take(
            one.place, block, one.usd_at(read), one.seconds(read), one.quality,
            fits=one.fits, meets=one.meets(read),
        )  # fmt: skip
        return read

    def _best(self, options: list[LoggedOption], where: RequestFacts) -> None:
        """Let the oracle send a request: it knows the answer's length and every cache."""
        talk, now_s, share, block = where.talk, where.now_s, where.share, where.block
        caches = self._caches["oracle"]
        reads = [
            caches.read(talk, one.place, one.read, one.tokens, (now_s, one.ttl_seconds))
            for one in options
        ]
        for option in options:
            option.delay = 0.0
        answers = self._failures.answers
        taking = [one for one in options if one.usd == one.usd and one.fits and answers(one.place)]
        meeting = [one for one in taking if one.meets(reads[one.place])]
        allowed = meeting or self._fallbacks(taking)
        if not allowed:
            self.oracle.n_refused += 1
            return
        one = min(allowed, key=lambda one: one.usd_at(reads[one.place]))
        read = reads[one.place]
        misses = not meeting
        caches.sent(talk, one.place, one.tokens, share, now_s)
        self.oracle.take(
            talk,
            block,
            (one.place, one.usd_at(read), one.seconds(read), one.quality),
            [
                (other.usd, other.seconds(other.read), other.quality)
                if other.usd == other.usd
                and other.fits
                and answers(other.place)
                and (other.meets(other.read) or (misses and other in allowed))
                else None
                for other in options
            ],
            misses=misses,
        )

    def _fallbacks(self, taking: list[LoggedOption]) -> list[LoggedOption]:
        """Return what may be taken where nothing meets the policy: one fallback, or everything."""
        names = self.router.policy.fallbacks
        if not names:
            return taking
        by_name = {self.lanes[one.place].endpoint.name: one for one in taking}
        return [by_name[name] for name in names if name in by_name][:1]
