"""Files of endpoints (TOML), checked field by field: a name that is not known is an error."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from jeton._foreign import toml_of
from jeton._nearest import nearest
from jeton.catalog.api_price import USER_PROVIDER, ApiPrice, PriceTier
from jeton.errors import RecordError, UsageError
from jeton.formats.reading import read_settings
from jeton.planning.routing.endpoints import (
    Endpoint,
    EndpointFailures,
    EndpointGpu,
    EndpointLimits,
    LatencyProfile,
    PromptCache,
)
from jeton.planning.routing.policy import RoutingPolicy, RoutingWeights

_MAX_BYTES: Final = 4 << 20
_MOST_USD: Final = Decimal(1_000_000)

_Kind = type | tuple[type, ...]
_NUMBER: Final = (int, Decimal)

_ENDPOINT: Final[dict[str, _Kind]] = {
    "name": str, "model": str, "tokenizer": str, "provider": str, "logged_as": list, "tariff": str,
    "price": (str, dict), "gpu": dict, "limits": dict, "latency": dict, "cache": dict,
    "failures": dict, "quality": dict, "output_ratio": _NUMBER,
}  # fmt: skip
_PRICE: Final[dict[str, _Kind]] = dict.fromkeys(
    (
        "input_usd_per_mtok", "output_usd_per_mtok", "cached_input_usd_per_mtok",
        "cache_write_usd_per_mtok", "cache_write_1h_usd_per_mtok", "usd_per_request",
    ),
    (int, Decimal, str),
)  # fmt: skip
_GPU: Final[dict[str, _Kind]] = {
    "name": str, "n_gpus": int, "usd_per_hour": (int, Decimal, str), "concurrent_requests": int,
    "input_tokens": int, "output_tokens": int, "engine": str, "max_model_len": int,
    "max_requests": int, "gpu_memory_utilization": _NUMBER, "calibrate": str,
}  # fmt: skip
_LIMITS: Final[dict[str, _Kind]] = dict.fromkeys(
    ("context_tokens", "output_tokens", "requests_per_minute", "tokens_per_minute"), int
)
_LATENCY: Final[dict[str, _Kind]] = dict.fromkeys(
    ("ttft_seconds", "seconds_per_output_token", "seconds_per_1k_input_tokens"), _NUMBER
)
_CACHE: Final[dict[str, _Kind]] = {"ttl_seconds": _NUMBER, "min_tokens": int}
_FAILURES: Final[dict[str, _Kind]] = {
    "share": _NUMBER, "outages": list, "timeout_seconds": _NUMBER, "cooldown_seconds": _NUMBER,
}  # fmt: skip
_POLICY: Final[dict[str, _Kind]] = {
    "rule": str, "max_seconds": _NUMBER, "max_ttft_seconds": _NUMBER, "min_quality": _NUMBER,
    "weights": dict, "sticky": str, "fallbacks": list, "coverage": _NUMBER,
    "assumed_output_tokens": int,
}  # fmt: skip
_WEIGHTS: Final[dict[str, _Kind]] = dict.fromkeys(("cost", "latency", "quality"), _NUMBER)
_FILE: Final[dict[str, _Kind]] = {"endpoint": list, "policy": dict}

_WORDS: Final = {str: "a text", int: "a whole number", Decimal: "a number", list: "a list",
                 dict: "a table"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EndpointFile:
    """Contents of a file of endpoints.

    Attributes:
        endpoints: The endpoints in the order of the file.
        policy: The policy; the default where the file has none.
    """

    endpoints: tuple[Endpoint, ...]
    policy: RoutingPolicy


def read_endpoints(path: str | os.PathLike[str]) -> EndpointFile:
    """Read a file of endpoints.

    A tokenizer that is a path begins at the file's folder where no such path exists otherwise.

    Raises:
        RecordError: The file is no TOML, has a field that is not known, or lacks one.
        UsageError: Values that contradict one another.
        OSError: The file cannot be read.
    """
    file = Path(path)
    text = read_settings(file, what="a file of endpoints", max_bytes=_MAX_BYTES)
    return parse_endpoints(text, source=str(file), folder=file.parent)


def parse_endpoints(
    text: str, *, source: str = "endpoints", folder: Path | None = None
) -> EndpointFile:
    """Return the endpoints that a text holds; as `read_endpoints`, without the file."""
    try:
        tree: dict[str, Any] = toml_of(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecordError(
            f"{source} is not TOML: {error}\nhint: docs/guides/routing.md has an example",
            path=source,
        ) from None
    _check(tree, _FILE, source)
    tables = tree.get("endpoint", [])
    if not tables or not all(isinstance(table, dict) for table in tables):
        raise RecordError(
            f"{source} has no endpoint\nhint: each begins with a line [[endpoint]]", path=source
        )
    endpoints: list[Endpoint] = []
    for number, table in enumerate(tables, start=1):
        name = table.get("name")
        where = f"{source}, endpoint {name!r}" if name else f"{source}, endpoint {number}"
        endpoints.append(_endpoint(table, where, folder))
        if sum(one.name == name for one in endpoints) > 1:
            raise RecordError(f"{where}: an earlier endpoint has the name too", path=source)
    policy = _policy(tree.get("policy", {}), f"{source}, policy")
    names = [one.name for one in endpoints]
    for name in policy.fallbacks:
        if name not in names:
            raise RecordError(
                f"{source}, policy: the fallback {name!r} is no endpoint{_near(name, names)}",
                path=source,
            )
    return EndpointFile(tuple(endpoints), policy)


def _endpoint(table: Mapping[str, Any], where: str, folder: Path | None) -> Endpoint:
    _check(table, _ENDPOINT, where, needed=("name", "model"))
    given: dict[str, Any] = {
        name: table[name] for name in ("name", "model", "provider", "tariff") if name in table
    }
    if "tokenizer" in table:
        given["tokenizer"] = _tokenizer(table["tokenizer"], folder)
    logged_as = table.get("logged_as", [])
    _check_texts(logged_as, f"{where}, logged_as")
    quality = table.get("quality", {})
    for task, score in quality.items():
        if isinstance(score, bool) or not isinstance(score, _NUMBER):
            raise RecordError(f"{where}, quality: {task} is {score!r}; expected a number")
    with _placed(where):
        for name, kinds, kind in (
            ("gpu", _GPU, EndpointGpu),
            ("limits", _LIMITS, EndpointLimits),
            ("latency", _LATENCY, LatencyProfile),
            ("cache", _CACHE, PromptCache),
            ("failures", _FAILURES, EndpointFailures),
        ):
            if name in table:
                needed = {
                    "gpu": ("name",),
                    "latency": ("ttft_seconds", "seconds_per_output_token"),
                }.get(name, ())
                given[name] = _made(kind, table[name], kinds, f"{where}, {name}", needed)
        own = given.get("gpu")
        if own is not None and own.calibrate is not None and folder is not None:
            given["gpu"] = replace(own, calibrate=str(folder / own.calibrate))
        if "price" in table:
            given["price"] = _price(table["price"], table["name"], f"{where}, price")
        if "output_ratio" in table:
            given["output_ratio"] = float(table["output_ratio"])
        return Endpoint(
            logged_as=tuple(logged_as),
            quality={task: float(score) for task, score in quality.items()},
            **given,
        )


def _made(
    kind: Any,
    table: Mapping[str, Any],
    kinds: Mapping[str, _Kind],
    where: str,
    needed: tuple[str, ...] = (),
) -> Any:
    _check(table, kinds, where, needed=needed)
    given = dict(table)
    for name, value in given.items():
        if name == "usd_per_hour":
            given[name] = _usd(value, f"{where}, {name}")
        elif name == "outages":
            given[name] = _outages(value, f"{where}, {name}")
        elif isinstance(value, Decimal) or kinds[name] == _NUMBER:
            given[name] = float(value)
    with _placed(where):
        return kind(**given)


def _outages(values: list[Any], where: str) -> tuple[tuple[float, ...], ...]:
    for one in values:
        if not isinstance(one, list) or any(
            isinstance(time, bool) or not isinstance(time, _NUMBER) for time in one
        ):
            raise RecordError(f"{where} has {str(one)[:40]}; expected lists such as [3600, 4200]")
    return tuple(tuple(map(float, one)) for one in values)


def _policy(table: Mapping[str, Any], where: str) -> RoutingPolicy:
    _check(table, _POLICY, where)
    given = dict(table)
    if "weights" in given:
        given["weights"] = _made(RoutingWeights, given["weights"], _WEIGHTS, f"{where}, weights")
        if given.get("rule", "weighted") != "weighted":
            raise RecordError(
                f"{where}: it has weights, and its rule is {given['rule']!r}\n"
                'hint: rule = "weighted" uses them'
            )
        given["rule"] = "weighted"
    _check_texts(given.get("fallbacks", []), f"{where}, fallbacks")
    given["fallbacks"] = tuple(given.get("fallbacks", ()))
    for name in ("max_seconds", "max_ttft_seconds", "min_quality", "coverage"):
        if name in given:
            given[name] = float(given[name])
    with _placed(where):
        return RoutingPolicy(**given)


def _price(value: str | Mapping[str, Any], name: str, where: str) -> ApiPrice | str:
    if isinstance(value, str):
        return value
    _check(value, _PRICE, where)
    rates = {key: _usd(rate, f"{where}, {key}") for key, rate in value.items()}
    for key in ("input_usd_per_mtok", "output_usd_per_mtok"):
        if key not in rates:
            raise RecordError(
                f"{where}: {key} is missing; a price that is not known is an error, never zero"
            )
    per_input = rates["input_usd_per_mtok"]
    cached = rates.get("cached_input_usd_per_mtok")
    if cached is not None and cached > per_input:
        raise RecordError(
            f"{where}: cached_input_usd_per_mtok is {cached} and input_usd_per_mtok {per_input}; "
            "reading a cache costs no more than reading anew"
        )
    if not any(rates.values()):
        raise RecordError(
            f"{where}: all rates are 0\nhint: an endpoint of your own has a price too: state its "
            "GPU in [endpoint.gpu], or what you pay for it"
        )
    tier = PriceTier(
        above_input_tokens=0,
        usd_per_mtok_input=per_input,
        usd_per_mtok_cached_input=cached,
        usd_per_mtok_output=rates["output_usd_per_mtok"],
        usd_per_mtok_cache_write=rates.get("cache_write_usd_per_mtok"),
        usd_per_mtok_cache_write_1h=rates.get("cache_write_1h_usd_per_mtok"),
    )
    today = datetime.now(tz=UTC).date()
    return ApiPrice(
        provider=USER_PROVIDER,
        model=name,
        usd_per_mtok_input=per_input,
        usd_per_mtok_cached_input=cached,
        usd_per_mtok_output=tier.usd_per_mtok_output,
        usd_per_request=rates.get("usd_per_request", Decimal(0)),
        tiers=(tier,),
        price_date=today,
        valid_on=today,
        source=f"{where}, as given by the user",
    )


def _usd(value: Any, where: str) -> Decimal:
    try:
        number = Decimal(str(value).strip())
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number <= _MOST_USD:
        raise RecordError(f"{where} is {str(value)[:40]!r}; expected US dollars of at least 0")
    return number


def _tokenizer(name: str, folder: Path | None) -> str:
    if folder is not None and not Path(name).exists() and (folder / name).exists():
        return str(folder / name)
    return name


def _check(
    table: Mapping[str, Any],
    kinds: Mapping[str, _Kind],
    where: str,
    *,
    needed: tuple[str, ...] = (),
) -> None:
    """Refuse fields that are not known, of another type, or missing."""
    for name, value in table.items():
        kind = kinds.get(name)
        if kind is None:
            raise RecordError(
                f"{where}: the field {name!r} is not known{_near(name, kinds)}\n"
                f"hint: the fields are {', '.join(kinds)}"
            )
        wanted = kind if isinstance(kind, tuple) else (kind,)
        if isinstance(value, bool) or not isinstance(value, wanted):
            words = " or ".join(dict.fromkeys(_WORDS[one] for one in wanted))
            raise RecordError(f"{where}: {name} is {str(value)[:60]!r}; expected {words}")
    for name in needed:
        if name not in table:
            raise RecordError(f"{where}: {name} is missing")


def _check_texts(values: Any, where: str) -> None:
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise RecordError(f"{where} has {value!r}; expected texts")


def _near(name: str, names: Any) -> str:
    found = nearest(name, names)
    return f"; the nearest is {found[0]!r}" if found else ""


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """Add the place in the file to an error about a value."""
    try:
        yield
    except UsageError as error:
        if str(error).startswith(where.partition(",")[0]):
            raise
        raise UsageError(f"{where}: {error}") from None
