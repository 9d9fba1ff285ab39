"""Properties of the steps for any text, and of the forms of JSON for any value."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.preprocess.boilerplate import BoilerplateStep
from jeton.preprocess.html_step import HtmlStep, looks_like_html, nesting, visible_text
from jeton.preprocess.json_step import JsonStep, json_forms, restore_json
from jeton.preprocess.json_values import compact, minified, parse_json, same_values
from jeton.preprocess.regions import field_span, spliced
from jeton.preprocess.text_steps import NumbersStep, RepetitionStep, UnicodeStep, WhitespaceStep
from jeton.preprocess.toon import ToonError, decode_toon, encode_toon

TOKENIZER = jeton.load("jeton-general-32k")

SCRAPS = st.sampled_from(["word ", "  ", "\t", "\n", "\n\n\n", "```\n", "    code\n", "`a  b`"]) | (
    st.sampled_from(['"', "- x\n", "1.234567 ", "\u00a0", "\u200d", "\u200b", "e\u0301", "<pre>"])
    | st.sampled_from(["\U0001f468\u200d\U0001f469", "</pre>", "\r\n"])
)
TEXTS = st.lists(SCRAPS, max_size=30).map("".join)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        ["true", "null", "-", "- x", "1e5", "05", "a,b", "a: b", "[1]", ' "', "\n", "#"]
    )
)
KEYS = st.text(max_size=4) | st.sampled_from(["id", "customer_name", "a.b", "-", "a b", "1"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
TABLES = st.lists(KEYS, min_size=1, max_size=3, unique=True).flatmap(
    lambda keys: st.lists(st.fixed_dictionaries({key: SCALARS for key in keys}), max_size=4)
)


def without_space(text: str) -> str:
    return re.sub(r"\s+", "", text)


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_whitespace_changes_white_space_only(text: str) -> None:
    changed = WhitespaceStep().apply(text)
    assert without_space(changed) == without_space(text)
    assert len(changed) <= len(text)
    assert WhitespaceStep().apply(changed) == changed


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_unicode_is_stable_and_keeps_what_is_seen(text: str) -> None:
    changed = UnicodeStep().apply(text)
    assert UnicodeStep().apply(changed) == changed

    def seen(value: str) -> str:
        normal = unicodedata.normalize("NFC", value)
        return "".join(c for c in normal if not c.isspace() and unicodedata.category(c) != "Cf")

    assert seen(changed) == seen(text)


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_content_steps_only_take_away(text: str) -> None:
    assert len(RepetitionStep().apply(text)) <= len(text)
    rounded = NumbersStep(3).apply(text)
    assert NumbersStep(3).apply(rounded) == rounded


@settings(max_examples=40, deadline=None)
@given(VALUES | TABLES)
def test_each_form_of_json_gives_its_values_back(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    plain = compact(parse_json(text))
    for form in json_forms(text).values():
        assert same_values(parse_json(restore_json(form)), parse_json(text))
    if plain.startswith(("{", "[")):
        step = JsonStep(TOKENIZER)
        assert step.invert(step.apply(plain)) == plain
        assert TOKENIZER.count(step.apply(text)) <= TOKENIZER.count(text)


@settings(max_examples=40, deadline=None)
@given(VALUES | TABLES)
def test_toon_gives_values_back(value: Any) -> None:
    parsed = parse_json(json.dumps(value))
    try:
        text = encode_toon(parsed)
    except ToonError:
        return
    found = decode_toon(text)
    # Rows of a table have the keys of its header, in that order.
    assert json.loads(compact(found)) == json.loads(compact(parsed))


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_minified_json_is_the_same_json(value: Any) -> None:
    assert json.loads(minified(json.dumps(value, indent=3))) == value


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n b: 2",
        "a[2]: 1",
        "a[1]{b}:\n  1,2",
        'a: "x',
        'a: "\\q"',
        "a: 1\n\nb: 2",
        "a[2]:\n  - 1",
        "\ta: 1",
        "a:1",
        "a: 1\na: 2",
    ],
)
def test_toon_that_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(ToonError):
        decode_toon(text)


def test_toon_costs_more_than_minified_json_on_nested_data() -> None:
    orders = [
        {"id": i, "buyer": {"name": f"N{i}", "home": {"town": "Oslo", "lanes": [i, {"no": i}]}}}
        for i in range(20)
    ]
    forms = json_forms(json.dumps({"orders": orders}))
    counts = {name: TOKENIZER.count(form) for name, form in forms.items()}
    assert counts["toon"] > counts["minified"]


@pytest.mark.parametrize(
    ("record", "path", "expected"),
    [
        ('{"a": {"b": "x"}, "n": 1.0}', "a.b", '{"a": {"b": "NEW"}, "n": 1.0}'),
        ('{"a.b": "x", "a": {"b": "y"}}', "a.b", '{"a.b": "NEW", "a": {"b": "y"}}'),
        ('{"a": "x", "a" : "y"}', "a", '{"a": "x", "a" : "NEW"}'),
        ('{ "k" : [ 1, {"a": "q"} ] ,"a":"x"}', "a", '{ "k" : [ 1, {"a": "q"} ] ,"a":"NEW"}'),
    ],
)
def test_one_field_is_replaced(record: str, path: str, expected: str) -> None:
    span = field_span(record, path)
    assert span is not None
    assert spliced(record, span, "NEW") == expected


def test_boilerplate_counts_are_never_too_high_in_little_memory() -> None:
    step = BoilerplateStep(max_lines=50)
    for number in range(300):
        lines = [f"A line of its own, number {number}-{i}" for i in range(10)]
        step.observe("\n".join(["The header of the harbour trust", *lines, "x"]))
    assert len(step._counts) <= 50
    assert step.apply("The header of the harbour trust\nBody\n") == "Body\n"
    assert step.apply("A line of its own, number 3-1\n") == "A line of its own, number 3-1\n"


def test_html_nesting_is_bounded_before_a_library_sees_it() -> None:
    hostile = "<html><body>" + "<div>" * 50_000 + "x"
    assert looks_like_html(hostile)
    assert nesting(hostile) > 50_000
    step = HtmlStep.__new__(HtmlStep)
    step.outcomes = {}
    step._convert = lambda text: pytest.fail("the page was converted")
    assert step.apply(hostile) == hostile
    assert step.outcomes == {"left alone: nested more than 200 deep": 1}


def test_visible_text_has_links_and_no_scripts() -> None:
    page = '<html><head><title>t</title></head><script>var a = 1</script><a href="/x">go</a> 12'
    found = visible_text(page)
    assert "/x" in found
    assert "go" in found
    assert "var" not in found


def test_html_without_its_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "trafilatura", None)
    monkeypatch.setitem(sys.modules, "html2text", None)
    with pytest.raises(jeton.MissingExtraError, match=r"pip install 'jeton\[html\]'"):
        HtmlStep("trafilatura")
    with pytest.raises(jeton.UsageError, match="pip install html2text"):
        HtmlStep("html2text")


def test_steps_are_counted_in_order_and_alone() -> None:
    texts = ["one   two\u00a0 three\n" * 5, "plain text\n"]
    done = jeton.preprocess_texts(texts, steps="unicode,whitespace", tokenizer=TOKENIZER)
    first, second = done.report.steps
    assert first.in_order.tokens_before == TOKENIZER.count_batch(texts).sum()
    assert second.in_order.tokens_before == first.in_order.tokens_after
    assert second.alone.tokens_before == first.in_order.tokens_before
    assert done.report.total.tokens_after == TOKENIZER.count_batch(done.texts).sum()
    assert done.report.total.n_changed_documents == 1
    assert done.report.total.interval is not None
