"""Lists of ids on the command line: ``5-9,12``."""

from __future__ import annotations

import click

_MAX_IDS = 1 << 20


def parse_ids(text: str | None) -> list[int]:
    """Reads ``5-9,12``; both ends of a range count.

    Raises:
        click.BadParameter: The text is no such list.
    """
    ids: list[int] = []
    for item in (text or "").replace(" ", "").split(","):
        if not item:
            continue
        first, dash, last = item.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise click.BadParameter(f"{item!r} is not an id or a range of ids, as in 5-9,12")
        start, end = int(first), int(last or first)
        if end < start:
            raise click.BadParameter(f"{item!r} is not a range that goes up")
        if end - start >= _MAX_IDS:
            raise click.BadParameter(f"{item!r} is more than {_MAX_IDS:,} ids")
        ids.extend(range(start, end + 1))
    return ids
