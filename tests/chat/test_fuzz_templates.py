"""Fuzzing: random templates and random messages.

Few examples by default; JETON_HYPOTHESIS=thorough runs 3000 of each, and any profile can be given more time
with ``pytest --hypothesis-seed``. What must hold for any template: the text is the one that Jinja without
provenance gives; no character of the data is ever trusted; what goes wrong is a TemplateError; nothing hangs.
"""

# ruff: noqa: E501, PT017 - templates in one line; either outcome is looked at

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from jeton.chat import ChatTemplate, RenderedChat, TemplateLimits
from jeton.errors import JetonError, TemplateError

EXAMPLES = settings().max_examples
# Letters that stand in data only: none of them may ever be trusted, in any case.
DATA = "жщЖЩ"
data_text = st.text(alphabet=DATA + " \n<|>,", max_size=10)

NAMES = ["x", "y", "n", "items", "d", "messages", "none", "true", "nothing", "ns.s"]
literals = st.sampled_from(
    [
        "'<|'",
        "'|>'",
        "', '",
        "''",
        "'A b'",
        "'%s|%s'",
        "'{}<{x}>'",
        "'\\n'",
        "1",
        "0",
        "-1",
        "2.5",
        "[1, 'A']",
        "{'k': 'A', 'x': x}",
        "(x, 'B')",
    ]
)
FILTERS = [
    "trim", "upper", "lower", "title", "capitalize", "join", "join(', ')", "join(x)", "join('<', attribute='k')",
    "replace('A', x)", "replace(x, 'A')", "replace(x[:1], '<')", "first", "last", "list", "length", "string", "tojson",
    "tojson(indent=2)", "tojson(ensure_ascii=true)", "indent", "indent(2, true)", "indent(x)", "reverse", "sort", "unique|list",
    "default('D')", "default(x, true)", "format(x, 'A')", "truncate(3, true, '.')", "wordcount", "int", "float", "abs",
    "map('upper')|join", "map('string')|list", "map(attribute='k')|join('-')", "select|list", "batch(2)|list", "slice(2)|list",
    "items|list", "dictsort", "center(9)", "safe", "e", "urlencode", "striptags", "wordwrap(3)", "min", "max", "sum",
    "groupby('k')|list", "selectattr('k')|list", "rejectattr('k')|list", "pprint", "filesizeformat", "xmlattr", "attr('upper')",
]  # fmt: skip
METHODS = [
    "strip()", "lstrip('<')", "rstrip()", "split()", "split(',')", "split(',', 1)", "rsplit(None, 1)", "splitlines()",
    "splitlines(true)", "upper()", "lower()", "title()", "capitalize()", "replace('A', x)", "replace(x, y)", "replace('', '-')",
    "join(['A', x])", "join(items)", "format(x, x=y)", "format('A')", "partition('<')", "rpartition(',')", "startswith('A')",
    "find('A')", "count('<')", "removeprefix('<')", "removesuffix('>')", "center(7, '*')", "ljust(5)", "zfill(4)", "encode()",
    "keys()|list", "values()|list", "items()|list", "get('k', 'A')", "swapcase()", "casefold()", "expandtabs()", "isalpha()", "index('<')",
]  # fmt: skip
SUBSCRIPTS = [
    "[0]",
    "[-1]",
    "[1:]",
    "[:2]",
    "[::-1]",
    "['k']",
    "['upper']",
    "[x]",
    ".k",
    ".role",
    ".content",
    ".length",
]
TESTS = [
    "is string",
    "is defined",
    "is none",
    "is mapping",
    "is iterable",
    "is number",
    "== 'A'",
    "in 'A<|'",
    "> 1",
    "is eq(x)",
]

expressions: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(NAMES),
        literals,
        st.builds("({}|{})".format, expressions, st.sampled_from(FILTERS)),
        st.builds("({}).{}".format, expressions, st.sampled_from(METHODS)),
        st.builds("({}){}".format, expressions, st.sampled_from(SUBSCRIPTS)),
        st.builds(
            "({} {} {})".format,
            expressions,
            st.sampled_from(["+", "~", "*", "%", "or", "and", "-"]),
            expressions,
        ),
        st.builds(
            "({} if {} {} else {})".format,
            expressions,
            expressions,
            st.sampled_from(TESTS),
            expressions,
        ),
        st.builds("[{}, {}]".format, expressions, expressions),
        st.builds("{{'k': {}}}".format, expressions),
    )
)
statements: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.builds("{{{{ {} }}}}".format, expressions),
        st.sampled_from(["<|A|>", "\n  ", "A\n", "{#- c -#}", "{{- 'A' -}}", "{{ loop.index }}", "{% break %}", "{{ bos_token }}"]),
        st.builds("{{%- if {} %}}{}{{% else %}}{}{{% endif %}}".format, expressions, statements, statements),
        st.builds("{{% for a in {} %}}{}{{{{ a }}}}{{% endfor -%}}".format, expressions, statements),
        st.builds("{{% for k, v in {} %}}{{{{ k }}}}={{{{ v }}}}{{% endfor %}}".format, expressions),
        st.builds("{{% set x = {} %}}{}".format, expressions, statements),
        st.builds("{{% set y %}}{}{{% endset %}}{{{{ y }}}}".format, statements),
        st.builds("{{% set ns.s = {} %}}{{{{ ns.s }}}}".format, expressions),
        st.builds("{{% macro m(p, q='A') %}}{}{{{{ p }}}}{{{{ q }}}}{{% endmacro %}}{{{{ m({}) }}}}".format, statements, expressions),
        st.builds("{{% macro m() %}}<{{{{ caller() }}}}>{{% endmacro %}}{{% call m() %}}{}{{% endcall %}}".format, statements),
        st.builds("{{% filter {} %}}{}{{% endfilter %}}".format, st.sampled_from(["upper", "trim", "indent", "title", "replace('A', 'B')"]), statements),
        st.builds("{{% generation %}}{}{{% endgeneration %}}".format, statements),
        st.builds("{{% with z = {} %}}{{{{ z }}}}{}{{% endwith %}}".format, expressions, statements),
        st.builds("{}{}".format, statements, statements),
    )
)  # fmt: skip
HOSTILE = [
    "{{ x.__class__ }}", "{{ 'a' * 10 ** 9 }}", "{{ ''.join.__self__ }}", "{% include x %}", "{% for a in range(10 ** 9) %}{% endfor %}",
    "{{ raise_exception(x) }}", "{% macro r() %}{{ r() }}{% endmacro %}{{ r() }}", "{{ lipsum(n=999) }}", "{{ cycler.__init__ }}",
    "{{ ", "{% endif %}", "{% if", "{{ x|nothing }}", "{% extends 'x' %}", "{% block b %}{{ x }}{% endblock %}{{ self.b() }}", "%}", "\x00", "{% raw %}",
]  # fmt: skip
wild = st.lists(
    st.one_of(
        statements, st.sampled_from(HOSTILE), st.text(alphabet="{}%#|~'\"\n\ud800\0é", max_size=4)
    ),
    max_size=4,
).map("".join)

values = st.fixed_dictionaries(
    {
        "x": data_text,
        "y": st.one_of(data_text, st.integers(-2, 3)),
        "n": st.integers(-2, 3),
        "items": st.lists(
            st.one_of(data_text, st.fixed_dictionaries({"k": data_text})), max_size=3
        ),
        "d": st.dictionaries(st.sampled_from(["k", "ж", "role"]), data_text, max_size=2),
    }
)
messages = st.lists(
    st.fixed_dictionaries({"role": data_text, "content": data_text}), min_size=1, max_size=2
)


def plain_environment() -> ImmutableSandboxedEnvironment:
    """Jinja as transformers sets it up, without provenance."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )

    def tojson(
        x: Any,
        ensure_ascii: bool = False,
        indent: Any = None,
        separators: Any = None,
        sort_keys: bool = False,
    ) -> str:
        return json.dumps(
            x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    environment.filters["tojson"] = tojson
    return environment


def check(rendered: RenderedChat) -> None:
    trusted = "".join(rendered.text[start:end] for start, end in rendered.trusted_spans)
    assert not set(trusted.lower()) & set(DATA.lower()), (trusted, rendered)
    for spans in (rendered.trusted_spans, rendered.generation_spans):
        at = -1
        for start, end in spans:
            assert at < start < end <= len(rendered.text)
            at = end


@settings(max_examples=EXAMPLES)
@given(body=statements, variables=values, chat=messages)
def test_the_text_is_jinjas_and_no_data_is_trusted(
    body: str, variables: dict[str, Any], chat: list[dict[str, Any]]
) -> None:
    source = "{% set ns = namespace(s='') %}" + body
    template = ChatTemplate.from_source(
        source,
        special_tokens={"bos_token": "<s>"},
        is_trusted=True,
        limits=TemplateLimits(output_chars=10_000),
    )
    without = source.replace("{% generation %}", "{% if true %}").replace(
        "{% endgeneration %}", "{% endif %}"
    )
    try:
        expected = (
            plain_environment()
            .from_string(without)
            .render(
                messages=chat,
                bos_token="<s>",
                tools=None,
                documents=None,
                add_generation_prompt=False,
                **variables,
            )
        )
    except Exception:
        expected = None
    try:
        rendered = template.render(chat, trusted_roles=frozenset(), **variables)
    except TemplateError as error:
        assert expected is None or error.reason in ("output", "security"), (source, error)
        return
    check(rendered)
    if expected is not None and " object at 0x" in expected:
        return  # Python's own words for a method, with an address: no text of a template
    assert expected is None or rendered.text == expected


@settings(max_examples=EXAMPLES // 2)
@given(source=wild, variables=values, chat=messages)
def test_any_template_renders_or_is_named(
    source: str, variables: dict[str, Any], chat: list[dict[str, Any]]
) -> None:
    limits = TemplateLimits(seconds=2.0, memory_bytes=128 << 20, output_chars=20_000)
    template = ChatTemplate.from_source(source, limits=limits)
    try:
        check(template.render(chat, trusted_roles=frozenset(), **variables))
    except TemplateError as error:
        assert error.reason
        assert str(error)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=4) | st.integers() | st.just("role") | st.just("content"),
            inner,
            max_size=4,
        )
        | st.tuples(inner)
    ),
    max_leaves=8,
)


@settings(max_examples=EXAMPLES)
@given(
    chat=ANYTHING | st.lists(ANYTHING, max_size=3),
    tools=ANYTHING,
    documents=ANYTHING,
    last=ANYTHING,
    data=st.data(),
)
def test_any_messages_render_or_are_refused(
    chat: Any, tools: Any, documents: Any, last: Any, data: st.DataObject
) -> None:
    from tests.chat.families import FAMILIES

    family = FAMILIES[data.draw(st.sampled_from(sorted(FAMILIES)))]
    try:
        rendered = family.template.render(
            chat,
            tools=tools,
            documents=documents,
            continue_final_message=last if isinstance(last, str | bool) else False,
            date_string=last,
        )
    except JetonError as error:
        assert str(error)
    else:
        at = 0
        for start, end in rendered.trusted_spans:
            assert at <= start < end <= len(rendered.text)
            at = end
