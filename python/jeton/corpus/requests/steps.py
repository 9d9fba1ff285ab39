"""Steps that an answer of Anthropic lists one by one (``usage.iterations``).

The sum above the list leaves out steps that are billed: a compaction of the context, and calls of
an advisor, which is another model. A step whose model refused before any output is not billed.

Sources (read 2026-11): platform.claude.com, compaction, advisor tool, refusals and fallback;
ccusage#1115, pydantic-ai#5065, litellm#27060, agent-walker#39.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.usage import Usage

MAX_STEPS: Final = 10_000
_SUMMED: Final = ("message", "fallback_message")
"""Kinds of steps that the sum above the list has in it."""

_KNOWN: Final = (*_SUMMED, "compaction", "advisor_message")


def with_steps(
    usage: Usage,
    steps: list[Any],
    model: str,
    read: Callable[[Mapping[str, Any]], Usage],
    report: Report,
) -> tuple[Usage, list[tuple[str, Usage]]]:
    """The usage with every step that is billed, and the steps of other models.

    Args:
        usage: The sum that the answer states.
        steps: Its list of steps.
        model: The model that answered.
        read: Gives the usage of one step.
        report: Called for kinds of steps that are not known.

    Returns:
        The usage of the model, and model and usage of each call of another one.
    """
    summed: list[Usage] = []
    beside: list[Usage] = []
    others: list[tuple[str, Usage]] = []
    for step in steps[:MAX_STEPS]:
        if not isinstance(step, dict):
            continue
        kind, own = str(step.get("type") or "message"), step.get("model")
        found = read(step)
        if kind not in _KNOWN:
            n = max(found.input, 0) + max(found.output, 0)
            report("unread_usage", f"iterations of type {kind[:40]}={n}")
        if isinstance(own, str) and own and _base(own) != _base(model):
            # A model that refused before any output was replaced by the one that answered.
            if found.output > 0 or kind not in _SUMMED:
                others.append((own, found))
        elif kind in _SUMMED:
            summed.append(found)
        else:
            beside.append(found)
    if len(summed) <= 1 and not beside:
        return usage, others
    messages = _sum(summed)
    every = _sum([messages, *beside])
    if (usage.input, usage.output) == (every.input, every.output):
        return usage, others  # it was added up already
    whole = _usage([max(a, b) for a, b in zip(usage.counts, messages.counts, strict=True)])
    counts = _sum([whole, *beside])
    return counts._replace(convention=usage.convention, extras=usage.extras), others


def _base(model: str) -> str:
    return model.partition("[")[0].casefold()


def _sum(parts: list[Usage]) -> Usage:
    counts = []
    for place in range(len(parts[0].counts) if parts else 0):
        stated = [part.counts[place] for part in parts if part.counts[place] >= 0]
        counts.append(sum(stated) if stated else -1)
    return _usage(counts)


def _usage(counts: list[int]) -> Usage:
    if not counts:
        return Usage()
    given, read, written, hour, output, reasoning = counts
    return Usage(given, read, written, hour, output, reasoning)
