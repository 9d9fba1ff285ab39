"""Strings with provenance: every operation reads as on ``str`` and gives no trust."""

# ruff: noqa: E501, UP031 - templates in one line; % is what is tested

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.chat.environment import FILTERS, ChatEnvironment, tojson
from jeton.chat.text import GENERATED, TRUSTED, Text, joined, runs_of

# Upper case is the template's, lower case is data: so the text itself says who wrote what.
EXAMPLES = settings().max_examples
LETTERS = "ABCß ab\n\tDdЖж"


def _of(plain: str) -> Text:
    made = joined(Text.all_of(c, TRUSTED) if not c.islower() else c for c in plain)
    return made if isinstance(made, Text) else Text(made)


def trusted_part(value: str) -> str:
    return "".join(str.__str__(value)[a:b] for a, b, flags in runs_of(value) if flags & TRUSTED)


def check_runs(value: str) -> None:
    """The invariant of runs, and that no data became trusted."""
    at = 0
    before = 0
    for start, end, flags in runs_of(value):
        assert at <= start < end <= len(value)
        assert flags > 0
        assert not (start == at and flags == before and at)
        at, before = end, flags
    assert not any(c.islower() for c in trusted_part(value)), (value, runs_of(value))


texts = st.text(alphabet=LETTERS, max_size=12)
small = st.integers(-3, 14)

UNARY: dict[str, Callable[[Any], Any]] = {
    "strip": lambda s: s.strip(),
    "lstrip": lambda s: s.lstrip(),
    "rstrip": lambda s: s.rstrip(),
    "split": lambda s: s.split(),
    "rsplit": lambda s: s.rsplit(None, 1),
    "split once": lambda s: s.split(None, 1),
    "splitlines": lambda s: s.splitlines(),
    "splitlines with ends": lambda s: s.splitlines(True),
    "reversed": lambda s: s[::-1],
    "list": list,
    "double": lambda s: s * 2,
    "none": lambda s: s * 0,
    "percent": lambda s: s.replace("%", "") + "%s%%" % s if s else s,
    "center": lambda s: s.center(9),
    "ljust": lambda s: s.ljust(9, "X"),
    "rjust": lambda s: s.rjust(9),
    "zfill": lambda s: s.zfill(9),
    "str": str,
    "expandtabs": lambda s: s.expandtabs(),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda s, t: s + t,
    "add plain": lambda s, t: s + str.__str__(t),
    "add to plain": lambda s, t: str.__str__(s) + t,
    "join": lambda s, t: s.join([t, str.__str__(t), t]),
    "replace": lambda s, t: s.replace("a", t),
    "replace own": lambda s, t: s.replace(t, "Q"),
    "replace one": lambda s, t: s.replace(t, "Q", 1),
    "replace nothing": lambda s, t: s.replace("", t, 2),
    "replace everywhere": lambda s, t: s.replace("", t),
    "strip": lambda s, t: s.strip(t),
    "prefix": lambda s, t: s.removeprefix(t[:1]),
    "suffix": lambda s, t: s.removesuffix(t[-1:]),
    "partition": lambda s, t: s.partition(t or "A"),
    "rpartition": lambda s, t: s.rpartition(t or "A"),
    "split": lambda s, t: s.split(t or "A"),
    "rsplit": lambda s, t: s.rsplit(t or "A", 1),
}


def check_all(value: Any) -> None:
    if isinstance(value, str):
        check_runs(value)
    elif isinstance(value, list | tuple):
        for part in value:
            check_all(part)


@settings(max_examples=5 * EXAMPLES)
@given(name=st.sampled_from(sorted(UNARY)), plain=texts)
def test_an_operation_reads_as_on_str(name: str, plain: str) -> None:
    result = UNARY[name](_of(plain))
    assert result == UNARY[name](plain)
    check_all(result)


@settings(max_examples=5 * EXAMPLES)
@given(name=st.sampled_from(sorted(BINARY)), one=texts, two=texts)
def test_an_operation_of_two_reads_as_on_str(name: str, one: str, two: str) -> None:
    result = BINARY[name](_of(one), _of(two))
    assert result == BINARY[name](one, two)
    check_all(result)


@given(plain=texts, start=small, stop=small, step=st.sampled_from([1, 2, -1]))
def test_slices(plain: str, start: int, stop: int, step: int) -> None:
    result = _of(plain)[start:stop:step]
    assert result == plain[start:stop:step]
    check_runs(result)
    # Nothing is lost either: what was trusted still is.
    assert trusted_part(result) == "".join(c for c in result if not c.islower())


@given(plain=texts)
def test_what_keeps_all_keeps_all(plain: str) -> None:
    text = _of(plain)
    whole = trusted_part(text)
    assert trusted_part("".join(text.split("\0")[0:1]) or text) in (whole, "")
    assert trusted_part(joined(text)) == whole
    assert trusted_part(joined(text.splitlines(keepends=True))) == whole
    assert trusted_part(text.replace("\0", "x")) == whole
    assert trusted_part(pickle.loads(pickle.dumps(text))) == whole
    assert [c for c in text] == list(plain)
    assert hash(text) == hash(plain)
    assert {plain: 1}[text] == 1


@pytest.mark.parametrize(
    "method", ["upper", "lower", "title", "capitalize", "swapcase", "casefold"]
)
@given(
    parts=st.lists(st.tuples(st.text(alphabet="aBßİǆΣς é", max_size=4), st.booleans()), max_size=5)
)
def test_case(method: str, parts: list[tuple[str, bool]]) -> None:
    text = joined(Text.all_of(part, TRUSTED) if is_own else part for part, is_own in parts)
    traced = text if isinstance(text, Text) else Text(text)
    result = getattr(traced, method)()
    assert result == getattr(str.__str__(traced), method)()
    limit = sum(len(part) * 3 for part, is_own in parts if is_own)
    assert len(trusted_part(result)) <= limit
    if all(is_own for part, is_own in parts if part):
        assert trusted_part(result) in (result, "")


@given(plain=st.text(alphabet="ab é", max_size=8), known=st.booleans())
def test_flags_are_put_on_top(plain: str, known: bool) -> None:
    text = Text.all_of(plain, TRUSTED) if known else Text(plain)
    marked = (text + "x" + text).replace("x", "y")
    both = (marked if isinstance(marked, Text) else Text(marked)).with_flags(GENERATED)
    assert sum(end - start for start, end, _ in both.runs) == len(both)
    assert all(flags & GENERATED for _, _, flags in both.runs)
    assert len(trusted_part(both)) == (2 * len(plain) if known else 0)


VALUES = st.one_of(
    st.integers(-5, 5), st.floats(allow_nan=False, width=16), st.none(), st.booleans(), texts
)


@given(
    literal=st.lists(
        st.sampled_from(["A%", "%s", "%d", "%r", "%5s", "%-4s|", "%%", "B", "%(K)s"]), max_size=5
    ),
    values=st.lists(VALUES, max_size=4),
)
def test_percent(literal: list[str], values: list[Any]) -> None:
    template = Text.all_of("".join(literal).replace("A%", "A"), TRUSTED)
    own = [_of(v) if isinstance(v, str) else v for v in values]
    for arguments, plain in ((tuple(own), tuple(values)), ({"K": "x"}, {"K": "x"})):
        try:
            expected = str.__str__(template) % plain
        except (TypeError, ValueError, KeyError, OverflowError) as error:  # infinity as %d
            with pytest.raises(type(error)):
                template % arguments
            continue
        result = template % arguments
        assert result == expected
        trusted = trusted_part(result)
        assert not any(c.islower() and c not in "x" for c in trusted)
        assert "x" not in trusted


def test_percent_keeps_both() -> None:
    result = Text.all_of("<|%s|>%d%%", TRUSTED) % (Text.all_of("U", TRUSTED), 5)
    assert result == "<|U|>5%"
    assert runs_of(result) == ((0, 5, TRUSTED), (6, 7, TRUSTED))


def render(source: str, **variables: Any) -> str:
    environment = ChatEnvironment()
    template = environment.from_string(source)
    return template.environment.concat(template.root_render_func(template.new_context(variables)))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A{{ x }}B", "AB"),
        ("{{ 'A' + x + 'B' }}", "AB"),
        ("{{ x + 'A' }}", "A"),
        ("{{ 'A' ~ x ~ 1 ~ 'B' }}", "AB"),
        ("{{ ('A' ~ x)|upper }}", "A"),
        ("{{ ['A', x, 'B']|join('-') }}", "A--B"),
        ("{{ ['A', x]|join(x) }}", "A"),
        ("{{ [x, x]|join('<>') }}", "<>"),
        ("{{ x|replace('d', 'A') }}", "A"),
        ("{{ x.replace('d', 'A') }}", "A"),
        ("{{ 'AdB'.replace('d', x) }}", "AB"),
        ("{{ '{}<{}>'.format(x, 'A') }}", "<A>"),
        ("{{ '{x}<{0.y}>{{'.format({'y': 'A'}, x=x) }}", "<A>{"),
        ("{{ '{x}!'.format_map({'x': x}) }}", "!"),
        ("{{ x.format('A') }}", ""),
        ("{{ '%s<%s>'|format(x, 'A') }}", "<A>"),
        ("{{ ('  A' ~ x ~ ' B ')|trim }}", "A B"),
        ("{{ ('A ' ~ x ~ '\nB')|indent(2) }}", "A B"),
        ("{{ ('a ' ~ x)|title }}", "A "),
        ("{{ ('A' ~ x)|truncate(3, true, 'E', 0) }}", "AE"),
        ("{{ ('A' ~ x)|center(9) }}", "A"),
        ("{{ (x ~ 'A')|reverse }}", "A"),
        ("{{ ('A' ~ x)|first }}{{ (x ~ 'B')|last }}", "AB"),
        ("{{ ['A', x]|tojson }}", "A"),
        ("{{ {'K': x, 'L': 'A'}|tojson(indent=2) }}", "KLA"),
        ("{% set y %}A{{ x }}B{% endset %}{{ y }}", "AB"),
        ("{% macro m(z) %}A{{ z }}{% endmacro %}{{ m(x) }}{{ m('B') }}", "AAB"),
        ("{% macro m() %}A{{ caller() }}{% endmacro %}{% call m() %}{{ x }}B{% endcall %}", "AB"),
        ("{% filter upper %}a{{ x }}{% endfilter %}", "A"),
        (
            "{% set ns = namespace(t='') %}{% for c in [x, 'A'] %}{% set ns.t = ns.t + c %}{% endfor %}{{ ns.t }}",
            "A",
        ),
        ("{% generation %}A{{ x }}{% endgeneration %}", "A"),
        ("{% for a in ('A,' ~ x ~ ',B').split(',') %}{{ a }}{% endfor %}", "AB"),
        ("{{ ('A' ~ x ~ 'B')[1:] }}", "B"),
        ("{{ x|default('A') }}{{ y|default('A') }}", "A"),
        ("{{ 'A' if x else x }}", "A"),
        ("{{ cycler('A', x).next() }}", "A"),
        ("{% set j = joiner('A') %}{{ j() }}{{ x }}{{ j() }}", "A"),
        ("{{ dict(k='A')['k'] }}{{ dict(k=x).k }}", "A"),
        ("{{ x is string and 'A' in ('A' ~ x) }}", ""),
        ("{{ 1 }}{{ 'A' * 2 }}{{ x|length }}", "1AA"),
        ("{{ 'A'|safe }}{{ 'A'|e }}{{ 'A'|string }}{{ 'A'|urlencode }}", "AAAA"),
        ("{% set a = 'A' %}{{ a|safe }}{{ a|e }}{{ a|string }}", "A"),
        ("{% set a = 'A' %}{{ a|urlencode }}{{ x|safe }}{{ a|wordwrap }}", ""),
        ("{{ ['A', x]|map('upper')|join }}", "A"),
        ("{{ x.with_flags(1) }}{{ x['cut']() if x['cut'] else 'A' }}", None),
        ("{{ x.all_of is defined }}{{ x['runs'] is defined }}{{ x._runs is defined }}", ""),
    ],
)
def test_templates_carry_provenance(source: str, expected: str | None) -> None:
    from jinja2.exceptions import UndefinedError

    if expected is None:
        with pytest.raises(UndefinedError):
            render(source, x="data")
        return
    result = render(source, x="data")
    assert trusted_part(result) == expected
    assert "data" not in trusted_part(result).lower()
    check = str.__str__(result) if isinstance(result, str) else result
    assert isinstance(check, str)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=6).map(str),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    value=JSON,
    own=st.text(max_size=5),
    indent=st.none() | st.integers(0, 3) | st.just("\t"),
    ascii_only=st.booleans(),
    sort_keys=st.booleans(),
)
def test_json_reads_as_json(
    value: Any, own: str, indent: int | str | None, ascii_only: bool, sort_keys: bool
) -> None:
    whole = {"value": value, "own": Text.all_of(own, TRUSTED)}
    result = tojson(whole, ascii_only, indent, None, sort_keys)
    options: dict[str, Any] = {"ensure_ascii": ascii_only, "indent": indent, "sort_keys": sort_keys}
    assert result == json.dumps({"value": value, "own": own}, **options)
    assert trusted_part(result) == json.dumps(own, ensure_ascii=ascii_only)[1:-1]


@given(
    text=st.text(alphabet="ab\n \r", max_size=8),
    width=st.integers(0, 3),
    first=st.booleans(),
    blank=st.booleans(),
)
def test_filters_read_as_jinjas(text: str, width: int, first: bool, blank: bool) -> None:
    from jinja2.filters import FILTERS as JINJA

    assert FILTERS["indent"](text, width, first, blank) == JINJA["indent"](
        text, width, first, blank
    )
    assert FILTERS["title"](text) == JINJA["title"](text)


def test_text_cannot_be_formatted_around_the_sandbox() -> None:
    with pytest.raises(TypeError):
        Text("{0}").format(1)
    with pytest.raises(TypeError):
        Text("{a}").format_map({"a": 1})
