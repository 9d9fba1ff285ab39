"""Numbers of options: an endless one, or none at all, is no amount."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range of numbers without ``inf`` and ``nan``, which the range of click lets through.

    Args:
        is_endless_fine: True for an option to which ``inf`` means something.
        limits: Limits, as of click.
        more: Named ones.
    """

    def __init__(self, *limits: Any, is_endless_fine: bool = False, **more: Any) -> None:
        super().__init__(*limits, **more)
        self._is_endless_fine = is_endless_fine

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Reads the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number) or (math.isinf(number) and not self._is_endless_fine):
            self.fail(f"{value} is no finite number", param, ctx)
        return number
