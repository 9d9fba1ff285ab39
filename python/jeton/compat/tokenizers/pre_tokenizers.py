"""Pre-tokenizers: how a normalized text is cut into pretokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from jeton.compat.tokenizers._arguments import as_kind
from jeton.compat.tokenizers._component import Character, Choice, Component, Field, Members
from jeton.compat.tokenizers._cores import Regex, pattern_of, pretokenize, probe, written
from jeton.compat.tokenizers.strings import NormalizedString, PreTokenizedString, lent, run_custom

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]

# The fate of the matches of a split: as Python says it, and as files write it.
BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}
PREPEND_SCHEMES = {name: name for name in ("first", "never", "always")}


class PreTokenizer(Component):
    """Base of all pre-tokenizers."""

    family: ClassVar[dict[str, type[Component]]] = {}

    def pre_tokenize_str(self, s: str) -> list[tuple[str, tuple[int, int]]]:
        """The pretokens of a text with their places in code points."""
        core = probe(pre_tokenizer=written(self._description()))
        return pretokenize(core, as_kind(s, str, "s"))

    def pre_tokenize(self, pretok: PreTokenizedString) -> None:
        """Cut all parts of a string that have no tokens yet, in place."""
        whole = lent(pretok)
        if not isinstance(whole, PreTokenizedString):
            raise TypeError(f"argument 'pretok': {pretok!r} is no PreTokenizedString")

        def cut(number: int, part: NormalizedString) -> list[NormalizedString]:
            pieces = self.pre_tokenize_str(part.normalized)
            return [part._piece(spelled, start, end) for spelled, (start, end) in pieces]

        whole.split(cut)

    @staticmethod
    def custom(pretok: Any) -> PreTokenizer:
        """A pre-tokenizer written in Python: an object with a method ``pre_tokenize``.

        It works on its own; a tokenizer, all of whose work is done by the core, refuses it.
        """
        return _Custom(pretok)


class _Custom(PreTokenizer):
    """Somebody's own pre-tokenizer."""

    def __init__(self, obj: Any) -> None:
        self._fields = {}
        self._custom = obj

    def _description(self) -> dict[str, Any]:
        raise Exception("Custom PreTokenizer cannot be serialized")

    def pre_tokenize_str(self, s: str) -> list[tuple[str, tuple[int, int]]]:
        whole = PreTokenizedString(as_kind(s, str, "s"))
        self.pre_tokenize(whole)
        return [(spelled, place) for spelled, place, _ in whole.get_splits()]

    def pre_tokenize(self, pretok: PreTokenizedString) -> None:
        run_custom(self._custom, "pre_tokenize", pretok)

    def __reduce__(self) -> Any:
        return PreTokenizer.custom, (self._custom,)


class _Plain(PreTokenizer):
    """A pre-tokenizer without settings."""

    def __init__(self) -> None:
        self._fields = {}


class BertPreTokenizer(_Plain, kind="BertPreTokenizer"):
    """At white space, and around punctuation."""


class UnicodeScripts(_Plain, kind="UnicodeScripts"):
    """Wherever the script changes."""


class Whitespace(_Plain, kind="Whitespace"):
    """Runs of letters, digits and underscores, and runs of anything else but white space."""


class WhitespaceSplit(_Plain, kind="WhitespaceSplit"):
    """At white space."""


class ByteLevel(PreTokenizer, kind="ByteLevel"):
    """GPT-2's: its split pattern, and bytes written in its alphabet."""

    add_prefix_space = Field("add_prefix_space", bool)
    trim_offsets = Field("trim_offsets", bool)
    use_regex = Field("use_regex", bool)

    def __init__(
        self,
        add_prefix_space: bool = True,
        trim_offsets: bool = True,
        use_regex: bool = True,
        **_kwargs: Any,
    ) -> None:
        self._fill(locals())

    @staticmethod
    def alphabet() -> list[str]:
        """The 256 characters in which bytes are written, in no particular order."""
        visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        return [chr(code) for code in visible] + [chr(256 + n) for n in range(256 - len(visible))]


class CharDelimiterSplit(PreTokenizer, kind="CharDelimiterSplit"):
    """At a character, which is left out."""

    delimiter = Character("delimiter")

    def __init__(self, delimiter: str) -> None:
        self._fill(locals())


class Digits(PreTokenizer, kind="Digits"):
    """Around digits, or runs of them."""

    individual_digits = Field("individual_digits", bool)

    def __init__(self, individual_digits: bool = False) -> None:
        self._fill(locals())


class FixedLength(PreTokenizer, kind="FixedLength"):
    """After every so many characters."""

    length = Field("length", int)

    def __init__(self, length: int = 5) -> None:
        self._fill(locals())


class Punctuation(PreTokenizer, kind="Punctuation"):
    """Around punctuation."""

    behavior = Choice("behavior", BEHAVIORS, error=ValueError)

    def __init__(self, behavior: str = "isolated") -> None:
        self._fill(locals())


class Metaspace(PreTokenizer, kind="Metaspace"):
    """SentencePiece's: spaces become a visible character, at which the text is cut."""

    replacement = Character("replacement")
    prepend_scheme = Choice("prepend_scheme", PREPEND_SCHEMES, error=ValueError)
    split = Field("split", bool)

    def __init__(
        self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True
    ) -> None:
        self._fill(locals())


class Split(PreTokenizer, kind="Split"):
    """Where a pattern finds something."""

    behavior = Choice("behavior", BEHAVIORS, error=ValueError)
    invert = Field("invert", bool)

    def __init__(self, pattern: str | Regex, behavior: str, invert: bool = False) -> None:
        self._fields = {"pattern": pattern_of(pattern)}
        self.behavior = behavior
        self.invert = invert

    @property
    def pattern(self) -> None:
        """Cannot be read, as in the other library."""
        raise Exception("Cannot get pattern")

    @pattern.setter
    def pattern(self, pattern: Any) -> None:
        raise Exception("Cannot set pattern, please instantiate a new split pattern instead")


class Sequence(Members, PreTokenizer, kind="Sequence"):
    """Several pre-tokenizers, one after the other."""

    members_name = "pretokenizers"

    def __init__(self, pre_tokenizers: Iterable[PreTokenizer]) -> None:
        self._set_members(pre_tokenizers, PreTokenizer)
