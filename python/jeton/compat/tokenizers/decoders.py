"""Decoders: how token strings become text again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from jeton.compat.tokenizers._arguments import MAX_ID, as_kind, unsigned
from jeton.compat.tokenizers._component import Character, Choice, Component, Field, Members
from jeton.compat.tokenizers._cores import Regex, decode_strings, pattern_of
from jeton.compat.tokenizers.pre_tokenizers import PREPEND_SCHEMES
from jeton.errors import DecodeError

if TYPE_CHECKING:
    from jeton.compat.tokenizers.tokenizer import Tokenizer

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]


class Decoder(Component):
    """Base of all decoders."""

    family: ClassVar[dict[str, type[Component]]] = {}

    def decode(self, tokens: Iterable[str]) -> str:
        """The text of token strings."""
        if isinstance(tokens, str):
            raise TypeError("argument 'tokens': a list of str is needed, not a str")
        strings = [as_kind(token, str, "tokens") for token in tokens]
        return decode_strings(self._description(), strings)

    @staticmethod
    def custom(decoder: Any) -> Decoder:
        """A decoder written in Python: an object with ``decode_chain`` or ``decode``.

        It works on its own; a tokenizer, all of whose work is done by the core, refuses it.
        """
        return _Custom(decoder)


class _Custom(Decoder):
    """Somebody's own decoder."""

    def __init__(self, obj: Any) -> None:
        self._fields = {}
        self._custom = obj

    def _description(self) -> dict[str, Any]:
        raise Exception("Custom Decoder cannot be serialized")

    def decode(self, tokens: Iterable[str]) -> str:
        strings = list(tokens)
        if hasattr(self._custom, "decode"):
            return cast("str", self._custom.decode(strings))
        return "".join(self._custom.decode_chain(strings))

    def __reduce__(self) -> Any:
        return Decoder.custom, (self._custom,)


class ByteLevel(Decoder, kind="ByteLevel"):
    """From GPT-2's alphabet to bytes, and to text."""

    def __init__(self, **_kwargs: Any) -> None:
        # The file has settings of the pre-tokenizer here, which do nothing to decoding.
        self._fields = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}


class ByteFallback(Decoder, kind="ByteFallback"):
    """Tokens like ``<0x61>`` become bytes, and text where they are UTF-8."""

    def __init__(self) -> None:
        self._fields = {}


class Fuse(Decoder, kind="Fuse"):
    """All tokens become one, for the decoders that follow."""

    def __init__(self) -> None:
        self._fields = {}


class Replace(Decoder, kind="Replace"):
    """Decoder that replaces the matches of a pattern."""

    def __init__(self, pattern: str | Regex, content: str) -> None:
        replacement = as_kind(content, str, "content")
        self._fields = {"pattern": pattern_of(pattern), "content": replacement}


class Strip(Decoder, kind="Strip"):
    """A character is left out at the ends of tokens, so and so many times at most."""

    content = Character("content")
    start = Field("start", int)
    stop = Field("stop", int)

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        self._fields = {}
        self.content = content
        self.start = left
        self.stop = right


class WordPiece(Decoder, kind="WordPiece"):
    """Words apart, pieces together; the spaces of English punctuation are tidied."""

    prefix = Field("prefix", str)
    cleanup = Field("cleanup", bool)

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        self._fill(locals())


class BPEDecoder(Decoder, kind="BPEDecoder"):
    """A suffix marks the end of a word."""

    suffix = Field("suffix", str)

    def __init__(self, suffix: str = "</w>") -> None:
        self._fill(locals())


class CTC(Decoder, kind="CTC"):
    """Decoder of connectionist temporal classification: repetitions and padding are left out."""

    pad_token = Field("pad_token", str)
    word_delimiter_token = Field("word_delimiter_token", str)
    cleanup = Field("cleanup", bool)

    def __init__(
        self, pad_token: str = "<pad>", word_delimiter_token: str = "|", cleanup: bool = True
    ) -> None:
        self._fill(locals())


class Metaspace(Decoder, kind="Metaspace"):
    """A visible character becomes a space again."""

    replacement = Character("replacement")
    prepend_scheme = Choice("prepend_scheme", PREPEND_SCHEMES, error=ValueError)
    split = Field("split", bool)

    def __init__(
        self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True
    ) -> None:
        self._fill(locals())


class Sequence(Members, Decoder, kind="Sequence"):
    """Several decoders, one after the other."""

    members_name = "decoders"

    def __init__(self, decoders_py: Iterable[Decoder]) -> None:
        self._set_members(decoders_py, Decoder)


class DecodeStream:
    """Decoding of ids as they come, in the pieces that the other library gives.

    A piece comes as soon as the text of all ids so far is longer and ends in a whole character.
    ``jeton.Tokenizer.decode_stream`` knows more and decodes each id once.

    Args:
        ids: Ids that stand before the stream; their own text is not given.
        skip_special_tokens: True if special tokens are left out.
    """

    def __init__(
        self, ids: Iterable[int] | None = None, skip_special_tokens: bool | None = False
    ) -> None:
        self._skip = bool(skip_special_tokens)
        # The ids that the next piece may depend on, and the text of the first of them.
        self._ids = [unsigned(number, "ids", most=MAX_ID) for number in ids or ()]
        self._prefix = ""
        self._n_prefix = 0

    def step(self, tokenizer: Tokenizer, id: int | Iterable[int]) -> str | None:  # noqa: A002
        """The text that is certain with this id or these, or None."""
        new = list(id) if isinstance(id, Iterable) else [id]
        try:
            numbers = [unsigned(number, "id", most=MAX_ID) for number in new]
        except OverflowError as error:
            raise TypeError(str(error)) from None
        if not self._prefix and self._ids:
            prefix = tokenizer.decode(self._ids, self._skip)
            if not prefix.endswith("\ufffd"):
                self._prefix, self._n_prefix = prefix, len(self._ids)
        self._ids += numbers
        text = tokenizer.decode(self._ids, self._skip)
        if len(text.encode()) <= len(self._prefix.encode()) or text.endswith("\ufffd"):
            return None
        if not text.startswith(self._prefix):
            # Programs look for the first three words, and begin a new stream.
            raise DecodeError(
                f"Invalid prefix encountered while decoding stream. Token ID: {numbers[-1]}, "
                f"Expected prefix: {self._prefix!r}, Actual string: {text!r}\n"
                "hint: jeton.Tokenizer.decode_stream gives text only when it is certain"
            )
        piece = text[len(self._prefix) :]
        n_new = len(self._ids) - self._n_prefix
        self._ids = self._ids[self._n_prefix :]
        self._prefix = tokenizer.decode(self._ids, self._skip)
        self._n_prefix = n_new
        return piece

    def __copy__(self) -> DecodeStream:
        copy = DecodeStream(self._ids, self._skip)
        copy._prefix, copy._n_prefix = self._prefix, self._n_prefix
        return copy

    def __deepcopy__(self, _memo: dict[int, Any]) -> DecodeStream:
        return self.__copy__()
