"""Names of rules and of normalizers, as they are given: known, and each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jeton._nearest import nearest
from jeton.errors import UsageError


def check_names(what: str, given: Sequence[str], known: Iterable[str]) -> None:
    """Raise ``UsageError`` for a name that is not known, or is given twice."""
    names = tuple(known)
    for place, name in enumerate(given):
        if name not in names:
            offered = nearest(str(name), names) or names
            raise UsageError(
                f"unknown {what} {name!r}; expected one of {', '.join(offered)}\n"
                f"hint: there are {', '.join(names)}"
            )
        if name in given[:place]:
            raise UsageError(f"the {what} {name!r} is given twice")
