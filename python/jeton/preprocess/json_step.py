"""JSON in fewer tokens: minified, with short keys, as CSV or as TOON, by the tokenizer's count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from string import ascii_letters
from typing import TYPE_CHECKING, Any, Final

from jeton.preprocess.json_values import (
    MAX_DEPTH,
    DuplicateKeyError,
    NumberText,
    compact,
    depth_of,
    is_json,
    minified,
    parse_json,
    same_values,
    scalar_text,
)
from jeton.preprocess.steps import BaseStep, LossClass
from jeton.preprocess.toon import ToonError, decode_toon, encode_toon

if TYPE_CHECKING:
    from jeton._core import Tokenizer

JSON_FORMS: Final = ("minified", "keys", "csv", "toon")
"""Forms that a JSON document may take."""

_KEYS: Final = "keys: "
"""Beginning of the line with the legend of short keys."""


class JsonStep(BaseStep):
    """Writes a JSON document in the form that has the fewest tokens.

    Each form is parsed again, and taken only where all values come back: strings, the spelling of
    numbers, the order of keys. Where a key stands twice, or nesting is deep, the document is only
    minified. Documents that are lines of JSON are minified line by line; what is not JSON stays.
    """

    __slots__ = ("_tokenizer",)

    name: Final = "json"
    loss_class: LossClass = "lossless"

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def apply(self, text: str) -> str:
        """Return the document in its shortest form."""
        stripped = text.strip(" \t\r\n")
        if stripped[:1] not in ("{", "["):
            return text
        try:
            forms = json_forms(stripped)
        except RecursionError:
            self.note("left alone: nested too deeply")
            return text
        if not forms:
            lines = _minified_lines(text)
            if lines is None:
                return text
            forms = {"minified lines": lines}
        counts = self._tokenizer.count_batch([text, *forms.values()]).tolist()
        # The first of equals: the nearest to what there was.
        best = min(range(len(counts)), key=lambda number: (counts[number], number))
        name = ["as it was", *forms][best]
        self.note(name)
        return [text, *forms.values()][best]

    def invert(self, text: str) -> str:
        """Return the minified JSON of a document that this step wrote."""
        return restore_json(text)


def json_forms(text: str) -> dict[str, str]:
    """The forms in which the values of a JSON text come back, by name; empty where it is no JSON.

    Args:
        text: One JSON value, without white space around it.

    Raises:
        RecursionError: Nested too deeply to be parsed.

    Example:
        >>> forms = json_forms('[{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}]')
        >>> print(forms["csv"])
        id,name
        1,Ada
        2,Bob
    """
    try:
        value = parse_json(text)
    except DuplicateKeyError:
        return {"minified": minified(text)} if is_json(text) else {}
    except ValueError:
        return {}
    forms = {"minified": minified(text)}
    if depth_of(value) > MAX_DEPTH:
        return forms
    # Escapes that need not be, as in \u00e9.
    plain = compact(value)
    if plain != forms["minified"] and same_values(parse_json(plain), value):
        forms["minified"] = plain
    makers: dict[str, Callable[[Any], str]] = {
        "keys": _with_short_keys,
        "csv": _as_csv,
        "toon": encode_toon,
    }
    for name, make in makers.items():
        try:
            form = make(value)
            if form and same_values(parse_json(restore_json(form)), value):
                forms[name] = form
        except (ValueError, ToonError):
            continue
    return forms


def restore_json(text: str) -> str:
    r"""Return the minified JSON of any form.

    Raises:
        ValueError: It is none of the forms.

    Example:
        >>> restore_json("id,name\n1,Ada")
        '[{"id":1,"name":"Ada"}]'
    """
    if text.startswith(_KEYS):
        legend, _, rest = text[len(_KEYS) :].partition("\n")
        return compact(_renamed(parse_json(rest), parse_json(legend)))
    try:
        parse_json(text)
    except DuplicateKeyError:
        return text
    except ValueError:
        pass
    else:
        return text
    try:
        value = decode_toon(text)
        # A table with commas and colons may read as both: only what is written so is TOON.
        if encode_toon(value) == text:
            return compact(value)
    except ToonError:
        pass
    return compact(_from_csv(text))


def _minified_lines(text: str) -> str | None:
    """Minify lines of JSON; None where some line is none."""
    lines = text.split("\n")
    if sum(1 for line in lines if line.strip()) < 2:
        return None
    changed: list[str] = []
    for line in lines:
        stripped = line.strip(" \t\r")
        if stripped and (stripped[0] not in "{[" or not is_json(stripped)):
            return None
        changed.append(minified(stripped))
    return "\n".join(changed)


def _short_names() -> Iterator[str]:
    for n_chars in (1, 2, 3):
        for chars in product(ascii_letters, repeat=n_chars):
            yield "".join(chars)


def _with_short_keys(value: Any) -> str:
    """Write the frequent long keys short, under a legend."""
    counts: Counter[str] = Counter()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            counts.update(item.keys())
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    taken = set(counts)
    names = (name for name in _short_names() if name not in taken)
    legend: dict[str, str] = {}
    for key, n in counts.most_common():
        # A key pays for its line in the legend from the third time on, if it is long.
        if n >= 3 and len(key) >= 4:
            name = next(names, None)
            if name is None:
                break
            legend[key] = name
    if not legend:
        raise ValueError("no key is long and frequent")
    listed = {name: key for key, name in legend.items()}
    return f"{_KEYS}{compact(listed)}\n{compact(_renamed(value, legend))}"


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        renamed = {names.get(key, key): _renamed(inner, names) for key, inner in value.items()}
        if len(renamed) != len(value):
            raise ValueError("two keys have one name")
        return renamed
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return value


_PLAIN_CELL = re.compile(r"[^\s,\"](?:[^,\"\r\n]*[^\s,\"])?\Z")
_CELL = re.compile(r'"((?:[^"]|"")*)"|([^,"\n]*)')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_LITERALS: Final = {"true": True, "false": False, "null": None}


def _as_csv(value: Any) -> str:
    """Write a list of alike flat objects as a table (RFC 4180); a quoted cell is a string."""
    if not isinstance(value, list) or not value or not all(isinstance(i, dict) for i in value):
        raise ValueError("no list of objects")
    fields = list(value[0])
    if not fields or any(list(item) != fields for item in value):
        raise ValueError("the objects are not alike")
    lines = [",".join(map(_csv_text, fields))]
    lines += [",".join(map(_csv_cell, item.values())) for item in value]
    return "\n".join(lines)


def _csv_cell(value: Any) -> str:
    if isinstance(value, dict | list):
        raise ValueError("a cell is no scalar")
    if isinstance(value, str) and not isinstance(value, NumberText):
        return _csv_text(value)
    return scalar_text(value)


def _csv_text(text: str) -> str:
    if _PLAIN_CELL.match(text) and text not in _LITERALS and not _NUMBER.match(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _from_csv(text: str) -> list[Any]:
    rows = _csv_rows(text)
    if len(rows) < 2:
        raise ValueError("no table")
    fields = [str(cell) for cell in rows[0]]
    if len(set(fields)) != len(fields) or any(len(row) != len(fields) for row in rows):
        raise ValueError("no table: rows differ in length, or a column is named twice")
    return [dict(zip(fields, row, strict=True)) for row in rows[1:]]


def _csv_rows(text: str) -> list[list[Any]]:
    rows: list[list[Any]] = [[]]
    at = 0
    while True:
        match = _CELL.match(text, at)
        if match is None:
            raise ValueError("no table: a quote is not closed")
        if match[1] is not None:
            rows[-1].append(match[1].replace('""', '"'))
        else:
            rows[-1].append(_csv_value(match[2]))
        at = match.end()
        if at == len(text):
            return rows
        if text[at] == "\n":
            rows.append([])
        elif text[at] != ",":
            raise ValueError("no table: something stands behind a closing quote")
        at += 1


def _csv_value(cell: str) -> Any:
    if cell in _LITERALS:
        return _LITERALS[cell]
    return NumberText(cell) if _NUMBER.match(cell) else cell
