"""Endpoints that requests may be sent to: tokenizer, model, price, limits, latency, quality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from jeton._core import Tokenizer
from jeton.catalog.api_price import ApiPrice
from jeton.catalog.gpu_facts import gpu as find_gpu
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.billing.closed import stand_in
from jeton.economics.serving.calibration import calibrated_plan
from jeton.economics.serving.engine_log import read_engine_log
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.errors import CatalogError, UsageError
from jeton.registry import TokenizerLike, resolve
from jeton.registry.model_families import family_of
from jeton.registry.of_models import at_hand

_MOST = 10**12

_MIN_CACHED_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """Limits of an endpoint; None: no limit is known.

    Attributes:
        context_tokens: Tokens of a prompt and its answer together.
        output_tokens: Tokens of an answer.
        requests_per_minute: Requests that it takes in a minute.
        tokens_per_minute: Tokens that it takes in a minute, of prompts and answers.
    """

    context_tokens: int | None = None
    output_tokens: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not 1 <= value <= _MOST:
                raise UsageError(f"{name} is {value}; expected a whole number of at least 1")
        if (
            self.context_tokens is not None
            and self.output_tokens is not None
            and self.output_tokens > self.context_tokens
        ):
            raise UsageError(
                f"the limits contradict one another: output_tokens is {self.output_tokens:,} and "
                f"context_tokens, which holds the prompt too, is {self.context_tokens:,}"
            )
        if (
            self.tokens_per_minute is not None
            and self.requests_per_minute is not None
            and self.requests_per_minute > self.tokens_per_minute
        ):
            raise UsageError(
                f"the limits contradict one another: requests_per_minute is "
                f"{self.requests_per_minute:,} and tokens_per_minute {self.tokens_per_minute:,}; "
                "a request has at least one token"
            )


@dataclass(frozen=True, slots=True)
class LatencyProfile:
    """Measured times of an endpoint, as straight lines.

    Attributes:
        ttft_seconds: Time to the first token of a short prompt.
        seconds_per_output_token: Time of each token of the answer.
        seconds_per_1k_input_tokens: Time to the first token that 1,000 prompt tokens add.
    """

    ttft_seconds: float
    seconds_per_output_token: float
    seconds_per_1k_input_tokens: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value < 1e6):
                raise UsageError(f"{name} is {value}; expected seconds of at least 0")


@dataclass(frozen=True, slots=True)
class PromptCache:
    """Rules by which an endpoint keeps the prompts of a conversation.

    Attributes:
        ttl_seconds: Time after which an unused prompt is forgotten. The five minutes are those of
            the providers' documentation (OpenAI, Anthropic; 2026-11).
        min_tokens: Shorter prompts are not kept. 1,024 tokens is the limit in the same sources.
    """

    ttl_seconds: float = 300.0
    min_tokens: int = _MIN_CACHED_TOKENS

    def __post_init__(self) -> None:
        if not (math.isfinite(self.ttl_seconds) and self.ttl_seconds >= 0):
            raise UsageError(f"ttl_seconds is {self.ttl_seconds}; expected seconds of at least 0")
        if not 0 <= self.min_tokens <= _MOST:
            raise UsageError(f"min_tokens is {self.min_tokens}; expected at least 0")


@dataclass(frozen=True, slots=True)
class EndpointFailures:
    """Failures of an endpoint, as they were seen or are feared, and how long it is left alone.

    Attributes:
        share: Share of the requests that fail, one by one.
        outages: Stretches in which every request fails: seconds after the log's first request, from
            and to.
        timeout_seconds: Time until a failure is known, which the request loses.
        cooldown_seconds: Time after a failure in which a router sends nothing there. The default is
            that of LiteLLM's router (``DEFAULT_COOLDOWN_TIME_SECONDS``).
    """

    share: float = 0.0
    outages: tuple[tuple[float, float], ...] = ()
    timeout_seconds: float = 0.0
    cooldown_seconds: float = 5.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UsageError(f"share is {self.share}; expected a share from 0 to 1")
        for name in ("timeout_seconds", "cooldown_seconds"):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value < 1e6):
                raise UsageError(f"{name} is {value}; expected seconds of at least 0")
        for one in self.outages:
            start, end = one if len(one) == 2 else (math.nan, math.nan)
            if not 0 <= start < end < math.inf:
                raise UsageError(
                    f"an outage is {list(one)}; expected two times in seconds, from and to"
                )


@dataclass(frozen=True, slots=True)
class EndpointGpu:
    """GPUs of one's own that serve a model of the catalog.

    Attributes:
        name: The GPU, as `jeton catalog gpus` names it.
        n_gpus: GPUs of a group; None: the fewest that hold the model.
        usd_per_hour: Price of one GPU and hour; None: the catalog's low list price.
        concurrent_requests: Requests that are generated side by side; None: as many as fit.
        input_tokens: Prompt tokens of the requests that the price per token is worked out for.
        output_tokens: Answer tokens of them.
        engine: Engine whose rules hold: vllm, sglang, tensorrt-llm, llama.cpp.
        max_model_len: Tokens of a request at most; None: the model's context.
        max_requests: Requests side by side at most; None: the engine's default.
        gpu_memory_utilization: Share of the memory that the engine takes; None: its default.
        calibrate: Start-up log of the engine, or what ``jeton memory --save-log`` made of it.
    """

    name: str
    n_gpus: int | None = None
    usd_per_hour: Decimal | None = None
    concurrent_requests: int | None = None
    input_tokens: int = 1000
    output_tokens: int = 250
    engine: str = "vllm"
    max_model_len: int | None = None
    max_requests: int | None = None
    gpu_memory_utilization: float | None = None
    calibrate: str | None = None

    @property
    def plan(self) -> MemoryPlan:
        """Memory plan of the model, as stated."""
        return MemoryPlan(
            n_gpus=self.n_gpus,
            engine=self.engine,
            max_context_tokens=self.max_model_len,
            max_requests=self.max_requests,
            gpu_memory_utilization=self.gpu_memory_utilization,
        )

    def plan_for(self, model: ModelFacts) -> MemoryPlan:
        """Return the memory plan of a model, its log read.

        Raises:
            UsageError: The log contradicts the model or the plan.
            FormatError: The log cannot be read as one.
            OSError: The log cannot be read.
        """
        if self.calibrate is None:
            return self.plan
        log = read_engine_log(self.calibrate)
        return calibrated_plan(log, model, find_gpu(self.name), self.plan)

    def __post_init__(self) -> None:
        for name in ("n_gpus", "concurrent_requests", "input_tokens", "output_tokens"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= _MOST:
                raise UsageError(f"{name} is {value}; expected a whole number of at least 1")
        if self.usd_per_hour is not None and not 0 < self.usd_per_hour < 1_000_000:
            raise UsageError(f"usd_per_hour is {self.usd_per_hour}; expected dollars above 0")
        _ = self.plan  # An engine that is not known, or too many GPUs.


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint that can answer requests.

    Attributes:
        name: Name of one's own; unique.
        model: The model: a name of the price list (``openai:gpt-4o-mini``), or of the catalog of
            models where it runs on a GPU.
        tokenizer: The model's tokenizer: a name, a path or a tokenizer; None: its own, where that
            is public.
        provider: Provider as logs write it; empty: any.
        logged_as: Other names that logs have for this endpoint's model.
        tariff: Tariff of all its requests (``batch``); empty: each request's own.
        price: A price of one's own, or the name of one; None: that of ``model`` in the list.
        gpu: GPUs of one's own; None: an API.
        limits: Limits.
        latency: Measured times; None: those of the roofline with a GPU, else not known.
        cache: Rules of its prompt cache.
        failures: Failures, which a replay plays through; None: it always answers.
        quality: Score by task, on the user's own scale; ``*`` holds for all other tasks.
        output_ratio: Length of this model's answers, as a multiple of the logged answer's text.
    """

    name: str
    model: str
    tokenizer: TokenizerLike | None = None
    provider: str = ""
    logged_as: tuple[str, ...] = ()
    tariff: str = ""
    price: ApiPrice | str | None = None
    gpu: EndpointGpu | None = None
    limits: EndpointLimits = field(default_factory=EndpointLimits)
    latency: LatencyProfile | None = None
    cache: PromptCache = field(default_factory=PromptCache)
    failures: EndpointFailures | None = None
    quality: Mapping[str, float] = field(default_factory=dict)
    output_ratio: float = 1.0

    def __post_init__(self) -> None:
        for name in ("name", "model"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise UsageError(f"an endpoint's {name} is {value!r}; expected a text")
        if not (math.isfinite(self.output_ratio) and 0 < self.output_ratio <= 1000):
            raise UsageError(f"output_ratio is {self.output_ratio}; expected a number above 0")
        for task, score in self.quality.items():
            if not math.isfinite(score):
                raise UsageError(f"the quality for {task!r} is {score}; expected a finite number")
        context = self.limits.context_tokens
        least = self.cache.min_tokens
        # The default says nothing of an endpoint.
        if context is not None and least > context and least != _MIN_CACHED_TOKENS:
            raise UsageError(
                f"the limits contradict one another: the cache's min_tokens is "
                f"{self.cache.min_tokens:,} and context_tokens {context:,}"
            )

    def quality_of(self, task: str) -> float | None:
        """Return the score for a task; None where the table has none."""
        found = self.quality.get(task)
        return self.quality.get("*") if found is None else found


_SAMPLE: Final = "The 3,141 words of a sample: don't split naïve Tokenizer::encode(x) 漢字 alike."
"""Text that different tokenizers cut differently."""


def endpoint_tokenizers(
    endpoints: Sequence[Endpoint],
) -> tuple[tuple[Tokenizer, ...], tuple[int, ...]]:
    """Return the different tokenizers, and the place of each endpoint's among them.

    Raises:
        UsageError: None is stated, and the model's own is not public or not known.
        UnknownTokenizerError: A tokenizer is not known, or not at hand.
    """
    different: list[Tokenizer] = []
    by_name: dict[str, int] = {}
    by_content: dict[str, int] = {}
    found: list[int] = []
    for endpoint in endpoints:
        given = _own(endpoint) if endpoint.tokenizer is None else endpoint.tokenizer
        place = by_name.get(given) if isinstance(given, str) else None
        if place is None:
            tokenizer = resolve(given)
            if endpoint.tokenizer is not None:
                _check(endpoint, tokenizer)
            place = by_content.setdefault(tokenizer.fingerprint, len(different))
            if place == len(different):
                different.append(tokenizer)
            if isinstance(given, str):
                by_name[given] = place
        found.append(place)
    return tuple(different), tuple(found)


def _check(endpoint: Endpoint, stated: Tokenizer) -> None:
    """Raise where the stated tokenizer is not that of the endpoint's model."""
    family = family_of(endpoint.model)
    own = None if family is None else at_hand(family)
    if family is None or own is None:
        return  # Nothing is known that could be contradicted.
    if stated.encode(_SAMPLE) != resolve(own).encode(_SAMPLE):
        raise UsageError(
            f"endpoint {endpoint.name!r}: the stated tokenizer contradicts the model: "
            f"{endpoint.model} reads text with {family.vocabularies[0]}\n"
            "hint: leave tokenizer out, or state another model"
        )


def _own(endpoint: Endpoint) -> TokenizerLike:
    """Return the tokenizer that belongs to an endpoint's model."""
    family = family_of(endpoint.model)
    if family is not None:
        return at_hand(family) or family.vocabularies[0]
    hint = 'state tokenizer = "NAME", "FILE" or "FOLDER"'
    with suppress(CatalogError):
        entry = stand_in(endpoint.model)
        hint += f'; a stand-in is "{entry.tokenizer}" ({entry.source})'
    raise UsageError(
        f"endpoint {endpoint.name!r}: no public tokenizer is known of {endpoint.model}\n"
        f"hint: {hint}"
    )
