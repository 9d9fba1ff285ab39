"""Options of the commands that plan serving."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jeton._plain import counted
from jeton.cli import streams
from jeton.cli.finite import FiniteRange

if TYPE_CHECKING:
    from jeton.corpus.traces import Trace

_F = TypeVar("_F", bound=Callable[..., Any])

above_zero = FiniteRange(min=0, min_open=True, max=1e9)


class Usd(click.ParamType[Decimal]):
    """An amount of money above 0."""

    name = "usd"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        """Read one amount; as click wants it."""
        try:
            amount = value if isinstance(value, Decimal) else Decimal(str(value))
        except InvalidOperation:
            amount = Decimal(-1)
        if not amount.is_finite() or not 0 < amount < 10**9:
            self.fail(f"{value!r} is no price; expected dollars above 0 such as 2.49", param)
        return amount


class NumberList(click.ParamType[tuple[float, ...]]):
    """``0.5,1,1.5``: numbers above 0."""

    name = "numbers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Read the numbers; as click wants it."""
        if isinstance(value, tuple):
            return value
        found = []
        for part in str(value).split(","):
            try:
                number = float(part)
            except ValueError:
                number = -1.0
            if not 0 < number < float("inf"):
                self.fail(f"{part!r} is no number above 0; expected such as 0.5,1,1.5", param)
            found.append(number)
        return tuple(found)


def model_option(function: _F) -> _F:
    """``--model M``, required."""
    return click.option(
        "--model",
        required=True,
        metavar="M",
        help="Model that is served: a name of `jeton catalog models`, a published name, or a "
        "folder with a config.json.",
    )(function)


def step_overhead_option(function: _F) -> _F:
    """``--step-overhead-ms MS``."""
    return click.option(
        "--step-overhead-ms",
        type=FiniteRange(min=0, max=59_999),
        default=0.0,
        show_default=True,
        metavar="MS",
        help="Extra time of each step: scheduling, launches, sampling.",
    )(function)


def trace_options(function: _F) -> _F:
    """Options of reading a trace."""
    for option in (
        click.option(
            "--strict",
            is_flag=True,
            help="A row that cannot be meant is an error instead of being left out and counted.",
        ),
        click.option(
            "--rate",
            "--trace-rate",
            type=above_zero,
            metavar="N",
            help="Requests per second, where the trace has no times.",
        ),
    ):
        function = option(function)
    return function


def limit_options(function: _F) -> _F:
    """Limits of the latency."""
    for option in (
        click.option(
            "--tpot",
            type=above_zero,
            default=0.1,
            show_default=True,
            metavar="S",
            help="Longest mean time between the tokens of an answer, seconds.",
        ),
        click.option(
            "--ttft",
            type=above_zero,
            default=2.0,
            show_default=True,
            metavar="S",
            help="Longest time to the first token, seconds.",
        ),
    ):
        function = option(function)
    return function


class Rented(click.ParamType[tuple[int, str]]):
    """``8:h100-sxm``: a number of GPUs, and their name."""

    name = "rented"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, str]:
        """Read number and name; as click wants it."""
        if isinstance(value, tuple):
            return value
        number, sign, name = str(value).partition(":")
        if not sign or not number.isascii() or not number.isdigit() or not name.strip():
            self.fail(f"{value!r} is no fleet; expected GPUs and a name such as 8:h100-sxm", param)
        return int(number[:9]), name.strip()


def read_traffic(path: str, *, rate: float | None, strict: bool) -> Trace:
    """Read a trace, and say which rows were left out or sorted in."""
    from jeton.corpus.traces import read_trace

    trace = read_trace(path, requests_per_second=rate, strict=strict)
    if trace.rejected:
        reasons = ", ".join(f"{n:,} with {reason}" for reason, n in trace.rejected.items())
        first = next(iter(trace.examples.values()), ("",))[0]
        streams.say(f"{path}: left out rows that cannot be meant: {reasons}; the first is {first}")
    if trace.n_out_of_order:
        streams.say(
            f"{path}: {counted(trace.n_out_of_order, 'row')} came before one above; sorted in"
        )
    return trace
