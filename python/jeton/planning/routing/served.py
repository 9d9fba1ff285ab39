"""Logged requests as each endpoint would have served them: tokens, cached parts, and dollars.

The model that answered keeps what was logged. For another one the prompt changes by the difference
of both tokenizers' counts of its text, so that images, tools and chat formats stay; the answer is
the same text, tokenized again where the log shows it, else scaled as its prompt is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton._nearest import fold
from jeton.catalog.model_names import find_listed
from jeton.corpus.requests.columns import STANDARD, RequestColumns
from jeton.dimensions import MODALITIES
from jeton.economics.ledger import LedgerBuilder
from jeton.planning.routing.lanes import Lane

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_NOT_TEXT: Final = ("input_image_tokens", "input_audio_tokens", "input_video_tokens",
                    "input_tool_tokens")  # fmt: skip
_SLACK_TOKENS: Final = 64
"""Tokens beyond a text that say nothing: hidden preambles, as `corpus.requests` has it."""
_CACHED_KINDS: Final = frozenset(f"cache_{kind}_read_tokens" for kind in MODALITIES)
_CACHED: Final = ("cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")


@dataclass(frozen=True, slots=True)
class LogNames:
    """Names that a log's columns index, as far as it was read."""

    models: Sequence[str]
    providers: Sequence[str]
    tariffs: Sequence[str]
    tasks: Sequence[str]


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Requests with their texts counted; arrays of counts have shape (tokenizers, n).

    Attributes:
        columns: Facts of the requests.
        prompts: Tokens of each prompt's text.
        answers: Tokens of each answer's text; -1 where the log shows none.
    """

    columns: RequestColumns
    prompts: Ints
    answers: Ints


class ModelMatch:
    """Tells which endpoint a logged model is.

    Args:
        lanes: The endpoints.
    """

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = lanes
        self._listed = [
            None if lane.price is not None else find_listed(lane.price_name) for lane in lanes
        ]
        self._known: dict[tuple[str, str], int] = {}

    def places(self, columns: RequestColumns, names: LogNames) -> Ints:
        """Return the place of the endpoint that each request's model is; -1: of none."""
        models = np.asarray(columns.model, np.int64)
        providers = np.asarray(columns.provider, np.int64)
        found = np.full(len(columns), -1, dtype=np.int64)
        pairs, rows = np.unique(np.stack([models, providers]), axis=1, return_inverse=True)
        for number, (model, provider) in enumerate(pairs.T.tolist()):
            if model >= 0:
                own = names.providers[provider] if provider >= 0 else ""
                found[rows.reshape(-1) == number] = self.place(names.models[model], own)
        return found

    def place(self, model: str, provider: str) -> int:
        """Return the place of the endpoint that a model is; -1: of none."""
        key = (model, provider)
        if key not in self._known:
            self._known[key] = self._find(model, provider)
        return self._known[key]

    def _find(self, model: str, provider: str) -> int:
        asked = {fold(model)} | {fold(f"{provider}{mark}{model}") for mark in ":/" if provider}
        fitting = [
            place
            for place, lane in enumerate(self._lanes)
            if not (provider and lane.endpoint.provider)
            or fold(lane.endpoint.provider) == fold(provider)
        ]
        for place in fitting:
            endpoint = self._lanes[place].endpoint
            own = (endpoint.model, *endpoint.logged_as, self._lanes[place].price_name)
            names = {fold(name) for name in own}
            if endpoint.price is None or isinstance(endpoint.price, str):
                names |= {name.partition(":")[2] for name in names if ":" in name}
            if asked & names:
                return place
        listed = find_listed(model, provider or None)
        if listed is not None:
            for place in fitting:
                one = self._listed[place]
                if one is not None and one.name == listed.name:
                    return place
            # Another provider's copy of the model has its tokenizer too.
            for place in fitting:
                one = self._listed[place]
                if one is not None and one.model.id == listed.model.id:
                    return place
        return -1


@dataclass(frozen=True, slots=True)
class ServedRows:
    """Requests as one endpoint would serve them; arrays have shape (n,).

    Attributes:
        columns: Their usage there, with the cached parts of a conversation that stays.
        usd: Dollars of that; NaN without a price.
        usd_cold: Dollars with nothing read from a cache, and written to it instead.
    """

    columns: RequestColumns
    usd: NDArray[np.float64]
    usd_cold: NDArray[np.float64]

    @property
    def read(self) -> Ints:
        """Prompt tokens read from the cache of a conversation that stays."""
        return np.maximum(self.columns.cache_read_tokens, 0)


def builder_of(lane: Lane, on: date | None) -> LedgerBuilder:
    """Return a ledger's builder that prices everything as an endpoint does."""
    own = lane.price
    return LedgerBuilder(prices=None if own is None else lambda model, day, tariff: own, on=on)


def add_rows(builder: LedgerBuilder, lane: Lane, columns: RequestColumns, names: LogNames) -> None:
    """Add requests to the bill of an endpoint."""
    own = _priced_as(lane, names)
    builder.add(
        columns,
        models=own["models"],
        providers=own["providers"],
        tariffs=own["tariffs"],
        domains=names.tasks,
    )


def _priced_as(lane: Lane, names: LogNames) -> dict[str, Sequence[str]]:
    return {
        "models": (lane.price_name,),
        "providers": (lane.endpoint.provider,),
        "tariffs": (STANDARD, lane.tariff) if lane.tariff else names.tariffs,
    }


def serve(
    rows: CountedRows,
    lanes: Sequence[Lane],
    tokenizer_of: Sequence[int],
    own: Ints,
    names: LogNames,
    pricers: Sequence[LedgerBuilder],
    assumed: Counter[str],
) -> tuple[list[ServedRows], Bools]:
    """Return the requests at every endpoint, and which of them can be compared.

    Args:
        rows: The requests.
        lanes: The endpoints.
        tokenizer_of: Place of each endpoint's tokenizer among the counts.
        own: Place of the endpoint that each request's model is; -1: of none.
        names: Names of the log.
        pricers: A builder for each endpoint, which is asked for prices only.
        assumed: Counts requests by the assumption about their tokens elsewhere.
    """
    columns = rows.columns
    every = np.arange(len(columns))
    tokenizers = np.asarray(tokenizer_of)
    is_own = own >= 0
    of_own = tokenizers[np.maximum(own, 0)]
    prompt_own = np.where(is_own, rows.prompts[of_own, every], -1)
    answer_own = np.where(is_own, rows.answers[of_own, every], -1)
    has_text, has_answer = columns.has_text, rows.answers[0] >= 0
    known_in, known_out = columns.input_tokens >= 0, columns.output_tokens >= 0
    kept = (known_in | has_text) & (known_out | has_answer)
    counted = prompt_own + np.maximum(columns.overhead_tokens, 0)
    base_in = np.where(known_in, columns.input_tokens, np.where(is_own, counted, -1))
    base_out = np.where(known_out, columns.output_tokens, answer_own)
    hidden = np.maximum(columns.reasoning_tokens, 0)
    not_text = sum((columns.extra(name) for name in _NOT_TEXT), np.zeros(len(columns), np.int64))
    beside = _beside_text(rows, not_text, is_own)
    _count_assumptions(assumed, kept, is_own, has_text, has_answer, len(lanes), len(rows.prompts))
    served = []
    for lane in lanes:
        place = lane.place
        prompt, answer = rows.prompts[tokenizers[place]], rows.answers[tokenizers[place]]
        is_same = own == place
        from_text = prompt + np.maximum(columns.overhead_tokens, 0) + not_text + beside
        n_in = np.where(
            has_text & ~is_same,
            np.where(is_own, np.maximum(base_in + prompt - prompt_own, 0), from_text),
            base_in,
        )
        ratio = np.where(
            has_text & is_own & (prompt_own > 0), prompt / np.maximum(prompt_own, 1), 1.0
        )
        again = np.where(
            is_own & known_out, np.maximum(base_out + answer - answer_own, 0), answer + hidden
        )
        n_out = np.where(has_answer, again, np.rint(base_out * ratio).astype(np.int64))
        if lane.endpoint.output_ratio != 1.0:
            n_out = np.rint(n_out * lane.endpoint.output_ratio).astype(np.int64)
        n_out = np.where(is_same, base_out, n_out)
        served.append(_priced(lane, columns, n_in, n_out, names, pricers[place]))
        kept &= n_in >= 0
    return served, kept


def _beside_text(rows: CountedRows, not_text: Ints, is_own: Bools) -> Ints:
    """Return prompt tokens that stand in no text, where the tokenizer that counted is not known.

    Tokenizers in use differ by less than twice on the same text; beyond that, something was sent
    that the log does not show (definitions of tools, documents).
    """
    columns = rows.columns
    longest = rows.prompts.max(axis=0) + np.maximum(columns.overhead_tokens, 0) + not_text
    has_more = ~is_own & columns.has_text & (columns.input_tokens > 2 * longest + _SLACK_TOKENS)
    return np.where(has_more, columns.input_tokens - longest, 0)


def _priced(
    lane: Lane,
    columns: RequestColumns,
    n_in: Ints,
    n_out: Ints,
    names: LogNames,
    pricer: LedgerBuilder,
) -> ServedRows:
    n = len(columns)
    is_changed = n_in != columns.input_tokens
    share = n_in / np.maximum(columns.input_tokens, 1)
    parts = {}
    for name in _CACHED:
        known = getattr(columns, name)
        # Rounded down, so that the parts never exceed their whole.
        scaled = np.floor(known * share).astype(np.int64)
        parts[name] = np.where(is_changed & (known > 0), scaled, known)
    thinking = columns.reasoning_tokens
    own_share = n_out / np.maximum(columns.output_tokens, 1)
    thought = np.minimum(np.floor(thinking * own_share).astype(np.int64), n_out)
    parts["reasoning_tokens"] = np.where(
        (n_out != columns.output_tokens) & (thinking > 0), thought, thinking
    )
    there = replace(
        columns,
        model=np.zeros(n, dtype=np.int32),
        provider=np.full(n, 0 if lane.endpoint.provider and lane.price is None else -1, np.int32),
        tariff=np.full(n, 1, np.int16) if lane.tariff else columns.tariff,
        input_tokens=n_in,
        output_tokens=n_out,
        **parts,
    )
    priced_as = _priced_as(lane, names)
    usd = pricer.usd_of_rows(there, **priced_as)
    cold = usd
    if (there.cache_read_tokens > 0).any():
        cold = pricer.usd_of_rows(with_read(there, np.zeros(n, dtype=np.int64)), **priced_as)
    return ServedRows(there, usd, cold)


def with_read(columns: RequestColumns, read: Ints) -> RequestColumns:
    """Return requests of which so many tokens are read from a cache; the others are written.

    A cache takes again what it no longer holds, at the price of a write where there is one.
    """
    logged = np.maximum(columns.cache_read_tokens, 0)
    is_less = read < logged
    lost = np.where(is_less, logged - read, 0)
    extras = {
        # Which kind of the cached tokens is gone is not known: none of them is taken as cached.
        name: np.where(is_less, 0, values) if name in _CACHED_KINDS else values
        for name, values in columns.extras.items()
    }
    return replace(
        columns,
        extras=extras,
        cache_read_tokens=np.where(is_less, read, columns.cache_read_tokens),
        cache_write_tokens=np.where(
            is_less, np.maximum(columns.cache_write_tokens, 0) + lost, columns.cache_write_tokens
        ),
    )


def _count_assumptions(
    assumed: Counter[str],
    kept: Bools,
    is_own: Bools,
    has_text: Bools,
    has_answer: Bools,
    n_lanes: int,
    n_tokenizers: int,
) -> None:
    """Count what the tokens at other endpoints rest on."""
    if n_lanes < 2 and bool(is_own.all()):
        return
    if n_tokenizers > 1:
        assumed["input: difference of both tokenizers' counts of the text"] += int(
            (kept & is_own & has_text).sum()
        )
    assumed["input: the text counted; the log's model is none of the endpoints"] += int(
        (kept & ~is_own & has_text).sum()
    )
    assumed["input: as logged; the log shows no text"] += int((kept & ~has_text).sum())
    assumed["output: the same text, tokenized again"] += int((kept & has_answer).sum())
    assumed["output: scaled by the ratio of the prompt's counts"] += int(
        (kept & ~has_answer & is_own & has_text).sum()
    )
    assumed["output: as logged; the log shows no text to scale it by"] += int(
        (kept & ~has_answer & ~(is_own & has_text)).sum()
    )
