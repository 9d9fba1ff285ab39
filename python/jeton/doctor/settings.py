"""Settings of one machine, or of one side of a pipeline, as flat names and plain values.

A snapshot is what decides ids and inputs there: the tokenizer's fingerprint and probe digest, the
settings of its folder, versions of libraries, Unicode data, the locale. Environment variables are
taken from a fixed list; nothing else of the environment is read.
"""

from __future__ import annotations

import hashlib
import json
import locale
import os
import platform
import sys
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from jeton._core import Tokenizer, __version__
from jeton._files import write_whole
from jeton._foreign import toml_of
from jeton._plain import strict_json
from jeton.errors import FormatError
from jeton.formats import PretrainedFolder
from jeton.formats.reading import read_object, read_text
from jeton.probe import probe_digest

SNAPSHOT_VERSION = "jeton.snapshot/1"
NOT_SET = "(not set)"
"""Stands for a setting that one side does not have."""

_LIBRARIES = (
    "tokenizers",
    "transformers",
    "tiktoken",
    "sentencepiece",
    "safetensors",
    "torch",
    "vllm",
    "sglang",
    "llama-cpp-python",
    "trl",
    "datasets",
    "regex",
)
_VARIABLES = ("PYTHONUTF8", "PYTHONIOENCODING", "LANG", "LC_ALL", "TOKENIZERS_PARALLELISM")
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings by name.

    Attributes:
        name: Name of the side that they belong to.
        values: Plain values by dotted name (``"tokenizer.padding_side"``).
        kind: A snapshot of a machine, what a tokenizer and its folder say, or a file of settings.
    """

    name: str
    values: Mapping[str, Any]
    kind: Literal["snapshot", "tokenizer", "file"] = "file"


def machine_settings() -> dict[str, Any]:
    """Settings of this machine: versions, Unicode data, the locale."""
    found: dict[str, Any] = {
        "library.jeton": __version__,
        "python.version": platform.python_version(),
        "python.unicode_version": unicodedata.unidata_version,
        "python.encoding": sys.getdefaultencoding(),
        "python.file_encoding": locale.getpreferredencoding(do_setlocale=False),
    }
    for library in _LIBRARIES:
        try:
            found[f"library.{library}"] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    found |= {f"environment.{v}": os.environ[v] for v in _VARIABLES if v in os.environ}
    return found


def tokenizer_settings(
    tokenizer: Tokenizer | None,
    folder: PretrainedFolder | None,
    tokenizer_config: Mapping[str, Any],
) -> dict[str, Any]:
    """Settings of a tokenizer and its folder."""
    found: dict[str, Any] = {}
    if tokenizer is not None:
        special = json.dumps(sorted(tokenizer.special_tokens.items()))
        found |= {
            "tokenizer.fingerprint": tokenizer.fingerprint,
            "tokenizer.probe_digest": probe_digest(tokenizer),
            "tokenizer.vocab_size": tokenizer.vocab_size,
            "tokenizer.special_tokens_digest": _digest(special),
        }
    for key, value in tokenizer_config.items():
        if key in _CONFIG_KEYS and (value is None or isinstance(value, str | int | float)):
            found[f"tokenizer.{key}"] = value
    if folder is not None:
        found |= {f"tokenizer.{role}_token": text for role, text in folder.roles.items()}
        if folder.chat_template is not None:
            found["tokenizer.chat_template_digest"] = _digest(folder.chat_template)
    return found


_CONFIG_KEYS = frozenset(
    (
        "add_bos_token",
        "add_eos_token",
        "add_prefix_space",
        "clean_up_tokenization_spaces",
        "do_lower_case",
        "fix_mistral_regex",
        "legacy",
        "model_max_length",
        "padding_side",
        "split_special_tokens",
        "strip_accents",
        "tokenizer_class",
        "tokenize_chinese_chars",
        "truncation_side",
        "use_default_system_prompt",
    )
)


def write_snapshot(path: str | Path, values: Mapping[str, Any]) -> None:
    """Write settings for another machine to compare with, whole or not at all."""
    document = {"schema_version": SNAPSHOT_VERSION, "settings": dict(sorted(values.items()))}
    write_whole(path, strict_json(document, indent=2) + "\n")


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """Read a snapshot, or any JSON or TOML file of settings; nested names are joined by dots.

    Raises:
        FormatError: It is neither, or a snapshot of another version.
        OSError: It cannot be read.
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(2, "No such file or directory", str(file))
    if file.suffix.lower() == ".toml":
        text = read_text(file) or ""
        try:
            tree: dict[str, Any] = toml_of(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise FormatError(
                f"{file} is no TOML: {str(error)[:160]}\nhint: correct that line",
                path=str(file),
                format="TOML",
            ) from None
    else:
        tree = read_object(file) or {}
    version = tree.get("schema_version")
    if isinstance(version, str) and version.startswith("jeton.snapshot/"):
        stored = tree.get("settings")
        if version != SNAPSHOT_VERSION or not isinstance(stored, dict):
            raise FormatError(
                f"{file} is a snapshot of the version {version}; expected {SNAPSHOT_VERSION}\n"
                "hint: write it again there with this version of jeton",
                path=str(file),
            )
        return Settings(str(file), _flat(stored), kind="snapshot")
    return Settings(str(file), _flat(tree))


def differing(a: Settings, b: Settings) -> Iterator[tuple[str, Any, Any]]:
    """Settings that are not the same, as (name, value of a, value of b); ``NOT_SET`` for none.

    A setting of one side alone counts where both are of one kind and have others of its group: a
    side without a tokenizer does not lack its settings. Sides of different kinds are compared by
    the last part of names (``padding_side`` is ``tokenizer.padding_side``), where both have it.
    """
    if a.kind != b.kind:
        one, two = _by_last_part(a.values), _by_last_part(b.values)
        for name in sorted(set(one) & set(two)):
            if one[name] != two[name]:
                yield name, one[name], two[name]
        return
    groups = _groups(a.values) & _groups(b.values)
    for name in sorted(set(a.values) | set(b.values)):
        group = name.partition(".")[0] if "." in name else ""
        if group not in groups and not (name in a.values and name in b.values):
            continue
        left, right = a.values.get(name, NOT_SET), b.values.get(name, NOT_SET)
        if left != right:
            yield name, left, right


def _groups(values: Mapping[str, Any]) -> set[str]:
    return {name.partition(".")[0] if "." in name else "" for name in values}


def _by_last_part(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name.rpartition(".")[2]: value for name, value in values.items()}


def _flat(tree: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value and depth < _MAX_DEPTH:
            found |= _flat(value, f"{prefix}{key}.", depth + 1)
        elif isinstance(value, list | Mapping):
            found[f"{prefix}{key}"] = json.dumps(value, sort_keys=True, default=str)
        elif value is None or isinstance(value, str | int | float):
            found[f"{prefix}{key}"] = value
        else:
            # Dates of TOML.
            found[f"{prefix}{key}"] = str(value)
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
