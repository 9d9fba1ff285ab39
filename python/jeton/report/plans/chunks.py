"""A plan of step sizes in words and tables, made from `ChunkPlan.to_dict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from jeton._plain import counted
from jeton.report.json_report import safe_json
from jeton.report.numbers import Numbers
from jeton.report.plans.curves import Curve, curves_chart
from jeton.report.result_page import (
    Opening,
    PageTable,
    Sum,
    result_html,
    result_markdown,
)
from jeton.report.tree import Plot

if TYPE_CHECKING:
    from jeton.planning.serving import ChunkPlan
    from jeton.planning.serving.chunks import ChunkSize

_TITLE = "Sizes of steps"
_BASIS = "Times are estimated by the roofline of the GPU. ★ marks the advised size."


def chunk_json(plan: ChunkPlan) -> str:
    """As JSON text with a line end."""
    return safe_json(plan.to_dict())


def chunk_words(plan: ChunkPlan) -> tuple[str, ...]:
    """Describe the plan in sentences."""
    gpus = "" if plan.n_gpus == 1 else f"{plan.n_gpus} x "
    words = [
        f"{plan.model} on {gpus}{plan.gpu}: {plan.n_decoding:,} requests decode beside, "
        f"{plan.context_tokens:,} tokens each; the mean prompt has {plan.prompt_tokens:,}",
        f"a step that only decodes takes {plan.decode_seconds * 1e3:.3g} ms",
        "arithmetic is what takes time, whatever the chunk"
        if plan.knee_tokens is None
        else f"from {plan.knee_tokens:,} prompt tokens on, arithmetic takes longer than memory",
    ]
    if plan.best_tokens is None:
        words.append(f"no size keeps the limit: {plan.reason}")
    else:
        best = next(size for size in plan.sizes if size.chunk_tokens == plan.best_tokens)
        words += [
            f"advised: {plan.best_tokens:,} prompt tokens a step: {plan.reason}",
            f"today {_said(plan.today)}; planned {_said(best)}",
            f"vLLM: `--max-num-batched-tokens {plan.step_tokens}`; SGLang: `--chunked-prefill-size "
            f"{plan.best_tokens}`",
        ]
    return tuple(words)


def _opening(plan: ChunkPlan) -> Opening:
    """The size to set, and what a step takes today and with it."""
    numbers = Numbers(plan.to_dict())
    today = Sum(
        f"Today, {plan.today.chunk_tokens:,} prompt tokens",
        numbers.show("today.step_seconds", "seconds", basis="estimated") or "",
        f"a step; the limit is {plan.tpot_seconds * 1e3:g} ms",
    )
    if plan.best_tokens is None:
        return Opening("No size of step keeps the limit: raise it, or take a faster GPU", (today,))
    place = [one.chunk_tokens for one in plan.sizes].index(plan.best_tokens)
    step = numbers.show(f"sizes[{place}].step_seconds", "seconds", basis="estimated")
    return Opening(
        f"Read {plan.best_tokens:,} prompt tokens a step: `--max-num-batched-tokens "
        f"{plan.step_tokens}` in vLLM",
        (today, Sum(f"With {plan.best_tokens:,} prompt tokens", step or "", "a step")),
    )


def _said(size: ChunkSize) -> str:
    late = "" if size.keeps_limit else ", beyond the limit"
    return (
        f"{counted(size.chunk_tokens, 'prompt token')} in {size.step_seconds * 1e3:.3g} ms{late}, "
        f"{size.prompt_tokens_per_second:,.0f} a second"
    )


def chunk_grids(plan: ChunkPlan) -> tuple[PageTable, ...]:
    """Tables: sizes, and edges of buckets."""
    numbers = Numbers(plan.to_dict())
    rows = []
    best = None
    for place, size in enumerate(plan.sizes):
        at = f"sizes[{place}]"
        if size.chunk_tokens == plan.best_tokens:
            best = place
        rows.append(
            (
                f"{size.chunk_tokens:,}",
                numbers.show(f"{at}.step_seconds", "seconds", basis="estimated"),
                numbers.show(f"{at}.prompt_tokens_per_second", "count", basis="estimated"),
                numbers.show(f"{at}.arithmetic_share", "share", basis="estimated"),
                numbers.show(f"{at}.decode_slowdown", "ratio", basis="estimated"),
                numbers.show(f"{at}.ttft_seconds", "seconds", basis="estimated"),
                "yes" if size.keeps_limit else "no",
            )
        )
    grids = [
        PageTable(
            f"Steps by prompt tokens; the limit is {plan.tpot_seconds * 1e3:g} ms",
            (
                "Prompt tokens",
                "Step",
                "Prompt tokens per s",
                "Arithmetic",
                "Decoding slower by",
                "Mean prompt read in",
                "Keeps the limit",
            ),
            tuple(rows),
            best,
            n_text=0,
        )
    ]
    if plan.buckets:
        grids.append(_edges(plan, numbers))
    return tuple(grids)


def _edges(plan: ChunkPlan, numbers: Numbers) -> PageTable:
    rows = []
    for place, bucket in enumerate(plan.buckets):
        for how, edges, added in (
            ("least time", bucket.edges, "added_share"),
            ("least padding", bucket.padding_edges, "padding_added_share"),
            ("powers of two", bucket.doubling_edges, "doubling_added_share"),
        ):
            rows.append(
                (
                    bucket.name,
                    how,
                    ", ".join(map(str, edges)),
                    numbers.show(f"buckets[{place}].{added}", "share", basis="estimated"),
                )
            )
    return PageTable(
        "Edges of buckets",
        ("Work", "Edges with", "Edges", "Padding adds to the time"),
        tuple(rows),
        n_text=3,
    )


def chunk_markdown(plan: ChunkPlan) -> str:
    """As GitHub-flavoured Markdown."""
    return result_markdown(
        plan.to_dict(), title=_TITLE, words=chunk_words(plan), grids=chunk_grids(plan)
    )


def chunk_html(plan: ChunkPlan) -> str:
    """The page; the figures as JSON in it."""
    step = Curve("step", tuple((float(one.chunk_tokens), one.step_seconds) for one in plan.sizes))
    read = Curve(
        "prompt tokens a second",
        tuple((float(one.chunk_tokens), one.prompt_tokens_per_second) for one in plan.sizes),
    )
    return result_html(
        plan.to_dict(),
        title=_TITLE,
        opening=_opening(plan),
        words=chunk_words(plan),
        plots=(
            Plot(
                "Time of a step",
                "by prompt tokens; dashed is the limit",
                _chart("step", step, limit=plan.tpot_seconds),
            ),
            Plot("Prompt tokens a second", "by prompt tokens of a step", _chart("read", read)),
        ),
        grids=chunk_grids(plan),
        basis=_BASIS,
    )


def _chart(name: str, curve: Curve, *, limit: float | None = None) -> Markup:
    return curves_chart(
        f"chunks-{name}",
        [curve],
        alt=f"{curve.name} by prompt tokens: "
        + "; ".join(f"{x:,.0f}: {y:.4g}" for x, y in curve.points),
        write_x=lambda value: f"{value:,.0f}",
        write_y=lambda value: f"{value:.4g}",
        limit=limit,
    )
