"""Jinja's sandbox, made so that text carries its provenance.

The environment is that of transformers 5.23.0 (``utils/chat_template_utils.py``, read 2026-11-21):
immutable sandbox, ``trim_blocks``, ``lstrip_blocks``, ``break`` and ``continue``, ``{% generation
%}``, ``tojson`` without HTML escapes, ``raise_exception``, ``strftime_now``. The difference is the
code that templates are compiled to: literal text and string constants become trusted ``Text``, and
pieces are put together so that runs survive. Data stays what it is, plain strings, and so is
untrusted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from jinja2 import nodes, pass_eval_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import do_join, make_attrgetter
from jinja2.nodes import EvalContext
from jinja2.parser import Parser
from jinja2.runtime import Macro, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Namespace
from markupsafe import Markup

from jeton.chat.text import GENERATED, TRUSTED, Text, as_text, braces, joined

# Jinja's filters that would lose provenance, written so that they keep it.
#
# Each gives the text that Jinja 3.1.6 gives (``tojson``: that transformers 5.23.0 gives, read
# 2026-11-21). Filters that are not here work on strings with methods that carry provenance along
# (``trim``, ``upper``, ``format``, ``first``, ``reverse`` ...), or lose it (``escape``,
# ``urlencode``, ``pprint``, ``wordwrap`` ...).

_WORD_BEGINNING = re.compile(r"([-\s({\[<]+)")


def _traced(value: object) -> Text:
    text = as_text(value)
    return text if isinstance(text, Text) else Text(text)


def _replace(s: Any, old: Any, new: Any, count: int | None = None) -> str:
    return _traced(s).replace(as_text(old), as_text(new), -1 if count is None else count)


@pass_eval_context
def _join(
    eval_ctx: EvalContext, value: Iterable[Any], d: Any = "", attribute: str | int | None = None
) -> str:
    if eval_ctx.autoescape:
        return str(do_join(eval_ctx, value, d, attribute))
    if attribute is not None:
        value = map(make_attrgetter(eval_ctx.environment, attribute), value)
    return _traced(d).join(map(as_text, value))


def _title(s: Any) -> str:
    text = _traced(s)
    pieces: list[str] = []
    at = 0
    for part in _WORD_BEGINNING.split(text):
        own = text[at : at + len(part)]
        at += len(part)
        if part:
            pieces += [own[0].upper(), own[1:].lower()]
    return joined(pieces)


def _indent(
    s: Any,
    width: int | str = 4,
    first: bool = False,  # noqa: FBT001, FBT002 - as Jinja calls it
    blank: bool = False,  # noqa: FBT001, FBT002 - as above
) -> str:
    if isinstance(s, Markup):
        s = str(s)
    indention = width if isinstance(width, str) else " " * width
    # Jinja adds a line feed first, so that one at the end counts as a line.
    lines = _traced(s + "\n").splitlines()
    pieces: list[str] = []
    for index, line in enumerate(lines):
        if index:
            pieces.append("\n")
        if (line or blank) if index else first:
            pieces.append(indention)
        pieces.append(line)
    return joined(pieces)


def tojson(
    x: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - templates pass it by place, too
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002 - as above
) -> str:
    """A value as JSON. Strings keep their provenance; what JSON puts around them has none."""
    plain = json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    if not _has_runs(x):
        return plain

    def string(text: str) -> Iterator[str]:
        yield '"'
        for part, flags in Text(text, getattr(text, "_runs", ())).cut():
            escaped = json.dumps(part, ensure_ascii=ensure_ascii)[1:-1]
            yield Text.all_of(escaped, flags) if flags else escaped
        yield '"'

    between, after_key = separators or (("," if indent is not None else ", "), ": ")
    step = " " * indent if isinstance(indent, int) else indent
    written = _Json(string, between, after_key, step, sort_keys=sort_keys)
    traced = joined(written.value(x, 0))
    return traced if traced == plain else plain


def _has_runs(value: Any) -> bool:
    if isinstance(value, str):
        return isinstance(value, Text) and bool(value.runs)
    if isinstance(value, Mapping):
        return any(_has_runs(key) or _has_runs(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(map(_has_runs, value))


class _Json:
    """Writes JSON piece by piece, as ``json.dumps`` does."""

    def __init__(
        self,
        string: Callable[[str], Iterator[str]],
        between: str,
        after_key: str,
        step: str | None,
        *,
        sort_keys: bool,
    ) -> None:
        self.string = string
        self.between = between
        self.after_key = after_key
        self.step = step
        self.sort_keys = sort_keys

    def value(self, value: Any, depth: int) -> Iterator[str]:
        if isinstance(value, str):
            yield from self.string(value)
        elif isinstance(value, Mapping):
            items = sorted(value.items()) if self.sort_keys else list(value.items())
            yield from self.items("{", [self.pair(k, v, depth + 1) for k, v in items], "}", depth)
        elif isinstance(value, list | tuple):
            yield from self.items("[", [self.value(v, depth + 1) for v in value], "]", depth)
        else:
            yield json.dumps(value)

    def pair(self, key: Any, value: Any, depth: int) -> Iterator[str]:
        yield from self.string(key if isinstance(key, str) else json.dumps(key))
        yield self.after_key
        yield from self.value(value, depth)

    def items(
        self, opening: str, items: list[Iterator[str]], closing: str, depth: int
    ) -> Iterator[str]:
        yield opening
        for index, item in enumerate(items):
            if index:
                yield self.between
            yield from self.line(depth + 1)
            yield from item
        if items:
            yield from self.line(depth)
        yield closing

    def line(self, depth: int) -> Iterator[str]:
        if self.step is not None:
            yield "\n" + self.step * depth


FILTERS: dict[str, Callable[..., Any]] = {
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "title": _title,
    "tojson": tojson,
}
"""Filters by name, to be put over Jinja's own."""


class RefusedError(TemplateError):
    """The template called ``raise_exception``: it refuses these messages."""


class _ChatCode(CodeGenerator):
    """Compiles to code in which the template's own text is trusted."""

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("trusted = environment.trusted")

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return f"trusted({''.join(group)!r})"

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:
        if isinstance(node.value, str):
            self.write(f"trusted({node.value!r})")
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:
        self.write(f"trusted({node.data!r})")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.tilde((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class _Generation(Extension):
    """``{% generation %}`` ... ``{% endgeneration %}``: what the assistant said."""

    tags = {"generation"}  # noqa: RUF012 - Jinja declares it so

    def parse(self, parser: Parser) -> nodes.CallBlock:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_mark")
        block = nodes.CallBlock(call, [], [], body)
        block.set_lineno(line)
        return block

    def _mark(self, caller: Macro) -> str:
        text = caller()
        return (text if isinstance(text, Text) else Text(text)).with_flags(GENERATED)


class _Dict:
    """``dict`` for templates, without the attributes of the class."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


class _Namespace(Namespace):
    """``namespace`` for templates; names that begin with an underscore are refused."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, rest = args[0], args[1:]
        values = dict(*rest, **kwargs)
        for name in values:
            _check_name(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace cannot hold {str(name)!r}: it begins with an underscore")


def _raise_exception(message: object) -> None:
    raise RefusedError(str.__str__(as_text(message)))


def _strftime_now(format: str) -> str:  # noqa: A002 - templates may name it
    return datetime.now().strftime(format)


def _as_seen(text: str) -> str:
    """A string whose methods keep provenance; ``Markup`` has methods of its own."""
    return Text(text) if type(text) is str else text


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """One for each template: its string constants are kept with it."""

    code_generator_class = _ChatCode
    concat = staticmethod(joined)

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            # Folding constants would work on strings that do not know where they come from.
            optimized=False,
            extensions=[_Generation, loopcontrols],
        )
        self.filters.update(FILTERS)
        self.globals.update(
            raise_exception=_raise_exception,
            strftime_now=_strftime_now,
            dict=_Dict(),
            namespace=_Namespace,
        )
        self._constants: dict[str, Text] = {}

    def trusted(self, literal: str) -> Text:
        """A literal of the template."""
        known = self._constants.get(literal)
        if known is None:
            known = self._constants[literal] = Text.all_of(literal, TRUSTED)
        return known

    @staticmethod
    def tilde(values: Iterable[Any]) -> str:
        """The operator ``~``."""
        return joined(map(as_text, values))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """As the sandbox; the methods of a plain string are those of one that knows its origin."""
        if isinstance(obj, str):
            obj = _as_seen(obj)
            if not hasattr(str, attribute):
                return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """As the sandbox, and as ``getattr``."""
        if isinstance(obj, str):
            obj = _as_seen(obj)
            if isinstance(argument, str) and not hasattr(str, argument):
                return self.undefined(obj=obj, name=argument)
        return super().getitem(obj, argument)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """As the sandbox; of a string, what every string has."""
        own = hasattr(str, attr) if isinstance(obj, str) else True
        return own and super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """An attribute that is not for templates: named at once, not when it is used."""
        raise SecurityError(f"{attribute!r} of a {type(obj).__name__} is not for templates")

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """``format`` and ``format_map`` of a string, with fields that the sandbox checks."""
        owner = getattr(value, "__self__", None)
        name = getattr(value, "__name__", "")
        if not isinstance(owner, Text) or name not in ("format", "format_map"):
            return super().wrap_str_format(value)
        formatter = SandboxedFormatter(self)

        def bound(*args: Any, **kwargs: Any) -> str:
            if name == "format_map":
                if len(args) != 1 or kwargs:
                    raise TypeError("format_map() takes exactly one argument")
                return braces(owner, formatter, (), args[0])
            return braces(owner, formatter, args, kwargs)

        return bound
