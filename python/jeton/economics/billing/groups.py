"""Bills by language, or by any other group: who pays how much for the same text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from jeton.errors import UsageError


@dataclass(frozen=True, slots=True)
class GroupUse:
    """Text of one language or domain, counted.

    Attributes:
        name: Name of the group.
        n_requests: Requests, or documents.
        n_bytes: UTF-8 bytes.
        n_chars: Characters (code points).
        n_tokens: Tokens.
        n_units: Units that mean the same in every group (aligned sentences); None if the texts
            are not translations of each other.
        usd: Cost, as the ledger has it.
    """

    name: str
    n_requests: int
    n_bytes: int
    n_chars: int
    n_tokens: int
    n_units: int | None = None
    usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class GroupBill:
    """Cost of one group.

    Attributes:
        name: Name of the group.
        n_tokens: Tokens.
        usd: Cost in USD.
        usd_per_mchar: USD per million characters.
        share_of_bill: Part of all groups' bill.
        share_of_chars: Part of all groups' characters.
        premium: Tokens per unit over those of the reference, where both are aligned; else tokens
            per character over those of the reference, which scripts of different density distort.
        is_aligned: True if the premium is per unit.
    """

    name: str
    n_tokens: int
    usd: Decimal
    usd_per_mchar: Decimal | None
    share_of_bill: float
    share_of_chars: float
    premium: float | None
    is_aligned: bool


def bill_by_group(
    groups: Sequence[GroupUse], *, reference: str | None = None
) -> tuple[GroupBill, ...]:
    """Return the bill of each group, dearest first.

    Formula: the ledger's money; premium ``(tokens / unit) / (tokens / unit of the reference)``.

    Source: arXiv:2305.15425 and 2305.13707 (premium of languages on aligned text).

    Args:
        groups: Use by group.
        reference: Group that the premiums refer to; None: the one with the most characters.

    Raises:
        UsageError: If there is no group, a name occurs twice, a number is negative, or the
            reference is not among the groups.
    """
    if not groups:
        raise UsageError("there is no group to bill; expected at least one")
    names = [group.name for group in groups]
    for group in groups:
        if names.count(group.name) > 1:
            raise UsageError(f"the group {group.name!r} is given twice")
        if min(group.n_requests, group.n_bytes, group.n_chars, group.n_tokens) < 0:
            raise UsageError(f"the group {group.name!r} has a negative number")
    base_name = reference or max(groups, key=lambda g: (g.n_chars, g.name)).name
    base = next((group for group in groups if group.name == base_name), None)
    if base is None:
        raise UsageError(f"the reference {base_name!r} is none of: {', '.join(names)}")
    usd = {group.name: group.usd for group in groups}
    total_usd = sum(usd.values(), Decimal(0))
    total_chars = sum(group.n_chars for group in groups)
    bills = []
    for group in groups:
        premium, aligned = _premium(group, base)
        cost = usd[group.name]
        bills.append(
            GroupBill(
                name=group.name,
                n_tokens=group.n_tokens,
                usd=cost,
                usd_per_mchar=cost * 1_000_000 / group.n_chars if group.n_chars else None,
                share_of_bill=float(cost / total_usd) if total_usd else 0.0,
                share_of_chars=group.n_chars / total_chars if total_chars else 0.0,
                premium=premium,
                is_aligned=aligned,
            )
        )
    return tuple(sorted(bills, key=lambda bill: (-bill.usd, bill.name)))


def _premium(group: GroupUse, base: GroupUse) -> tuple[float | None, bool]:
    if group.n_units and base.n_units and base.n_tokens:
        ratio = (group.n_tokens / group.n_units) / (base.n_tokens / base.n_units)
        return ratio, True
    if group.n_chars and base.n_chars and base.n_tokens:
        return (group.n_tokens / group.n_chars) / (base.n_tokens / base.n_chars), False
    return None, False
