"""Two tokenizers on the same logged traffic, request by request, and a verdict for each stage.

A request belongs to a stage by the hash of its text, so a larger stage holds every request of a
smaller one, and the same text is always on the same side. Differences are paired: the spread of
lengths does not blur them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer, sha256, text_digests
from jeton._shown import NotebookResult
from jeton.adapt.logged_requests import LoggedMoney, check_amounts, read_logged_requests
from jeton.catalog.api_price import ApiPrice
from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.catalog.model_map import ModelMap
from jeton.corpus import open_documents
from jeton.economics.ledger import Ledger
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.latency import decode_seconds, prefill_seconds
from jeton.economics.serving.own_gpu import own_gpu_cost
from jeton.errors import EmptyCorpusError, UsageError
from jeton.registry import TokenizerLike, resolve

_NORMAL_95 = 1.959964
_SHARE_BITS = 53
_OTHER = "(none)"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared.

    Attributes:
        tokenizer: Its tokenizer, or the name or path of it; loaded at once.
        price: Price of an API that counts with it; None: not priced so.
        model: The model that has it; None: neither latency nor context is known.
        gpu: The GPU of the model.
    """

    tokenizer: TokenizerLike
    price: ApiPrice | None = None
    model: ModelFacts | None = None
    gpu: GpuFacts | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokenizer", resolve(self.tokenizer))

    @property
    def loaded(self) -> Tokenizer:
        """The tokenizer as an object."""
        return resolve(self.tokenizer)


@dataclass(frozen=True, slots=True)
class AbortRules:
    """Limits beyond which a stage is aborted.

    Attributes:
        max_more_tokens: Share of tokens that the mean may rise by.
        max_more_tokens_by_domain: Limit of each domain.
        max_more_usd: Share of money that the mean may rise by.
        max_overflow_share: Share of requests that fit before and do not fit then.
        min_requests: Fewer requests of a stage, or of a domain, give no verdict.
    """

    max_more_tokens: float = 0.0
    max_more_tokens_by_domain: float = 0.05
    max_more_usd: float = 0.0
    max_overflow_share: float = 0.0
    min_requests: int = 30

    def __post_init__(self) -> None:
        """Refuses limits that nothing is beyond.

        Raises:
            UsageError: A limit is negative, endless or no number.
        """
        check_amounts(**{field.name: getattr(self, field.name) for field in fields(self)})


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """B less A, paired, as a mean for a request with its interval of 95%.

    Attributes:
        mean_a: Mean of A.
        mean_b: Mean of B.
        difference: Mean difference.
        low: Lower end of its interval.
        high: Upper end.
    """

    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float

    @property
    def share(self) -> float:
        """The difference as a share of A; 0 where A is 0."""
        return self.difference / self.mean_a if self.mean_a else 0.0

    @property
    def low_share(self) -> float:
        """The lower end as a share of A."""
        return self.low / self.mean_a if self.mean_a else 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage, or one domain of it.

    Attributes:
        percent: Share of the traffic, in percent.
        domain: The domain; empty for all of them.
        n_requests: Requests of it.
        tokens: Tokens of a request.
        usd: Dollars of a request; None where a side has no price.
        seconds: Seconds of a request alone on its GPU; None where a side has no model.
        n_overflow: Requests that fit the context of A and not that of B.
        n_priced: Requests that ``usd`` is of: both sides have a price for them.
        verdict: ``go``, ``abort`` or ``too few``.
        reasons: Rules that were broken, in words.
    """

    percent: float
    domain: str
    n_requests: int
    tokens: PairedDifference
    usd: PairedDifference | None
    seconds: PairedDifference | None
    n_overflow: int
    n_priced: int
    verdict: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shadow(NotebookResult):
    """All stages of a comparison.

    Attributes:
        n_requests: Requests that were compared.
        stages: The stages in order, each followed by its domains.
        is_aborted: True if a stage is aborted; later stages are not looked at.
        n_without_text: Requests of a log that show no text, which are left out.
        ledger_a: Ledger of the requests on side A; None: not a log, or priced by the GPU.
        ledger_b: Ledger of them on side B.
    """

    _table = "stages"
    _line = ("n_requests", "stages", "is_aborted")

    n_requests: int
    stages: tuple[Stage, ...]
    is_aborted: bool
    n_without_text: int = 0
    ledger_a: Ledger | None = None
    ledger_b: Ledger | None = None


def shadow(
    inputs: Any,
    a: Side,
    b: Side,
    *,
    stages: Sequence[float] = (1, 10, 50, 100),
    output_tokens: float | None = None,
    rules: AbortRules | None = None,
    field: str = "text",
    domain_field: str = "",
    salt: str = "",
    logs: bool = False,
    model_map: ModelMap | None = None,
    num_threads: int | None = None,
) -> Shadow:
    """Compare two sides on logged traffic.

    The ledger prices each request of a log on both sides: as it was used on side A, and with the
    difference of both counts on side B. A side without a price of its own takes the
    request's model, provider, tariff and time.

    Args:
        inputs: Paths, folders, globs or texts; a document is a request.
        a: The side of today.
        b: The side that may follow.
        stages: Shares of the traffic in percent, ascending.
        output_tokens: Tokens generated after each request, in tokens of A; None: the mean that a
            log states, else none.
        rules: When to abort; None: the defaults.
        field: JSONL and Parquet: where the text is.
        domain_field: JSONL and Parquet: where the domain's name is; empty: no domains.
        salt: Another salt draws other requests into the stages.
        logs: True if the inputs are request logs, with models and usage.
        model_map: Names of one's own for the models of logs.
        num_threads: Threads; None: all there are.

    Raises:
        EmptyCorpusError: There is no text.
        UsageError: Stages that do not ascend, or numbers out of range.
    """
    check_stages(stages)
    _check(output_tokens)
    rules = rules or AbortRules()
    seed = stage_seed(salt)
    log = (
        _logged(inputs, a, b, output_tokens, domain_field, model_map, seed, num_threads)
        if logs
        else _read(inputs, a, b, output_tokens or 0.0, field, domain_field, seed, num_threads)
    )
    found: list[Stage] = []
    is_aborted = False
    for percent in stages:
        chosen = log.place < percent / 100
        found.append(_stage(log, a, b, rules, percent, "", chosen))
        for number, name in [(-1, _OTHER), *enumerate(log.names)] if log.names else []:
            within = chosen & (log.domain == number)
            if within.any():
                found.append(_stage(log, a, b, rules, percent, name, within))
        if any(stage.verdict == "abort" for stage in found):
            is_aborted = True
            break
    return Shadow(
        n_requests=len(log.a),
        stages=tuple(found),
        is_aborted=is_aborted,
        n_without_text=log.n_without_text,
        ledger_a=log.money_a.ledger if log.money_a else None,
        ledger_b=log.money_b.ledger if log.money_b else None,
    )


def _read(
    inputs: Any,
    a: Side,
    b: Side,
    output_tokens: float,
    field: str,
    domain_field: str,
    seed: int,
    num_threads: int | None,
) -> _Log:
    stream = open_documents(inputs, field=field, domain_field=domain_field)
    counts: dict[str, list[NDArray[Any]]] = {"a": [], "b": [], "place": [], "domain": []}
    for _, batch in stream:
        high, low = text_digests(batch, num_threads=num_threads)
        counts["place"].append(request_places(high ^ low, seed))
        domains = stream.batch_domains
        counts["domain"].append(
            np.full(len(batch), -1, dtype=np.int32) if domains is None else domains
        )
        counts["a"].append(a.loaded.count_batch(batch, num_threads=num_threads))
        counts["b"].append(b.loaded.count_batch(batch, num_threads=num_threads))
    if not sum(map(len, counts["a"])):
        raise EmptyCorpusError("the log has no requests\nhint: is the text under another --field?")
    return _Log(
        a=np.concatenate(counts["a"]),
        b=np.concatenate(counts["b"]),
        place=np.concatenate(counts["place"]),
        domain=np.concatenate(counts["domain"]),
        names=tuple(stream.domains) if domain_field else (),
        output_tokens=output_tokens,
    )


def _logged(
    inputs: Any,
    a: Side,
    b: Side,
    output_tokens: float | None,
    domain_field: str,
    model_map: ModelMap | None,
    seed: int,
    num_threads: int | None,
) -> _Log:
    found = read_logged_requests(
        inputs, a.loaded, b.loaded, domain_field=domain_field, num_threads=num_threads
    )
    money = (
        None
        if side.price is None and side.gpu is not None
        else found.money(columns, side.price, model_map=model_map)
        for side, columns in ((a, found.columns_before()), (b, found.columns_after()))
    )
    money_a, money_b = money
    return _Log(
        a=found.before,
        b=found.after,
        place=request_places(found.digests, seed),
        domain=found.columns.domain,
        names=found.domains if domain_field else (),
        output_tokens=found.mean_output_tokens if output_tokens is None else output_tokens,
        money_a=money_a,
        money_b=money_b,
        n_without_text=found.n_without_text,
    )


@dataclass(frozen=True, slots=True)
class _Log:
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    place: NDArray[np.float64]
    domain: NDArray[np.int32]
    names: tuple[str, ...]
    output_tokens: float
    money_a: LoggedMoney | None = None
    money_b: LoggedMoney | None = None
    n_without_text: int = 0

    @property
    def ratio(self) -> float:
        """Tokens of B for one of A."""
        return float(self.b.sum() / max(1, self.a.sum()))


def check_stages(stages: Sequence[float]) -> None:
    """Refuse stages that do not ascend within 0 to 100 percent.

    Raises:
        UsageError: They do not.
    """
    if not stages or list(stages) != sorted(set(stages)) or not 0 < min(stages) <= 100:
        raise UsageError(
            f"stages are {list(stages)}; expected percents that ascend\nhint: as 1,10,50,100"
        )
    if max(stages) > 100:
        raise UsageError(
            f"a stage is {max(stages):g}% of the traffic; expected at most 100\n"
            "hint: as 1,10,50,100"
        )


def stage_seed(salt: str) -> int:
    """Return the seed by which a salt draws requests into stages."""
    return int(sha256(salt.encode())[:16], 16)


def _check(output_tokens: float | None) -> None:
    if output_tokens is not None and not 0 <= output_tokens < 1e9:
        raise UsageError(
            f"output_tokens is {output_tokens}; expected at least 0\n"
            "hint: 0 for requests without answers"
        )


def request_places(digests: NDArray[np.uint64], seed: int) -> NDArray[np.float64]:
    """Returns where each request stands between 0 and 1, by its text and the salt (SplitMix64)."""
    with np.errstate(over="ignore"):
        drawn = digests + np.uint64(seed)
        drawn = (drawn ^ drawn >> np.uint64(30)) * np.uint64(0xBF58_476D_1CE4_E5B9)
        drawn = (drawn ^ drawn >> np.uint64(27)) * np.uint64(0x94D0_49BB_1331_11EB)
        drawn ^= drawn >> np.uint64(31)
    return (drawn >> np.uint64(64 - _SHARE_BITS)).astype(np.float64) / 2.0**_SHARE_BITS


def _stage(
    log: _Log,
    a: Side,
    b: Side,
    rules: AbortRules,
    percent: float,
    domain: str,
    chosen: NDArray[np.bool_],
) -> Stage:
    tokens_a, tokens_b = log.a[chosen], log.b[chosen]
    output_b = log.output_tokens * log.ratio
    tokens = paired_difference(tokens_a.astype(np.float64), tokens_b.astype(np.float64))
    usd_a = _dollars(a, log.money_a, chosen, tokens_a, log.output_tokens)
    usd_b = _dollars(b, log.money_b, chosen, tokens_b, output_b)
    usd, n_priced = None, 0
    if usd_a is not None and usd_b is not None:
        priced = ~(np.isnan(usd_a) | np.isnan(usd_b))
        n_priced = int(priced.sum())
        usd = paired_difference(usd_a[priced], usd_b[priced]) if n_priced else None
    seconds = _each(tokens_a, tokens_b, _seconds(a, log.output_tokens), _seconds(b, output_b))
    n_overflow = 0
    if a.model is not None and b.model is not None:
        fits_a = tokens_a + log.output_tokens <= a.model.context_tokens
        fits_b = tokens_b + output_b <= b.model.context_tokens
        n_overflow = int((fits_a & ~fits_b).sum())
    return judge_stage(
        rules,
        percent=percent,
        domain=domain,
        tokens=tokens,
        usd=usd,
        seconds=seconds,
        n_requests=len(tokens_a),
        n_overflow=n_overflow,
        n_priced=n_priced,
    )


def judge_stage(
    rules: AbortRules,
    *,
    percent: float,
    tokens: PairedDifference,
    n_requests: int,
    usd: PairedDifference | None = None,
    seconds: PairedDifference | None = None,
    n_overflow: int = 0,
    n_priced: int = 0,
    domain: str = "",
) -> Stage:
    """Return a stage with its verdict; arguments are the fields of `Stage`."""
    limit = rules.max_more_tokens_by_domain if domain else rules.max_more_tokens
    reasons = []
    if n_requests >= rules.min_requests:
        if tokens.low_share > limit:
            reasons.append(f"tokens rise by {tokens.share:+.2%}, beyond {limit:.2%}")
        if usd is not None and not domain and usd.low_share > rules.max_more_usd:
            reasons.append(f"dollars rise by {usd.share:+.2%}, beyond {rules.max_more_usd:.2%}")
    if n_overflow > rules.max_overflow_share * n_requests:
        reasons.append(f"{n_overflow:,} requests fit the context no more")
    verdict = "abort" if reasons else "go" if n_requests >= rules.min_requests else "too few"
    return Stage(
        percent,
        domain,
        n_requests,
        tokens,
        usd,
        seconds,
        n_overflow,
        n_priced,
        verdict,
        tuple(reasons),
    )


_OfTokens = Callable[[int], float]


def _dollars(
    side: Side,
    money: LoggedMoney | None,
    chosen: NDArray[np.bool_],
    tokens: NDArray[np.int64],
    output_tokens: float,
) -> NDArray[np.float64] | None:
    """Returns dollars of the chosen requests, NaN where one has no price; None: none has."""
    if money is not None:
        return money.usd[chosen]
    of = _usd(side, output_tokens)
    return None if of is None else _values(tokens, of)


def _usd(side: Side, output_tokens: float) -> _OfTokens | None:
    if side.price is not None:
        price = side.price
        return lambda n: float(price.usd_for(n, output_tokens))
    if side.model is None or side.gpu is None:
        return None
    model, gpu, size = side.model, side.gpu, side.loaded.vocab_size

    def of(n: int) -> float:
        work = RequestLengths((max(1, n),), (1,), output_tokens)
        return float(
            own_gpu_cost(model, gpu, work, prompts_in_batches=True, vocab_size=size).usd_per_request
        )

    return of


def _seconds(side: Side, output_tokens: float) -> _OfTokens | None:
    if side.model is None or side.gpu is None:
        return None
    model, gpu, size = side.model, side.gpu, side.loaded.vocab_size

    def of(n: int) -> float:
        reading = prefill_seconds(model, gpu, n, vocab_size=size)
        if not output_tokens:
            return reading
        middle = round(n + output_tokens / 2)
        step = decode_seconds(model, gpu, context_tokens=middle, vocab_size=size)
        return reading + output_tokens * step

    return of


def _each(
    tokens_a: NDArray[np.int64],
    tokens_b: NDArray[np.int64],
    of_a: _OfTokens | None,
    of_b: _OfTokens | None,
) -> PairedDifference | None:
    if of_a is None or of_b is None:
        return None
    return paired_difference(_values(tokens_a, of_a), _values(tokens_b, of_b))


_MAX_EXACT = 64
"""Lengths at which a value is computed; between them it is linear, as the roofline is in pieces."""


def _values(tokens: NDArray[np.int64], of: _OfTokens) -> NDArray[np.float64]:
    distinct = np.unique(tokens)
    if len(distinct) > _MAX_EXACT:
        at = np.unique(np.linspace(0, len(distinct) - 1, _MAX_EXACT).round().astype(np.int64))
        distinct = distinct[at]
    return np.interp(tokens, distinct, [of(int(n)) for n in distinct])


def paired_difference(a: NDArray[np.float64], b: NDArray[np.float64]) -> PairedDifference:
    """Return the mean of ``b - a`` with its interval; both are float64 (n_requests,)."""
    if not len(a):
        return PairedDifference(0.0, 0.0, 0.0, 0.0, 0.0)
    more = b - a
    mean = float(more.mean())
    half = 0.0
    if len(more) > 1:
        half = _NORMAL_95 * float(more.std(ddof=1)) / len(more) ** 0.5
    return PairedDifference(float(a.mean()), float(b.mean()), mean, mean - half, mean + half)
