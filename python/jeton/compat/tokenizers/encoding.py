"""``Encoding``: what became of one input, token by token, and ways between texts and tokens."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from jeton.compat.tokenizers._arguments import MAX_ID, as_kind, direction, unsigned
from jeton.errors import UsageError

__all__ = ["Encoding"]

# Tokens that padding or windows may make of one input: about 2 GB of lists. A number that is
# mistyped or somebody else's ends in an error, and not when the machine's memory does.
MAX_TOKENS: Final = 1 << 24

# The columns of an encoding: one value for each token.
COLUMNS: Final = (
    "_ids",
    "_type_ids",
    "_tokens",
    "_words",
    "_offsets",
    "_special",
    "_attention",
)


class Encoding:
    """Tokens with their ids, texts, places, words and masks.

    All lists have the length ``len(encoding)``. Places are half-open, in code points of the input
    sequence that the token comes from. ``overflowing`` has the further windows of an input that
    was truncated.

    Encodings of a batch know their ids at once; the rest is worked out when it is first asked for.
    """

    __slots__ = (*COLUMNS, "_overflowing", "_ranges", "_rest")

    _ids: list[int]
    _type_ids: list[int]
    _tokens: list[str]
    _words: list[int | None]
    _offsets: list[tuple[int, int]]
    _special: list[int]
    _attention: list[int]
    _overflowing: list[Encoding]
    # Which tokens each input sequence covers: sequence -> (first, one past the last).
    _ranges: dict[int, tuple[int, int]]
    _rest: Callable[[], Encoding] | None

    def __init__(self) -> None:
        for column in COLUMNS:
            setattr(self, column, [])
        self._overflowing = []
        self._ranges = {}
        self._rest = None

    @classmethod
    def _of_columns(
        cls,
        ids: list[int],
        type_ids: list[int],
        tokens: list[str],
        words: list[int | None],
        offsets: list[tuple[int, int]],
        special: list[int],
        attention: list[int],
    ) -> Encoding:
        encoding = cls.__new__(cls)
        encoding._ids = ids
        encoding._type_ids = type_ids
        encoding._tokens = tokens
        encoding._words = words
        encoding._offsets = offsets
        encoding._special = special
        encoding._attention = attention
        encoding._overflowing = []
        encoding._ranges = {}
        encoding._rest = None
        return encoding

    def _complete(self) -> Encoding:
        """Return the encoding with everything worked out."""
        if self._rest is not None:
            whole = self._rest()
            for column in (*COLUMNS, "_overflowing", "_ranges"):
                setattr(self, column, getattr(whole, column))
            self._rest = None
        return self

    def _cut(self, start: int, stop: int) -> Encoding:
        """The tokens of a range, without what is known of sequences."""
        columns = (getattr(self, column)[start:stop] for column in COLUMNS)
        return Encoding._of_columns(*columns)

    def _clone(self) -> Encoding:
        copy = self._cut(0, len(self._ids))
        copy._ranges = dict(self._ranges)
        copy._overflowing = [part._clone() for part in self._overflowing]
        return copy

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return self._ids[:]

    @property
    def type_ids(self) -> list[int]:
        """Token-type ids."""
        return self._type_ids[:]

    @property
    def tokens(self) -> list[str]:
        """The tokens as texts."""
        return self._complete()._tokens[:]

    @property
    def words(self) -> list[int | None]:
        """Return ``word_ids``, with a warning: the other library has deprecated the name."""
        message = "Encoding.words is deprecated, please use Encoding.word_ids instead."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.word_ids

    @property
    def word_ids(self) -> list[int | None]:
        """The number of each token's word in its sequence; None for tokens put around texts."""
        return self._complete()._words[:]

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Where each token comes from: (first code point, one past the last)."""
        return self._complete()._offsets[:]

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens that were put around texts or fill up, else 0."""
        return self._special[:]

    @property
    def attention_mask(self) -> list[int]:
        """0 for tokens that fill up, else 1."""
        return self._attention[:]

    @property
    def overflowing(self) -> list[Encoding]:
        """The further windows of an input that was truncated."""
        return [part._clone() for part in self._complete()._overflowing]

    @property
    def n_sequences(self) -> int:
        """The number of input sequences."""
        return len(self._ranges) or 1

    @property
    def sequence_ids(self) -> list[int | None]:
        """The input sequence that each token comes from; None for tokens put around them."""
        sequences: list[int | None] = [None] * len(self)
        for sequence in range(self.n_sequences):
            start, stop = self._range(sequence)
            sequences[start:stop] = [sequence] * (stop - start)
        return sequences

    def set_sequence_id(self, sequence_id: int) -> None:
        """Say that all tokens come from this input sequence."""
        self._ranges = dict(self._complete()._ranges)
        self._ranges[unsigned(sequence_id, "sequence_id")] = (0, len(self))

    def _range(self, sequence: int) -> tuple[int, int]:
        return self._ranges.get(sequence, (0, len(self._ids)))

    def token_to_sequence(self, token_index: int) -> int | None:
        """The input sequence that a token comes from."""
        token = unsigned(token_index, "token_index")
        if token > len(self):
            return None
        if not self._ranges:
            return 0
        ranges = self._ranges.items()
        return next((number for number, (a, b) in ranges if a <= token < b), None)

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Where a token comes from in its sequence."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        return self._complete()._offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """The word of its sequence that a token belongs to."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        return self._complete()._words[token_index]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The tokens of a word: (first, one past the last)."""
        word = unsigned(word_index, "word_index", most=MAX_ID)
        start, stop = self._range(unsigned(sequence_index, "sequence_index"))
        words = self._complete()._words
        first = last = None
        for index in range(start, stop):
            found = words[index]
            # Words come in order, so that none after a later one is looked at; None comes first.
            if found is not None and found > word:
                break
            if found == word:
                first = index if first is None else first
                last = index + 1
        return None if first is None or last is None else (first, last)

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Where a word stands in its sequence."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        if tokens is None:
            return None
        return (self._offsets[tokens[0]][0], self._offsets[tokens[1] - 1][1])

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The token that covers a code point of a sequence."""
        position = unsigned(char_pos, "char_pos")
        start, stop = self._range(unsigned(sequence_index, "sequence_index"))
        offsets = self._complete()._offsets
        for index in range(start, stop):
            first, last = offsets[index]
            if first <= position < last:
                return index
        return None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word that covers a code point of a sequence."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def pad(self, length: int, **options: Any) -> None:
        """Fill up to a length, further windows too; nothing happens where there is more.

        Args:
            length: The number of tokens to have.
            options: ``direction`` ("right" or "left"), ``pad_id`` (0), ``pad_type_id`` (0),
                ``pad_token`` ("[PAD]").
        """
        filling = {"direction": "right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
        unknown = [name for name in options if name not in filling]
        if unknown:
            hint = f"\nhint: the options are {', '.join(filling)}"
            raise UsageError(f"pad has no option {unknown[0]!r}{hint}")
        filling.update(options)
        self._complete()._pad(
            unsigned(length, "length"),
            pad_id=unsigned(filling["pad_id"], "pad_id", most=MAX_ID),
            pad_type_id=unsigned(filling["pad_type_id"], "pad_type_id", most=MAX_ID),
            pad_token=as_kind(filling["pad_token"], str, "pad_token"),
            left=direction(filling["direction"]) == "left",
        )

    def _pad(
        self, length: int, *, pad_id: int, pad_type_id: int, pad_token: str, left: bool
    ) -> None:
        rest = self._rest
        if rest is None:
            for part in self._overflowing:
                part._pad(
                    length,
                    pad_id=pad_id,
                    pad_type_id=pad_type_id,
                    pad_token=pad_token,
                    left=left,
                )
        else:
            # Parts that are not worked out yet are filled up when they are.
            def filled() -> Encoding:
                whole = rest()
                whole._pad(
                    length,
                    pad_id=pad_id,
                    pad_type_id=pad_type_id,
                    pad_token=pad_token,
                    left=left,
                )
                return whole

            self._rest = filled
        missing = length - len(self._ids)
        if missing <= 0:
            return
        _check_size(length, "padding")
        values = {
            "_ids": pad_id,
            "_type_ids": pad_type_id,
            "_special": 1,
            "_attention": 0,
        }
        if rest is None:
            values |= {"_tokens": pad_token, "_words": None, "_offsets": (0, 0)}  # type: ignore[dict-item]
        for column, value in values.items():
            held = getattr(self, column)
            added = [value] * missing
            setattr(self, column, added + held if left else held + added)
        if left:
            ranges = self._ranges.items()
            self._ranges = {number: (a + missing, b + missing) for number, (a, b) in ranges}

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cut to a length; what is cut off becomes further windows.

        Facts about several sequences are lost with it.

        Args:
            max_length: The number of tokens to keep.
            stride: How many tokens a window has in common with the one before.
            direction: The side that is cut off, "right" or "left".
        """
        max_length = unsigned(max_length, "max_length")
        stride = unsigned(stride, "stride")
        if as_kind(direction, str, "direction") not in {"left", "right"}:
            raise ValueError(f"Invalid truncation direction value : {direction}")
        self._complete()._truncate(max_length, stride, left=direction == "left")

    def _truncate(self, max_length: int, stride: int, *, left: bool) -> None:
        n_tokens = len(self._ids)
        if max_length >= n_tokens:
            return
        if max_length == 0:
            whole = self._clone()
            whole._rest = None
            self.__init__()  # type: ignore[misc]
            self._overflowing = [whole]
            return
        if stride >= max_length:
            raise UsageError(
                f"the stride {stride} must be less than the {max_length} tokens of a window, "
                "without those that are put around texts"
            )
        n_windows = -(-(n_tokens - max_length) // (max_length - stride)) + 1
        _check_size(n_windows * max_length, "windows that overlap")
        windows = list(windows_of(n_tokens, max_length, stride, left=left))
        parts = [self._cut(start, stop) for start, stop in windows]
        for column in (*COLUMNS, "_ranges"):
            setattr(self, column, getattr(parts[0], column))
        self._overflowing = parts[1:]

    @staticmethod
    def merge(encodings: Any, growing_offsets: bool = True) -> Encoding:
        """One encoding of several, one after the other.

        Args:
            encodings: The encodings to join.
            growing_offsets: True if places go on counting from one to the next.
        """
        if not isinstance(encodings, Sequence) or isinstance(encodings, str):
            raise TypeError("argument 'encodings': a list of Encoding is needed")
        for encoding in encodings:
            if not isinstance(encoding, Encoding):
                raise TypeError(f"argument 'encodings': {encoding!r} is no Encoding")
        return merged([encoding._complete() for encoding in encodings], growing=growing_offsets)

    def _join(self, other: Encoding, *, growing: bool) -> None:
        """Append another encoding, windows with windows in every combination."""
        overflowing = []
        for part in self._overflowing:
            for second in (other, *other._overflowing):
                joined = part._clone()
                joined._join(second, growing=growing)
                overflowing.append(joined)
        for second in other._overflowing:
            joined = self._cut(0, len(self._ids))
            joined._ranges = dict(self._ranges)
            joined._overflowing = [part._clone() for part in self._overflowing]
            joined._join(second, growing=growing)
            overflowing.append(joined)
        base = len(self._ids)
        for number, (start, stop) in other._ranges.items():
            self._ranges[number] = (base + start, base + stop)
        shift = self._offsets[-1][1] if growing and self._offsets else 0
        for column in COLUMNS:
            if column != "_offsets":
                setattr(self, column, getattr(self, column) + getattr(other, column))
        moved = [(a + shift, b + shift) for a, b in other._offsets] if shift else other._offsets
        self._offsets = self._offsets + moved
        self._overflowing = overflowing

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, "
            "attention_mask, special_tokens_mask, overflowing])"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything that is known, worked out."""
        self._complete()
        return {name: getattr(self, name) for name in (*COLUMNS, "_overflowing", "_ranges")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        for name in (*COLUMNS, "_overflowing", "_ranges"):
            setattr(self, name, state[name])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoding):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    # Encodings can be changed in place.
    __hash__ = None  # type: ignore[assignment]


def _check_size(n_tokens: int, what: str) -> None:
    if n_tokens > MAX_TOKENS:
        raise UsageError(
            f"{what} would make {n_tokens} tokens of one input; at most {MAX_TOKENS} are possible\n"
            "hint: a smaller length, or a smaller stride"
        )


def merged(encodings: Iterable[Encoding], *, growing: bool) -> Encoding:
    """One encoding of several that are worked out."""
    whole = Encoding()
    for encoding in encodings:
        whole._join(encoding, growing=growing)
    return whole


def windows_of(n_tokens: int, length: int, stride: int, *, left: bool) -> Iterable[tuple[int, int]]:
    """The ranges of windows of a length that overlap by ``stride``, from the side that is kept."""
    step = length - stride
    if left:
        for stop in range(n_tokens, 0, -step):
            start = max(stop - length, 0)
            yield start, stop
            if start == 0:
                return
    else:
        for start in range(0, n_tokens, step):
            stop = min(start + length, n_tokens)
            yield start, stop
            if stop == n_tokens:
                return
