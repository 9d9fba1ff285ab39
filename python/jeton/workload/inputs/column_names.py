"""Names that the columns of requests refer to by number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jeton.corpus import RequestColumns
from jeton.corpus.names import Names

if TYPE_CHECKING:
    from jeton.corpus import RequestStream


class ColumnNames(NamedTuple):
    """Names by number.

    Attributes:
        models: Names for ``columns.model`` and ``columns.model_asked``.
        providers: Names for ``columns.provider``.
        tariffs: Names for ``columns.tariff``; the first is ``standard``.
        domains: Names for ``columns.domain``.
    """

    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    tariffs: tuple[str, ...] = ("standard",)
    domains: tuple[str, ...] = ()

    @classmethod
    def of(cls, stream: RequestStream) -> ColumnNames:
        """Return the names that a stream has met so far."""
        return cls(
            tuple(stream.models),
            tuple(stream.providers),
            tuple(stream.tariffs),
            tuple(stream.domains),
        )

    def renumbered(self, columns: RequestColumns, merged: Mapping[str, Names]) -> RequestColumns:
        """Return columns that refer to the names of several shards.

        Args:
            columns: Columns that refer to these names.
            merged: The names of all shards by the field of this class; new ones are added.
        """
        places = {
            # The last element is the one that -1 names.
            kind: np.array([*(merged[kind].number(name)[0] for name in names), -1])
            for kind, names in zip(self._fields, self, strict=True)
        }

        def renamed(numbers: NDArray[Any], kind: str) -> NDArray[Any]:
            changed: NDArray[Any] = places[kind][numbers].astype(numbers.dtype)
            return changed

        return replace(
            columns,
            model=renamed(columns.model, "models"),
            model_asked=renamed(columns.model_asked, "models"),
            provider=renamed(columns.provider, "providers"),
            tariff=renamed(columns.tariff, "tariffs"),
            domain=renamed(columns.domain, "domains"),
        )
