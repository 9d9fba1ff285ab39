"""Normalizers: what is done to a text before it is cut."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, ClassVar

from jeton.compat.tokenizers._arguments import as_kind
from jeton.compat.tokenizers._component import Component, Field, Members
from jeton.compat.tokenizers._cores import Regex, normalize, pattern_of
from jeton.compat.tokenizers.strings import NormalizedString, lent, run_custom

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "NORMALIZERS",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
    "unicode_normalizer_from_str",
]


class Normalizer(Component):
    """Base of all normalizers."""

    family: ClassVar[dict[str, type[Component]]] = {}

    def normalize_str(self, sequence: str) -> str:
        """Normalize a text."""
        return normalize(self._description(), as_kind(sequence, str, "sequence"))

    def normalize(self, normalized: NormalizedString) -> None:
        """Normalize a string that remembers what it was, in place."""
        string = lent(normalized)
        if not isinstance(string, NormalizedString):
            raise TypeError(f"argument 'normalized': {normalized!r} is no NormalizedString")
        string._apply(self._description())

    @staticmethod
    def custom(obj: Any) -> Normalizer:
        """A normalizer written in Python: an object with a method ``normalize``.

        It works on its own; a tokenizer, all of whose work is done by the core, refuses it.
        """
        return _Custom(obj)


class _Custom(Normalizer):
    """Somebody's own normalizer."""

    def __init__(self, obj: Any) -> None:
        self._fields = {}
        self._custom = obj

    def _description(self) -> dict[str, Any]:
        raise Exception("Custom Normalizer cannot be serialized")

    def normalize_str(self, sequence: str) -> str:
        string = NormalizedString(sequence)
        self.normalize(string)
        return string.normalized

    def normalize(self, normalized: NormalizedString) -> None:
        run_custom(self._custom, "normalize", normalized)

    def __reduce__(self) -> Any:
        return Normalizer.custom, (self._custom,)


class BertNormalizer(Normalizer, kind="BertNormalizer"):
    """BERT's: control characters, Chinese characters, accents, case."""

    clean_text = Field("clean_text", bool)
    handle_chinese_chars = Field("handle_chinese_chars", bool)
    strip_accents = Field("strip_accents", bool, optional=True)
    lowercase = Field("lowercase", bool)

    def __init__(
        self,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
    ) -> None:
        self._fill(locals())


class _Plain(Normalizer):
    """A normalizer without settings."""

    def __init__(self) -> None:
        self._fields = {}


class NFC(_Plain, kind="NFC"):
    """Canonical composition."""


class NFD(_Plain, kind="NFD"):
    """Canonical decomposition."""


class NFKC(_Plain, kind="NFKC"):
    """Compatibility composition."""


class NFKD(_Plain, kind="NFKD"):
    """Compatibility decomposition."""


class Lowercase(_Plain, kind="Lowercase"):
    """Lower case."""


class Nmt(_Plain, kind="Nmt"):
    """SentencePiece's ``nmt`` rules."""


class StripAccents(_Plain, kind="StripAccents"):
    """Combining marks are left out."""


class ByteLevel(_Plain, kind="ByteLevel"):
    """Bytes are written in GPT-2's alphabet."""


class Strip(Normalizer, kind="Strip"):
    """White space at the ends is left out."""

    left = Field("strip_left", bool)
    right = Field("strip_right", bool)

    def __init__(self, left: bool = True, right: bool = True) -> None:
        self._fill(locals())


class Prepend(Normalizer, kind="Prepend"):
    """A text is put before every text that is not empty."""

    prepend = Field("prepend", str)

    def __init__(self, prepend: str = "▁") -> None:
        self._fill(locals())


class Replace(Normalizer, kind="Replace"):
    """Normalizer that replaces the matches of a pattern."""

    content = Field("content", str)

    def __init__(self, pattern: str | Regex, content: str) -> None:
        self._fields = {"pattern": pattern_of(pattern)}
        self.content = content

    @property
    def pattern(self) -> None:
        """Cannot be read, as in the other library."""
        raise Exception("Cannot get pattern")

    @pattern.setter
    def pattern(self, pattern: Any) -> None:
        raise Exception("Cannot set pattern, please instantiate a new replace pattern instead")


class Precompiled(Normalizer, kind="Precompiled"):
    """SentencePiece's compiled rules."""

    def __init__(self, precompiled_charsmap: bytes | Iterable[int]) -> None:
        charsmap = bytes(precompiled_charsmap)
        self._fields = {"precompiled_charsmap": base64.b64encode(charsmap).decode()}
        # Damaged rules are found now, and not when a tokenizer is made.
        self.normalize_str("")


class Sequence(Members, Normalizer, kind="Sequence"):
    """Several normalizers, one after the other."""

    members_name = "normalizers"

    def __init__(self, normalizers: Iterable[Normalizer]) -> None:
        self._set_members(normalizers, Normalizer)


NORMALIZERS: dict[str, type[_Plain]] = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """The normalizer of a Unicode form by its name in lower case."""
    if normalizer not in NORMALIZERS:
        names = ", ".join(NORMALIZERS)
        raise ValueError(f"{normalizer!r} is not a known unicode normalizer; there are {names}")
    return NORMALIZERS[normalizer]()
