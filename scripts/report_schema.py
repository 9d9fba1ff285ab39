"""Write the JSON Schema of the audit report from the types that make it.

``report_schema.py`` rewrites ``python/jeton/report/schema/audit-N.schema.json``; ``--check`` only
says whether it is up to date (exit code 1 when it is not). A field's description is what its type
says of it: its entry under ``Attributes:`` in the docstring, the text below the field, or the first
sentence of the docstring of the field's own type. Where types say nothing (a field whose name is
clear in code), ``report_schema_texts.json`` beside this file does.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import enum
import inspect
import json
import re
import sys
import textwrap
import types
import typing
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from jeton.auditing.caching.result import CacheReport
from jeton.auditing.result import SCHEMA_VERSION, AuditReport
from jeton.economics.billed import BilledTable
from jeton.economics.ledger import Ledger
from jeton.findings import Basis

sys.path.insert(0, str(Path(__file__).resolve().parent))
from report_schema_ledger import BILLED, CACHE, LEDGER  # type: ignore[import-not-found]

__all__ = ["Writer", "build", "main", "undescribed"]

TEXTS = Path(__file__).resolve().parent / "report_schema_texts.json"
FOLDER = Path(__file__).resolve().parent.parent / "python" / "jeton" / "report" / "schema"

_VERSION = SCHEMA_VERSION.rpartition("/")[2]
_MONEY = {
    "type": "string",
    "pattern": "^-?[0-9]+(\\.[0-9]+)?$",
    "description": "US dollars as an exact decimal number; rates and factors of money likewise.",
}
_ENTRY = re.compile(r"^(\w+): +(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_SIGNED = re.compile(r"delta|difference|change|saving")
"""Integers that may be below 0; every other integer of a report is a count."""
_MAY_EXCEED_ONE = frozenset({"used_share", "request_error_share"})
"""Shares of something that is not a whole: of a limit, of a prediction."""
_NEVER_NEGATIVE = re.compile(r"^(n|bytes|chars|tokens)_|_(bytes|tokens|seconds)$|^(mean|requests)")
_CONSTRAINTS: dict[tuple[str, str], dict[str, Any]] = {
    ("AuditReport", "schema_version"): {"const": SCHEMA_VERSION},
    ("AuditReport", "tokenizers"): {"minItems": 1},
    ("Interval", "confidence"): {"minimum": 0, "maximum": 1},
}
"""Facts that the types cannot express."""


def build() -> dict[str, Any]:
    """Return the schema of `AuditReport.to_dict`, with every type it is made of."""
    writer = Writer()
    root = writer.object_of(AuditReport)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:jeton:schema:audit:{_VERSION}",
        "title": f"Jeton audit report, version {_VERSION}",
        **root,
        "description": "What `jeton audit --json` writes.",
        "$defs": dict(sorted(writer.definitions.items())),
    }


def undescribed(schema: dict[str, Any]) -> list[str]:
    """Return the fields (``definition.field``) of which the schema says nothing."""
    return [
        f"{name}.{key}"
        for name, definition in [("", schema), *schema["$defs"].items()]
        for key, value in definition.get("properties", {}).items()
        if not value.get("description")
    ]


class Writer:
    """Turns types into schemas; dataclasses become definitions, each once."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}
        self._owners: dict[str, type] = {}
        self._texts: dict[str, str] = json.loads(TEXTS.read_text(encoding="utf-8"))

    def object_of(self, kind: type) -> dict[str, Any]:
        """A dataclass as a closed object with every field required."""
        hints = typing.get_type_hints(kind)
        said = _descriptions(kind)
        properties = {}
        for field in dataclasses.fields(kind):
            schema = self.of(hints[field.name], field.name)
            text = (
                said.get(field.name)
                or self._texts.get(f"{_snake(kind)}.{field.name}")
                or self._of_the_type(schema)
            )
            schema |= _CONSTRAINTS.get((kind.__name__, field.name), {})
            properties[field.name] = {"description": text, **schema} if text else schema
        return {
            "type": "object",
            "description": _first_sentence(kind),
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def of(self, hint: Any, name: str) -> dict[str, Any]:
        """The schema of one type; ``name`` is the field's, which says its unit."""
        hint = getattr(hint, "__value__", hint)  # an alias made by `type`, from Python 3.12 on
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            return self._union([self.of(argument, name) for argument in arguments])
        if origin is typing.Literal:
            return {"enum": list(arguments)}
        if origin in (tuple, list) or hint in (tuple, list):
            item = arguments[0] if arguments else Any
            if origin is tuple and len(arguments) > 1 and arguments[1] is not ...:
                return {
                    "type": "array",
                    "prefixItems": [self.of(argument, name) for argument in arguments],
                    "items": False,
                    "minItems": len(arguments),
                }
            return {"type": "array", "items": self.of(item, name)}
        if origin in (dict, Mapping) or hint is dict:
            if not arguments or arguments[1] is Any:
                return {"type": "object"}
            return {"type": "object", "additionalProperties": self.of(arguments[1], name)}
        return self._plain(hint, name)

    def _plain(self, hint: Any, name: str) -> dict[str, Any]:
        if hint is Any:
            return {}
        if hint is type(None):
            return {"type": "null"}
        if hint is bool:
            return {"type": "boolean"}
        if hint is int:
            return {"type": "integer"} | ({} if _SIGNED.search(name) else {"minimum": 0})
        if hint is float:
            return {"type": "number"} | _range(name)
        if hint is Decimal:
            self.definitions["money"] = _MONEY
            return {"$ref": "#/$defs/money"}
        if hint is str:
            return {"type": "string"}
        if hint in (date, datetime):
            return {"type": "string", "format": "date" if hint is date else "date-time"}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            values = [member.value for member in hint]
            return self._define(hint, {"enum": values, "description": _first_sentence(hint)})
        if hint is BilledTable:
            return self._define(hint, BILLED)
        if hint is CacheReport:
            return self._define(hint, CACHE)
        if hint is Ledger:
            # It writes itself: days as days, amounts in their units.
            self.definitions["money"] = _MONEY
            self._define(Basis, {"enum": list(Basis), "description": _first_sentence(Basis)})
            return self._define(hint, LEDGER)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            return self._define(hint, None)
        raise TypeError(f"a report cannot hold {hint!r} (field {name})")

    def _define(self, kind: type, schema: dict[str, Any] | None) -> dict[str, Any]:
        name = _snake(kind)
        if self._owners.setdefault(name, kind) is not kind:
            raise TypeError(f"two types are called {kind.__name__}")
        if name not in self.definitions:
            self.definitions[name] = {}  # a type may hold itself
            self.definitions[name] = schema or self.object_of(kind)
        return {"$ref": f"#/$defs/{name}"}

    def _of_the_type(self, schema: dict[str, Any]) -> str:
        """Description by the field's own type, where the field has none."""
        for option in (schema, *schema.get("anyOf", ()), schema.get("items") or {}):
            if "$ref" in option and option["$ref"] != "#/$defs/money":
                return str(self.definitions[option["$ref"].rpartition("/")[2]]["description"])
        return ""

    def _union(self, options: list[dict[str, Any]]) -> dict[str, Any]:
        unique = [option for i, option in enumerate(options) if option not in options[:i]]
        # Money is written as a string whatever else the type allows.
        numbers = [option for option in unique if option.get("type") in ("integer", "number")]
        if len(numbers) > 1:
            unique = [o for o in unique if o not in numbers] + [{"type": "number"}]
        plain = [option for option in unique if set(option) == {"type"}]
        if len(plain) == len(unique):
            return {"type": [option["type"] for option in unique]}
        return {"anyOf": unique} if len(unique) > 1 else unique[0]


def _snake(kind: type) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def _range(name: str) -> dict[str, Any]:
    if name in _MAY_EXCEED_ONE:
        return {"minimum": 0}
    if name.endswith("_share"):
        return {"minimum": 0, "maximum": 1}
    return {"minimum": 0} if _NEVER_NEGATIVE.search(name) and not _SIGNED.search(name) else {}


def _first_sentence(kind: type) -> str:
    paragraph = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("``", "`")


def _descriptions(kind: type) -> dict[str, str]:
    """Descriptions of a class's fields: under ``Attributes:``, and in strings below them."""
    said = {}
    attributes = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2]
    for entry in _ENTRY.finditer(textwrap.dedent(attributes.partition("\n\n")[0])):
        said[entry.group(1)] = entry.group(2)
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match following:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    said[statement.target.id] = text
    return {name: " ".join(text.split()).replace("``", "`") for name, text in said.items()}


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the schema; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    schema = build()
    missing = undescribed(schema)
    if missing:
        sys.stderr.write(f"error: nothing is said of {', '.join(missing)}\n")
        sys.stderr.write("hint: describe the field under Attributes: in its class\n")
    path = FOLDER / f"audit-{_VERSION}.schema.json"
    text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    is_current = path.is_file() and path.read_text(encoding="utf-8") == text
    if options.check:
        if not is_current:
            sys.stderr.write(f"error: {path.name} is stale\n")
            sys.stderr.write("hint: python scripts/report_schema.py\n")
        return 0 if is_current and not missing else 1
    path.write_text(text, encoding="utf-8")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
