"""Looks of a report on preprocessing: Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton.report.markdown_text import text as plain

if TYPE_CHECKING:
    from jeton.preprocess import PreprocessReport, TokenSaving


def _saving(saving: TokenSaving) -> str:
    text = f"{saving.saved_share:.1%}"
    if saving.interval is not None:
        text += f" ({saving.interval.low:.1%} to {saving.interval.high:.1%})"
    return text


def report_markdown(found: PreprocessReport) -> str:
    """Return the report as Markdown: tables of savings, losses and outcomes."""
    from jeton.preprocess import LOSS_CLASSES

    lines = [
        "# Preprocessing",
        "",
        f"{found.n_documents:,} documents, counted with `{found.tokenizer}`. Intervals are 95%, by "
        "drawing documents.",
        "",
        "| step | class | documents changed | tokens before | after | saved in order | alone |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for step in found.steps:
        saving = step.in_order
        lines.append(
            f"| {step.step} | {step.loss_class} | {saving.n_changed_documents:,} | "
            f"{saving.tokens_before:,} | {saving.tokens_after:,} | {_saving(saving)} | "
            f"{_saving(step.alone)} |"
        )
    total = found.total
    lines += [
        f"| all | | {total.n_changed_documents:,} | {total.tokens_before:,} | "
        f"{total.tokens_after:,} | {_saving(total)} | |",
        "",
    ]
    for loss_class in dict.fromkeys(step.loss_class for step in found.steps):
        lines.append(f"- {loss_class}: {LOSS_CLASSES[loss_class]}")
    lines += [
        "",
        "## What no longer stands there",
        "",
        "| step | kind | lost | of | for example |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    groups = [(step.step, step.losses) for step in found.steps] + [("all", found.losses)]
    for name, losses in groups:
        for loss in losses:
            if loss.n_lost:
                shown = plain("; ".join(loss.examples))
                lines.append(
                    f"| {name} | {loss.kind} | {loss.n_lost:,} | {loss.n_before:,} | {shown} |"
                )
    outcomes = [(s.step, words, n) for s in found.steps for words, n in s.outcomes.items()]
    if outcomes:
        lines += [
            "",
            "## What was done",
            "",
            "| step | outcome | documents |",
            "| --- | --- | ---: |",
        ]
        lines += [f"| {step} | {words} | {n:,} |" for step, words, n in outcomes]
    return "\n".join(lines) + "\n"
