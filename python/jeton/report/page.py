"""The audit as one HTML page that needs nothing else: no network, no fonts, no other file."""

from __future__ import annotations

import functools
import os
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from jeton._files import write_whole
from jeton.report.gate import name_in_words
from jeton.report.json_report import embed_json
from jeton.report.numbers import Numbers, Shown, basis_sign, below, lookup
from jeton.report.sections import sections_of
from jeton.report.sections.basis import BASIS_WORDS
from jeton.report.segments import glyphs
from jeton.report.summary import current_tokenizer, first_step, headline
from jeton.report.tree import (
    PAGE,
    Block,
    Gauge,
    Marked,
    Named,
    Quoted,
    Styled,
    Words,
    any_value,
    blocks_of,
    leaves,
    tokenizer_name,
)
from jeton.report.visible import visible
from jeton.report.workload import workload_view

if TYPE_CHECKING:
    from jinja2 import Environment

    from jeton.auditing.gate import GateResult
    from jeton.auditing.result import AuditReport


N_LOOKS = 6
"""Colours, hatchings and markers there are; a seventh tokenizer looks like the first."""
_CODE = re.compile(r"`([^`\n]+)`")
MARKERS = ("\u25cf", "\u25a0", "\u25b2", "\u25c6", "\u25bc", "\u271a")


def to_html(report: AuditReport, gate: GateResult | None = None) -> str:
    """Return the page; the same report gives the same text.

    Args:
        report: The audit.
        gate: The verdict of the gate on it, which the page then shows first.

    Raises:
        ValueError: A figure is not a finite number.
    """
    data = report.to_dict()
    if gate is not None:
        data["gate"] = gate.to_dict()
    numbers = Numbers(data)
    sections = [s for s in sections_of(numbers) if any(True for _ in blocks_of(s.blocks, PAGE))]
    context = {
        **page_context(numbers, current_tokenizer(data)),
        "names": _names(data),
        "workload": workload_view(numbers),
        "headline": headline(numbers),
        "first_step": first_step(numbers),
        "parts": sorted(sections, key=lambda section: not section.is_open),
        "css": asset("report.css"),
        "js": asset("report.js") + asset("copy.js"),
        "what_if_js": asset("what_if.js") if data.get("what_if") else "",
        "embedded": embed_json(data),
    }
    return rendered("page.html.j2", context)


def write_html(
    report: AuditReport, path: str | os.PathLike[str], gate: GateResult | None = None
) -> None:
    """Write the page, whole or not at all.

    Raises:
        OSError: The file cannot be written.
    """
    write_whole(path, to_html(report, gate))


def page_context(numbers: Numbers, current: int) -> dict[str, Any]:
    """Values that every page with tokenizers needs: its data, and the looks of the tokenizers."""
    indices = range(len(numbers.data["tokenizers"]))
    return {
        "data": numbers.data,
        "numbers": numbers,
        "current": current,
        "markers": [MARKERS[i % N_LOOKS] for i in indices],
        "looks": [i % N_LOOKS for i in indices],
    }


def rendered(template: str, context: dict[str, Any]) -> str:
    """Return a page; blocks with a template of their own are rendered with the page's values."""

    def special(name: str, values: dict[str, Any]) -> Markup:
        # The template escapes what it writes.
        return Markup(environment().get_template(name).render(context | values))

    context = context | {"special": special}
    return environment().get_template(template).render(context)


def _names(data: dict[str, Any]) -> tuple[str, ...]:
    """Names that a sentence may begin with, and that are written as they are."""
    used = (data.get("ledger") or {}).get("by_model") or ()
    return (
        *(tokenizer["name"] for tokenizer in data["tokenizers"]),
        *(use["logged_as"] for use in used if use["logged_as"]),
    )


@functools.cache
def asset(name: str) -> str:
    """A style sheet or script of the package."""
    return files("jeton.report").joinpath(f"assets/{name}").read_text(encoding="utf-8")


@functools.cache
def environment() -> Environment:
    """Templates, with what they need to write numbers and other people's text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("jeton.report", "templates"),
        autoescape=True,  # for every template, whatever its name ends in
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        visible=visible, glyphs=glyphs, figure_words=name_in_words, prose=prose, kind=_kind
    )
    made.tests["a_number"] = _is_number
    made.tests["phrase"] = _is_phrase
    made.globals.update(
        number=_number,
        string=_string,
        words=written,
        flat=_flat,
        value_at=lambda numbers, path: written(any_value(numbers, path)),
        blocks_of=lambda blocks: blocks_of(blocks, PAGE),
        below=below,
        lookup=lookup,
        tokenizer_name=tokenizer_name,
    )
    return made


def _kind(block: Block | Words) -> str:
    """The name of a block's type, which a template chooses by."""
    return type(block).__name__


def written(words: Words) -> Markup:
    """Words as HTML: numbers and other people's text carry their paths."""
    return Markup("").join(_written(leaf) for leaf in leaves(words, PAGE))


def _flat(words: Words) -> str:
    """Words of a heading as plain text, for a label."""
    return visible(written(words).striptags())


_STYLES = {
    "tag": ' <span class="tag">{}</span>',
    "hint": ' <span class="hint">{}</span>',
    "none": '<span class="none">{}</span>',
    "strong": "<strong>{}</strong>",
    "below": "<br>{}",
    "source": '<br><span class="source">Source: {}</span>',
}


def _written(leaf: Words) -> Markup:
    match leaf:
        case str():
            return escape(leaf)
        case Quoted("", text):
            return Markup("<bdi>{}</bdi>").format(visible(text))
        case Quoted(path, text):
            return Markup('<bdi data-text-path="{}">{}</bdi>').format(path, prose(text))
        case Named():
            return _named(leaf)
        case Styled(words, look):
            return Markup(_STYLES.get(look, "{}")).format(written(words))
        case Marked(shown, is_best, interval):
            star = '<span class="star" title="best of the column">\u2605</span>' if is_best else ""
            ends = ""
            if interval:
                ends = Markup(' <span class="interval">{} to {}</span>').format(
                    *map(_number, interval)
                )
            return Markup(star) + _number(shown) + ends
        case Gauge(shown, percent):
            bar = '<span class="gauge" aria-hidden="true"><span style="width:{}%"></span></span>{}'
            return Markup(bar).format(percent, _number(shown))
        case Shown() | None:
            return _number(leaf)
        case _:
            raise TypeError(f"no words of a page: {leaf!r}")


def _named(tokenizer: Named) -> Markup:
    """The name of a tokenizer with its marker."""
    look = tokenizer.index % N_LOOKS
    tag = Markup("")
    if tokenizer.is_current and not tokenizer.is_alone:
        tag = Markup(' <span class="tag">in use</span>')
    return Markup(
        '<span class="name k{}"><span class="mark" aria-hidden="true">{}</span> {}</span>{}'
    ).format(look, MARKERS[look], _written(tokenizer.name), tag)


def _number(shown: Shown | None) -> Markup:
    """A number with its path, its exact value, and a sign if it is not exact."""
    if shown is None:
        return Markup('<span class="none">\u2013</span>')
    relation = Markup("")
    if shown.versus:
        relation = Markup(' data-versus="{}"').format(shown.versus)
    elif shown.share_of:
        relation = Markup(' data-share-of="{}"').format(shown.share_of)
    if shown.minus:
        relation += Markup(' data-minus="{}"').format(shown.minus)
    if shown.times != 1:
        relation += Markup(' data-times="{}"').format(shown.times)
    number = Markup('<data value="{}" data-path="{}"{}>{}</data>').format(
        shown.raw, shown.path, relation, shown.text
    )
    sign = basis_sign(shown)
    if not sign:
        return number
    return Markup('<abbr class="basis" title="{}: {}">{}</abbr>{}').format(
        shown.basis, BASIS_WORDS[shown.basis], sign, number
    )


def _string(data: dict[str, Any], path: str) -> Markup:
    """Other people's text with its path: hidden characters visible, its direction isolated."""
    return _written(Quoted(path, str(lookup(data, path))))


def _is_phrase(text: str, names: tuple[str, ...]) -> bool:
    """True if a text begins with a word, and not with a name that is written as it is."""
    return not text.startswith(names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def prose(words: str) -> Markup:
    """Foreign or own words for a page; what stands in backquotes is code, which a click copies.

    The backquotes stay in the text, where a reader of the page's figures finds them, and are not
    drawn.
    """
    tick = Markup('<span class="tick">`</span>')
    parts = _CODE.split(visible(words))
    return Markup("").join(
        Markup("<code>{}{}{}</code>").format(tick, part, tick) if n % 2 else escape(part)
        for n, part in enumerate(parts)
    )
