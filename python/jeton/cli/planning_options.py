"""Options of the commands that plan a vocabulary: its sizes, the model, the GPU, the output."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import click

from jeton.cli.finite import FiniteRange

_F = TypeVar("_F", bound=Callable[..., Any])

_SIZE = re.compile(r"(\d[\d_]*(?:\.\d+)?)([kK]?)")

_MODEL = "Model that would have the vocabulary; `jeton catalog models`."


class _Sizes(click.ParamType[tuple[int, ...]]):
    """``8k,16k,32000``: sizes, a k is a thousand."""

    name = "sizes"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        found = []
        for part in str(value).split(","):
            size = _size(part)
            if size is None:
                self.fail(f"{part!r} is not a size; expected numbers such as 8k,16k,32000", param)
            found.append(size)
        return tuple(found)


class Size(click.ParamType[int]):
    """``32k`` or ``32000``: a size, a k is a thousand."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Read one size; as click wants it."""
        size = value if isinstance(value, int) else _size(str(value))
        if size is None or size < 1:
            self.fail(f"{value!r} is not a size; expected a number such as 32000 or 32k", param)
        return size


def _size(text: str) -> int | None:
    """The number of ids that a text means; None where it means none."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    number = Decimal(match[1].replace("_", "")) * (1000 if match[2] else 1)
    return int(number) if number >= 1 and number == int(number) else None


def sizes_option(*, default: str, explained: str) -> Callable[[_F], _F]:
    """``--vocab-sizes SIZES``; ``explained`` says what becomes of them."""
    return click.option(
        "--vocab-sizes",
        type=_Sizes(),
        default=default,
        show_default=True,
        metavar="SIZES",
        help=explained,
    )


def model_option(function: _F) -> _F:
    """``--model M``, once and required."""
    return click.option("--model", required=True, metavar="M", help=_MODEL)(function)


def models_option(*, purpose: str) -> Callable[[_F], _F]:
    """``--model M``, repeatable; ``purpose`` says what it is needed for."""
    return click.option(
        "--model", "models", multiple=True, metavar="M", help=f"{_MODEL} Repeatable. {purpose}"
    )


def gpu_option(function: _F) -> _F:
    """``--gpu G``."""
    return click.option(
        "--gpu", metavar="G", default="h100-sxm", show_default=True, help="GPU that it runs on."
    )(function)


def output_tokens_option(*, counted: str = "") -> Callable[[_F], _F]:
    """``--output-tokens N``; ``counted`` says with which vocabulary, where that is not plain."""
    return click.option(
        "--output-tokens",
        type=FiniteRange(min=0),
        default=0.0,
        show_default=True,
        metavar="N",
        help=f"Tokens generated after each document{counted}.",
    )
