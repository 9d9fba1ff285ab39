"""Options that the commands of ``jeton predict`` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from jeton.cli.finite import FiniteRange

_F = TypeVar("_F", bound=Callable[..., Any])


def history_options(function: _F) -> _F:
    """Options of reading logs or a trace."""
    for option in (
        click.option(
            "--rate",
            type=FiniteRange(min=0, min_open=True),
            metavar="N",
            help="Requests per second of a trace that has no times.",
        ),
        click.option(
            "--time-field", metavar="NAME", default="", help="Field of a log that has the time."
        ),
        click.option(
            "--kind",
            type=click.Choice(["auto", "logs", "trace"]),
            default="auto",
            show_default=True,
            help="Kind of the input; auto: told by the fields of the first record.",
        ),
    ):
        function = option(function)
    return function
