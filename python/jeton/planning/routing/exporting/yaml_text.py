"""YAML, as far as configurations need it: block style, with every text in JSON's quotes."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from jeton._plain import strict_json


def yaml_text(value: Any, *, indent: int = 0) -> str:
    """Return mappings, lists and scalars as YAML; a text in JSON's quotes is one in YAML too."""
    pad = "  " * indent
    lines: list[str] = []
    if isinstance(value, dict):
        for key, own in value.items():
            if isinstance(own, dict | list) and own:
                lines += [f"{pad}{_key(key)}:", yaml_text(own, indent=indent + 1)]
            else:
                lines.append(f"{pad}{_key(key)}: {_scalar(own)}")
    else:
        for own in value:
            if isinstance(own, dict | list) and own:
                inner = yaml_text(own, indent=indent + 1)
                lines.append(f"{pad}- {inner[2 * (indent + 1) :]}")
            else:
                lines.append(f"{pad}- {_scalar(own)}")
    return "\n".join(lines)


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "").isalnum() and key.isascii()
    return key if plain and not key.isdigit() else strict_json(key)


def _scalar(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return strict_json(value, ascii_only=True)


def comment_lines(lines: Iterable[str]) -> str:
    """Return lines as comments."""
    return "".join(f"# {line}\n" for text in lines for line in text.splitlines())
