"""Fleets: how many servers of which GPU answer a trace in time, peaks included, and the bill."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from jeton._core import __version__
from jeton._shown import NotebookResult
from jeton.economics.admission import Policy
from jeton.economics.money import SECONDS_PER_HOUR
from jeton.economics.serving.memory_budget import DoesNotFitError
from jeton.economics.traffic.simulate import Server, replay
from jeton.errors import UsageError
from jeton.planning.serving.replays import LatencyObjective, check_traffic, timely
from jeton.planning.serving.servers import SPREADS, Spread, dealt_out, engine_defaults, server_of
from jeton.progress import OnProgress, Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace
    from jeton.economics.serving.memory_plan import MemoryPlan
    from jeton.economics.traffic.settings import EngineSettings

HOURS_PER_MONTH = Decimal(730)
"""Hours of a month, a twelfth of 8,760."""

_CENT = Decimal("0.01")
_MAX_SERVERS = 65_536
_ALONE = 1e-6
"""Density of traffic at which every request finds an idle server."""

_MIN_WINDOW_REQUESTS = 20
"""A window with fewer has as many servers as the one before it."""

_MAX_WINDOWS = 10_000
_MISSED = 0.01
"""Share of the requests that may miss a limit: 99 of 100 keep it."""


@dataclass(frozen=True, slots=True)
class FleetOption:
    """A fleet of one GPU.

    Attributes:
        gpu: The GPU.
        n_gpus: GPUs of a server.
        servers: Fewest servers with which 99 of 100 requests keep each limit; None: no number does,
            or the model does not fit.
        total_gpus: GPUs of the fleet.
        ttft_p99_seconds: Time to the first token of 99 in 100 requests.
        tpot_p99_seconds: Time between tokens of 99 in 100 answers.
        ttft_p99_with_one_less_seconds: Time to the first token with one server less; None: there is
            none less.
        tpot_p99_with_one_less_seconds: Time between tokens with one server less.
        busy_share: Share of the servers' time at work.
        peak_servers: Fewest servers that keep the limits in each window alone, the most of them.
        n_refused: Requests that fit neither context nor memory.
        usd_per_hour: Price of one GPU and hour.
        usd_per_hour_fleet: Price of the fleet and hour.
        usd_per_month: Price of 730 hours of it.
        usd_per_mtok: That price over the tokens of the traffic, a million of them.
        usd_per_month_scaled: Price of 730 hours if every window had its own number of servers,
            each paid from its start on; None where no window was sized alone.
        cached_share: Share of the prompt tokens that the servers' caches of prefixes held.
        reason: Reason why there is no number; empty otherwise.
    """

    gpu: str
    n_gpus: int
    servers: int | None
    total_gpus: int | None
    ttft_p99_seconds: float | None
    tpot_p99_seconds: float | None
    ttft_p99_with_one_less_seconds: float | None
    tpot_p99_with_one_less_seconds: float | None
    busy_share: float | None
    peak_servers: int | None
    n_refused: int
    usd_per_hour: Decimal
    usd_per_hour_fleet: Decimal | None
    usd_per_month: Decimal | None
    usd_per_mtok: Decimal | None
    usd_per_month_scaled: Decimal | None
    cached_share: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class FleetToday:
    """The fleet that is rented now.

    Attributes:
        gpu: The GPU.
        total_gpus: GPUs of all servers.
        usd_per_month: Price of 730 hours, at the price that the plan has for this GPU.
    """

    gpu: str
    total_gpus: int
    usd_per_month: Decimal


@dataclass(frozen=True, slots=True)
class FleetPlan(NotebookResult):
    """Fleets that answer a trace in time.

    Attributes:
        trace: Path of the trace.
        model: The model.
        objective: Limits.
        n_requests: Requests that were replayed.
        duration_seconds: From the first to the last.
        requests_per_second: Mean rate.
        peak_requests_per_second: Rate of the busiest window.
        window_seconds: Length of the windows, which are equally long.
        options: Fleets, the cheapest first; those without a number last.
        startup_seconds: Time from the start of a server to its first answer.
        spread: ``turns`` or ``prefix``.
        best: GPU of the cheapest; None: no fleet keeps the limits.
        today: The fleet that is rented now; None: it was not told.
    """

    _page = "jeton.report.plans.fleet:fleet_html"
    _table = "options"
    _line = ("model", "best", "options")

    trace: str
    model: str
    objective: LatencyObjective
    n_requests: int
    duration_seconds: float
    requests_per_second: float
    peak_requests_per_second: float
    window_seconds: float
    startup_seconds: float
    spread: Spread
    options: tuple[FleetOption, ...]
    best: str | None
    today: FleetToday | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; money as numbers."""
        data = asdict(self)
        for option in (*data["options"], data["today"] or {}):
            for name, value in option.items():
                if isinstance(value, Decimal):
                    option[name] = float(value)
        return {
            "schema_version": "jeton.plan_fleet/1",
            "jeton_version": __version__,
            **data,
        }


@dataclass(frozen=True, slots=True)
class _Served:
    """A replay of all servers of a fleet."""

    ttft_p99: float
    tpot_p99: float
    busy_share: float
    cached_share: float
    n_refused: int

    def keeps(self, objective: LatencyObjective) -> bool:
        """True if both quantiles keep their limits."""
        return self.ttft_p99 <= objective.ttft_seconds and self.tpot_p99 <= objective.tpot_seconds


def plan_fleet(
    trace: Trace,
    *,
    model: str,
    gpus: Sequence[str],
    objective: LatencyObjective | None = None,
    policy: Policy | None = None,
    window_seconds: float = 600.0,
    plan: MemoryPlan | None = None,
    usd_per_hour: Decimal | None = None,
    step_overhead_seconds: float = 0.0,
    startup_seconds: float = 0.0,
    spread: Spread = "turns",
    prefix_cache: bool = False,
    today: tuple[int, str] | None = None,
    on_progress: OnProgress | None = None,
) -> FleetPlan:
    """Find for each GPU the fewest servers that answer a trace in time, and their bill.

    All servers of a fleet are replayed, each with the requests that a balancer deals out to it:
    every n-th, or those whose prefix it has read (`jeton.planning.serving.servers`). A number is
    enough if the 99% quantiles over all requests keep the limits.

    Args:
        trace: Arrivals and lengths, peaks included.
        model: The model.
        gpus: GPUs to choose from.
        objective: Limits of the latency.
        policy: Policy of admission; by default pages as tokens come, as vLLM has it.
        window_seconds: Length of the windows that are sized alone.
        plan: How the model is held on the GPUs.
        usd_per_hour: Price of one GPU and hour, for a single GPU; None: the catalog's.
        step_overhead_seconds: Time of each step beside the roofline.
        startup_seconds: Time from the start of a server to its first answer. A fleet that changes
            with the windows starts servers ahead by this time, and pays for it.
        spread: ``turns``, or ``prefix`` with a cache of prefixes on each server.
        prefix_cache: True if prompts that begin alike share memory on a server.
        today: GPUs that are rented now, and their name.
        on_progress: Told about each replay.

    Returns:
        Fleets, the cheapest first.

    Raises:
        UsageError: The trace is too short, or a number is out of range.
        UnknownModelError: The catalog has no such model.
        UnknownGpuError: The catalog has no such GPU.

    Example:
        >>> from jeton.corpus.traces import Trace
        >>> from jeton.planning import plan_fleet
        >>> trace = Trace.of([i / 20 for i in range(400)], [900] * 400, [60] * 400)
        >>> found = plan_fleet(trace, model="llama-3-8b", gpus=["a10g", "h100-sxm"])
        >>> found.options[0].servers is not None
        True
    """
    check_traffic(trace)
    objective = objective or LatencyObjective()
    policy = policy or Policy("dynamic")
    names = list(dict.fromkeys(gpus))
    if not names:
        raise UsageError("no GPU is given; expected at least one")
    if usd_per_hour is not None and len(names) > 1:
        raise UsageError(
            f"one price is given for {len(names)} GPUs; expected one GPU with it\n"
            "hint: leave usd_per_hour out: the catalog has a price of each"
        )
    if not 0 < window_seconds < 1e9:
        raise UsageError(f"window_seconds is {window_seconds}; expected seconds above 0")
    if not 0 <= startup_seconds < 1e6:
        raise UsageError(f"startup_seconds is {startup_seconds}; expected seconds of at least 0")
    if spread not in SPREADS:
        raise UsageError(f"spread is {spread!r}; expected {' or '.join(SPREADS)}")
    if today is not None and not 1 <= today[0] <= _MAX_SERVERS:
        raise UsageError(f"today's fleet has {today[0]} GPUs; expected from 1 to {_MAX_SERVERS:,}")
    shares = prefix_cache or spread == "prefix"
    windows, width = _windows(trace, window_seconds)
    options = []
    for name in names:
        server = _held(model, name, plan, usd_per_hour)
        if isinstance(server, FleetOption):
            options.append(server)
            continue
        search = _Search(
            server,
            policy,
            engine_defaults(
                server, prefix_cache=shares, step_overhead_seconds=step_overhead_seconds
            ),
            objective,
            spread,
            on_progress,
        )
        options.append(_option(search, trace, windows, lead=startup_seconds / width))
    options.sort(key=lambda one: (one.usd_per_month is None, one.usd_per_month or 0, one.gpu))
    return FleetPlan(
        trace=trace.path,
        model=model,
        objective=objective,
        n_requests=len(trace),
        duration_seconds=trace.duration_seconds,
        requests_per_second=trace.requests_per_second,
        peak_requests_per_second=max(map(len, windows)) / width,
        window_seconds=width,
        startup_seconds=startup_seconds,
        spread=spread,
        options=tuple(options),
        best=options[0].gpu if options[0].servers is not None else None,
        today=None if today is None else _today(today, options),
    )


def _today(today: tuple[int, str], options: Sequence[FleetOption]) -> FleetToday:
    """The rented fleet at the price of this plan, else at the catalog's."""
    from jeton.catalog import gpu as find_gpu

    n, name = today
    facts = find_gpu(name)
    found = next((one.usd_per_hour for one in options if one.gpu == facts.name), None)
    usd = facts.price_low.usd_per_hour if found is None else found
    return FleetToday(facts.name, n, (usd * n * HOURS_PER_MONTH).quantize(_CENT))


def _held(
    model: str, gpu: str, plan: MemoryPlan | None, usd_per_hour: Decimal | None
) -> Server | FleetOption:
    """The server, or why there is none."""
    from jeton.catalog import gpu as find_gpu

    facts = find_gpu(gpu)
    try:
        return server_of(model, gpu, plan=plan, usd_per_hour=usd_per_hour)
    except DoesNotFitError as error:
        return _nothing(
            facts.name,
            plan.n_gpus or 1 if plan is not None else 1,
            usd_per_hour or facts.price_low.usd_per_hour,
            str(error).partition("\n")[0],
        )


def _nothing(
    gpu: str, n_gpus: int, usd: Decimal, reason: str, *, n_refused: int = 0
) -> FleetOption:
    return FleetOption(
        gpu=gpu,
        n_gpus=n_gpus,
        servers=None,
        total_gpus=None,
        ttft_p99_seconds=None,
        tpot_p99_seconds=None,
        ttft_p99_with_one_less_seconds=None,
        tpot_p99_with_one_less_seconds=None,
        busy_share=None,
        peak_servers=None,
        n_refused=n_refused,
        usd_per_hour=usd,
        usd_per_hour_fleet=None,
        usd_per_month=None,
        usd_per_mtok=None,
        usd_per_month_scaled=None,
        cached_share=None,
        reason=reason,
    )


class _Search:
    """Looks for the fewest servers of one kind."""

    def __init__(
        self,
        server: Server,
        policy: Policy,
        settings: EngineSettings,
        objective: LatencyObjective,
        spread: Spread,
        on_progress: OnProgress | None,
    ) -> None:
        self.server, self._policy, self._settings = server, policy, settings
        self.objective, self._spread, self._tell = objective, spread, on_progress
        self._n_replays = 0

    def served(self, trace: Trace, n: int) -> _Served:
        """Replay a fleet of ``n`` servers."""
        import numpy as np

        if self._tell is not None:
            self._n_replays += 1
            name = self.server.gpu.name
            self._tell(Progress("replay", self._n_replays, None, "steps", detail=name))
        ttft: list[NDArray[np.float64]] = []
        tpot: list[NDArray[np.float64]] = []
        busy = 0.0
        n_refused = n_cached = n_read = 0
        end = trace.duration_seconds
        for index in dealt_out(trace, n, self._spread):
            if not len(index):
                continue
            part = trace
            if n > 1:
                part = trace.rows(index)
            outcome = replay(
                part, self.server, policy=self._policy, settings=self._settings
            ).outcome
            found = timely(part, outcome, self.objective)
            ttft.append(found.ttft_seconds)
            tpot.append(found.tpot_seconds)
            busy += outcome.prompt_seconds + outcome.decode_seconds
            n_refused += len(part) - len(found.ttft_seconds)
            n_cached += outcome.cached_tokens
            n_read += outcome.prompt_tokens_read
            end = max(end, outcome.end_seconds)
        return _Served(
            _p99(np.concatenate(ttft)),
            _p99(np.concatenate(tpot)),
            min(1.0, busy / (n * end)) if end else 0.0,
            n_cached / (n_cached + n_read) if n_cached + n_read else 0.0,
            n_refused,
        )

    def alone(self, trace: Trace) -> _Served:
        """Replay as if every request found an idle server."""
        return self.served(trace.part(rate_factor=_ALONE), 1)

    def fewest(self, trace: Trace, *, start: int = 1) -> tuple[int, _Served, _Served | None] | None:
        """The fewest servers that are enough, their replay, and that of one less; None: none are.

        Doubling finds a number that is enough, halving the fewest.
        """
        found: dict[int, _Served] = {}

        def is_enough(n: int) -> bool:
            if n not in found:
                found[n] = self.served(trace, n)
            return found[n].keeps(self.objective)

        most = min(_MAX_SERVERS, len(trace))
        high = min(max(1, start), most)
        low = 0
        while not is_enough(high):
            if high >= most:
                return None
            low, high = high, min(high * 2, most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return high, found[high], found.get(high - 1)


def _option(search: _Search, trace: Trace, windows: Sequence[Trace], *, lead: float) -> FleetOption:
    server = search.server
    price = server.hourly / server.group
    alone = search.alone(trace)
    reason = _hopeless(alone, len(trace), search.objective)
    if reason:
        return _nothing(server.gpu.name, server.group, price, reason, n_refused=alone.n_refused)
    found = search.fewest(trace)
    if found is None:
        return _nothing(
            server.gpu.name,
            server.group,
            price,
            "requests that come at one moment are too many, one server each",
            n_refused=alone.n_refused,
        )
    n, served, less = found
    hourly = server.hourly * n
    tokens = int((trace.prompt_tokens + trace.output_tokens).sum())
    usd = hourly / SECONDS_PER_HOUR * Decimal(repr(trace.duration_seconds))
    sized = _sized(search, windows)
    return FleetOption(
        gpu=server.gpu.name,
        n_gpus=server.group,
        servers=n,
        total_gpus=n * server.group,
        ttft_p99_seconds=served.ttft_p99,
        tpot_p99_seconds=served.tpot_p99,
        ttft_p99_with_one_less_seconds=None if less is None else less.ttft_p99,
        tpot_p99_with_one_less_seconds=None if less is None else less.tpot_p99,
        busy_share=served.busy_share,
        peak_servers=None if sized is None else max(sized),
        n_refused=served.n_refused,
        usd_per_hour=price,
        usd_per_hour_fleet=hourly.quantize(_CENT),
        usd_per_month=(hourly * HOURS_PER_MONTH).quantize(_CENT),
        usd_per_mtok=(usd * 1_000_000 / tokens).quantize(Decimal("1e-6")) if tokens else None,
        usd_per_month_scaled=None
        if sized is None
        else (server.hourly * Decimal(repr(started_ahead(sized, lead))) * HOURS_PER_MONTH).quantize(
            _CENT
        ),
        cached_share=served.cached_share,
        reason="",
    )


def _hopeless(alone: _Served, n_requests: int, objective: LatencyObjective) -> str:
    """Reason why no number of servers is enough; empty: some may be."""
    if alone.n_refused > _MISSED * n_requests:
        return (
            f"{alone.n_refused:,} of {n_requests:,} requests fit neither the context nor the "
            "memory of a server"
        )
    if alone.keeps(objective):
        return ""
    return (
        f"an idle server takes {alone.ttft_p99:.3g} s to the first token and "
        f"{alone.tpot_p99 * 1e3:.3g} ms between tokens at p99; the limits are "
        f"{objective.ttft_seconds:g} s and {objective.tpot_seconds * 1e3:g} ms"
    )


def _sized(search: _Search, windows: Sequence[Trace]) -> list[int] | None:
    """The fewest servers of each window alone; None: some window has no number."""
    sizes = []
    start = 1
    for window in windows:
        if len(window) >= _MIN_WINDOW_REQUESTS:
            found = search.fewest(window, start=start)
            if found is None:
                return None
            start = found[0]
        sizes.append(start)
    return sizes


def started_ahead(sizes: Sequence[int], lead: float) -> float:
    """Return the mean number of servers that are paid, each started ``lead`` windows ahead.

    Formula: the mean over t of the most servers that any moment from t to t + lead needs.

    Source: definition; a server that is still loading is paid like one that answers.

    Example:
        >>> started_ahead([1, 3, 1, 1], 0.5)
        1.75
    """
    n = len(sizes)
    # The most changes only at the ends of windows, and ahead of them.
    edges = sorted({0.0, float(n), *map(float, range(n)), *(max(0.0, k - lead) for k in range(n))})
    total = 0.0
    for start, end in itertools.pairwise(edges):
        middle = (start + end) / 2
        total += (end - start) * max(sizes[int(middle) : int(min(middle + lead, n - 1e-9)) + 1])
    return total / n


def _windows(trace: Trace, width: float) -> tuple[list[Trace], float]:
    """Equally long stretches of a trace, at most ``width`` seconds each, and their length."""
    import numpy as np

    n = max(1, math.ceil(trace.duration_seconds / width - 1e-9))
    if n > _MAX_WINDOWS:
        raise UsageError(
            f"window_seconds is {width:g}, which makes {n:,} windows of the trace; expected at "
            f"most {_MAX_WINDOWS:,}\nhint: longer windows (--window), or a part of the trace "
            "(--seconds)"
        )
    length = trace.duration_seconds / n
    edges = np.searchsorted(trace.arrival_seconds, np.arange(1, n) * length)
    pieces = np.split(np.arange(len(trace)), edges)
    found = [trace.rows(piece) for piece in pieces if len(piece)]
    return found, length


def _p99(values: NDArray[np.float64]) -> float:
    """The 99% quantile by nearest rank; 0 without values, which keep every limit."""
    import numpy as np

    return float(np.quantile(values, 0.99, method="inverted_cdf")) if len(values) else 0.0
