"""Pipeline around the tokenizer, as the user states it by options or a TOML file.

Nothing here is measured: lengths, padding and caches are settings of other software. Checks that
need one of them stay silent while it is None.
"""

from __future__ import annotations

import math
import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from jeton._archives import HEAD_BYTES, refuse_archive
from jeton._foreign import toml_of
from jeton._nearest import nearest
from jeton.auditing.options.preprocessing_steps import step_named
from jeton.errors import UsageError

Padding: TypeAlias = Literal["static", "longest", "none"]
"""``static``: every sequence to ``max_length``; ``longest``: to the longest of its batch;
``none``: not at all (packed, or engines with variable lengths)."""

TruncationSide: TypeAlias = Literal["left", "right", "none"]
"""Which end is cut off; ``none``: longer inputs are refused or passed on whole."""

MAX_PIPELINE_BYTES = 1 << 20
"""A file of settings has hundreds of bytes; a larger one is a mistake."""

_TABLE = "pipeline"

_POSITIVE = ("max_length", "batch_size", "chunk_tokens", "max_output_tokens", "reserved_tokens")
_NOT_NEGATIVE = ("overlap_tokens",)
_SWITCHES = ("cache", "length_prediction")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The pipeline as it runs today. None: not said.

    Attributes:
        max_length: Tokens after which a sequence is cut, and to which static padding fills.
        padding: How sequences of a batch become equally long.
        batch_size: Sequences of a batch, in the order of the documents.
        truncation: The side that is cut off.
        chunk_tokens: Tokens of the pieces that documents are cut into.
        overlap_tokens: Tokens that neighbouring pieces share.
        preprocessing: Names of the steps that the text passes before the tokenizer, in order
            (`jeton.auditing.options.preprocessing_steps.STEPS`).
        preprocessing_command: A program that does so: text in, text out.
        cache: True if prompt prefixes are cached already.
        cache_ttl_seconds: How long a cached prefix lives without being used.
        max_output_tokens: The limit of output tokens that requests set.
        reserved_tokens: Tokens of context that are reserved for each request.
        train_tokenizer: The tokenizer that the model was trained with.
        serve_tokenizer: The tokenizer that requests are counted or encoded with.
        length_prediction: True if lengths are predicted before requests are admitted or batched.

    Raises:
        UsageError: A value is out of range, or two contradict one another.
    """

    max_length: int | None = None
    padding: Padding | None = None
    batch_size: int | None = None
    truncation: TruncationSide | None = None
    chunk_tokens: int | None = None
    overlap_tokens: int | None = None
    preprocessing: tuple[str, ...] = ()
    preprocessing_command: tuple[str, ...] = ()
    cache: bool | None = None
    cache_ttl_seconds: float | None = None
    max_output_tokens: int | None = None
    reserved_tokens: int | None = None
    train_tokenizer: str | None = None
    serve_tokenizer: str | None = None
    length_prediction: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        for name in _POSITIVE:
            _check_whole(name, getattr(self, name), at_least=1)
        for name in _NOT_NEGATIVE:
            _check_whole(name, getattr(self, name), at_least=0)
        _check_choice("padding", self.padding, get_args(Padding))
        _check_choice("truncation", self.truncation, get_args(TruncationSide))
        ttl = self.cache_ttl_seconds
        if ttl is not None and not (_is_number(ttl) and math.isfinite(ttl) and ttl > 0):
            raise UsageError(f"cache_ttl_seconds is {ttl!r}; expected a number of seconds above 0")
        for name in (*_SWITCHES, "train_tokenizer", "serve_tokenizer"):
            value = getattr(self, name)
            kind = bool if name in _SWITCHES else str
            if value is not None and not isinstance(value, kind):
                expected = "true or false" if kind is bool else "a text"
                raise UsageError(f"{name} is {value!r}; expected {expected}")
        if self.padding == "static" and self.max_length is None:
            raise UsageError(
                "padding is static, but max_length is not given\n"
                "hint: give the length to which every sequence is padded"
            )
        if self.overlap_tokens:
            if self.chunk_tokens is None:
                raise UsageError(
                    f"overlap_tokens is {self.overlap_tokens}, but chunk_tokens is not given"
                )
            if self.overlap_tokens >= self.chunk_tokens:
                raise UsageError(
                    f"overlap_tokens is {self.overlap_tokens} and chunk_tokens is "
                    f"{self.chunk_tokens}; expected an overlap below the size of a chunk"
                )
        for step in self.preprocessing:
            step_named(step)

    @property
    def is_empty(self) -> bool:
        """True if nothing was said."""
        return self == Pipeline()


def read_pipeline(path: str | os.PathLike[str]) -> Pipeline:
    """Read a pipeline from a TOML file: its table ``[pipeline]``, or the file itself.

    Keys are the names of `Pipeline`'s fields; ``preprocessing`` is a list of steps, and
    ``preprocessing_command`` a list of arguments or one line, cut as a shell would (no shell runs).

    Raises:
        UsageError: The file is not TOML, or a key or value is not known.
        OSError: It cannot be read.
    """
    file = Path(path)
    size = file.stat().st_size
    if size > MAX_PIPELINE_BYTES:
        raise UsageError(
            f"{file}: {size:,} bytes are too many for a file of settings; expected at most "
            f"{MAX_PIPELINE_BYTES:,}"
        )
    stored = file.read_bytes()
    refuse_archive(str(file), stored[:HEAD_BYTES], expected="a TOML file of settings")
    try:
        data = toml_of(stored.decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: not valid TOML: {error}\nhint: correct that line") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{file}: not valid TOML: not UTF-8 at byte {error.start}\nhint: save it as UTF-8"
        ) from error
    if _TABLE in data:
        others = sorted(set(data) - {_TABLE})
        if others:
            raise UsageError(f"{file}: {others[0]!r} stands beside [{_TABLE}]; expected it inside")
        data = data[_TABLE]
    if not isinstance(data, dict):
        raise UsageError(f"{file}: {_TABLE} is {data!r}; expected a table")
    try:
        return pipeline_of(data)
    except UsageError as error:
        joint = "" if "\nhint: " in str(error) else "\nhint: correct that entry of the file"
        raise UsageError(f"{file}: {error}{joint}") from error


def pipeline_of(values: Mapping[str, Any], *, base: Pipeline | None = None) -> Pipeline:
    """A pipeline from values by name; those that are None, or absent, are as in ``base``.

    Raises:
        UsageError: A name or value is not known.
    """
    names = [field.name for field in fields(Pipeline)]
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name not in names:
            near = nearest(name, names)
            hint = f"\nhint: did you mean {', '.join(near)}?" if near else ""
            raise UsageError(
                f"{name!r} is no setting of a pipeline; expected one of {', '.join(names)}{hint}"
            )
        if value is not None:
            given[name] = _list(name, value) if name.startswith("preprocessing") else value
    return replace(base or Pipeline(), **given)


def _list(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(shlex.split(value)) if name == "preprocessing_command" else (value,)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise UsageError(f"{name} is {value!r}; expected a list of texts")


def _check_whole(name: str, value: object, *, at_least: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise UsageError(f"{name} is {value!r}; expected a whole number of at least {at_least}")


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise UsageError(f"{name} is {value!r}; expected one of {', '.join(choices)}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
