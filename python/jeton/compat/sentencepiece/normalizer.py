"""``SentencePieceNormalizer``: normalization by itself."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from jeton._core import SentencePieceRules, compile_charsmap
from jeton.compat.sentencepiece import _model, _results
from jeton.compat.sentencepiece.errors import (
    ModelFormatError,
    ModelNotFoundError,
    NotLoadedError,
    as_bytes,
)
from jeton.compat.sentencepiece.sentencepiece_model_pb2 import ModelProto, NormalizerSpec
from jeton.errors import FormatError, UsageError
from jeton.training.normalization_rules import RULE_NAMES, named_charsmap

__all__ = ["SentencePieceNormalizer"]

_MAX_FILE_BYTES = 1 << 29


class SentencePieceNormalizer:
    """A normalizer: of a model, of its specification, or of rules."""

    def __init__(
        self,
        model_file: str | os.PathLike[str] | None = None,
        model_proto: Any = None,
        normalizer_spec: Any = None,
        rule_tsv: str | os.PathLike[str] | None = None,
        rule_name: str | None = None,
        norm_map: Any = None,
        add_dummy_prefix: bool | None = None,  # noqa: FBT001
        escape_whitespaces: bool | None = None,  # noqa: FBT001
        remove_extra_whitespaces: bool | None = None,  # noqa: FBT001
    ) -> None:
        """One of the first six; flags that are given replace those of the specification.

        Args:
            model_file: A model's file.
            model_proto: A model as bytes or message.
            normalizer_spec: A specification as bytes or message.
            rule_tsv: A file of rules, one a line: code points in hexadecimal, a tab, theirs.
            rule_name: ``"identity"``, ``"nfkc"``, ``"nmt_nfkc"``; with case folded ``"nfkc_cf"``,
                ``"nmt_nfkc_cf"``.
            norm_map: Pairs of texts: what becomes what.
            add_dummy_prefix: Put a space in front.
            escape_whitespaces: Write U+2581 for a space.
            remove_extra_whitespaces: Drop spaces at both ends, and all but one of several.

        Raises:
            UsageError: Nothing is given, or rules that cannot be (a ``ValueError``).
            ModelNotFoundError: A file cannot be read (an ``OSError`` and a ``RuntimeError``).
            ModelFormatError: It is no model (a ``ValueError`` and a ``RuntimeError``).
        """
        if model_file:
            self._spec = _spec_of_model(_read(model_file))
        elif model_proto:
            self._spec = _spec_of_model(_serialized(model_proto))
        elif normalizer_spec:
            self._spec = _parsed(NormalizerSpec(), _serialized(normalizer_spec))
        elif rule_tsv:
            self._spec = NormalizerSpec(precompiled_charsmap=_compiled(_rules_of_tsv(rule_tsv)))
        elif rule_name:
            self._spec = _spec_of_name(rule_name)
        elif norm_map:
            self._spec = NormalizerSpec(precompiled_charsmap=_compiled(_rules_of_map(norm_map)))
        else:
            raise UsageError("give a model, a specification, or rules")
        for name, flag in (
            ("add_dummy_prefix", add_dummy_prefix),
            ("escape_whitespaces", escape_whitespaces),
            ("remove_extra_whitespaces", remove_extra_whitespaces),
        ):
            if flag is not None:
                setattr(self._spec, name, bool(flag))
        self._rules = _rules_of(self._spec)

    def Normalize(self, input: Any, with_offsets: bool | None = None) -> Any:  # noqa: A002, FBT001
        """The normalized text; with the place that each character of it comes from.

        Places count code points for ``str``, bytes for ``bytes``, and end with that of the end.
        """
        normalize = _results.normalizer_of(
            partial(_model.normalize, self._rules), with_offsets=bool(with_offsets)
        )
        return [normalize(text) for text in input] if isinstance(input, list) else normalize(input)

    def Decompile(self) -> list[tuple[str, str]]:
        """The rules: what becomes what.

        Raises:
            NotLoadedError: There are none (a ``RuntimeError``).
        """
        if not self._spec.precompiled_charsmap:
            raise NotLoadedError("the normalizer has no rules")
        return self._rules.rules()

    def serialized_model_proto(self) -> bytes:
        """A model that has the specification and nothing else."""
        model = ModelProto()
        model.normalizer_spec.CopyFrom(self._spec)
        return model.SerializeToString()

    def serialized_normalizer_spec(self) -> bytes:
        """The specification."""
        return self._spec.SerializeToString()

    normalize = Normalize
    decompile = Decompile

    def __getstate__(self) -> bytes:
        return self.serialized_model_proto()

    def __setstate__(self, serialized_model_proto: bytes) -> None:
        self._spec = _spec_of_model(serialized_model_proto)
        self._rules = _rules_of(self._spec)


def _rules_of(spec: NormalizerSpec) -> SentencePieceRules:
    try:
        return SentencePieceRules(
            charsmap=spec.precompiled_charsmap,
            add_dummy_prefix=spec.add_dummy_prefix,
            remove_extra_whitespaces=spec.remove_extra_whitespaces,
            escape_whitespaces=spec.escape_whitespaces,
        )
    except FormatError as error:
        raise ModelFormatError(str(error), format=error.format, offset=error.offset) from None


def _serialized(message: Any) -> bytes:
    data = message.SerializeToString() if hasattr(message, "SerializeToString") else message
    if not isinstance(data, bytes):
        raise TypeError(f"expected bytes or a message, not {type(data).__name__}")
    return data


def _parsed(message: Any, data: bytes) -> Any:
    try:
        message.ParseFromString(data)
    except FormatError as error:
        raise ModelFormatError(str(error), offset=error.offset) from None
    return message


def _spec_of_model(data: bytes) -> NormalizerSpec:
    model: ModelProto = _parsed(ModelProto(), data)
    spec = NormalizerSpec()
    spec.CopyFrom(model.normalizer_spec)
    return spec


def _spec_of_name(name: str) -> NormalizerSpec:
    if name in RULE_NAMES:
        spec = NormalizerSpec(name=name)
        if charsmap := base64.b64decode(named_charsmap(name)):
            spec.precompiled_charsmap = charsmap
        return spec
    raise NotLoadedError(f"no rules are called {name!r}; expected {', '.join(RULE_NAMES)}")


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None) or 2
        raise ModelNotFoundError(number, os.strerror(number), str(path)) from None
    if len(data) > _MAX_FILE_BYTES:
        raise ModelFormatError(f"{path}: more than {_MAX_FILE_BYTES} bytes", path=str(path))
    return data


def _rules_of_tsv(path: str | os.PathLike[str]) -> Iterable[tuple[str, str]]:
    def text(numbers: str) -> str:
        return "".join(chr(int(number, 16)) for number in numbers.split())

    for number, line in enumerate(_read(path).decode("utf-8", errors="replace").split("\n"), 1):
        if not line.strip():
            continue
        source, _, target = line.rstrip("\r").partition("\t")
        try:
            yield text(source), text(target.split("\t")[0])
        except (ValueError, OverflowError):
            raise ModelFormatError(
                f"{path}: line {number}: expected code points in hexadecimal, a tab, and theirs",
                path=str(path),
                line=number,
            ) from None


def _rules_of_map(pairs: Any) -> Iterable[tuple[str, str]]:
    rows = pairs.items() if isinstance(pairs, Mapping) else pairs
    known: set[str] = set()
    for source, target in rows:
        try:
            texts = as_bytes(source).decode("utf-8"), as_bytes(target).decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"the rule {source!r} -> {target!r} is not UTF-8") from None
        if texts[0] == texts[1] or texts[0] in known:
            what = "changes nothing" if texts[0] == texts[1] else "is the second for its text"
            raise UsageError(f"the rule {source!r} -> {target!r} {what}")
        known.add(texts[0])
        yield texts


def _compiled(rules: Iterable[tuple[str, str]]) -> bytes:
    return compile_charsmap(list(rules))
