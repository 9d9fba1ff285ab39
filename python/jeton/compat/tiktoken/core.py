"""``Encoding``: tiktoken's interface to one tokenizer.

Special tokens are found by the core where each has an id of its own. tiktoken also accepts special
tokens that share one (``o200k_harmony`` has such a pair); texts that may hold these are cut here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from typing import Any, Literal, NoReturn, Self

import numpy as np
import numpy.typing as npt

from jeton._core import Tokenizer
from jeton.compat.tiktoken import _building, _unstable
from jeton.compat.tiktoken._building import (
    DisallowedSpecialTokenError,
    IdRangeError,
    NotAnIdError,
    NotATokenError,
    VocabularySizeError,
)
from jeton.errors import InvalidTextError, UnknownTokenIdError

__all__ = ["Encoding", "raise_disallowed_special_token"]

_MAX_ID = 2**32 - 1

_Special = Literal["all"] | AbstractSet[str]
_Disallowed = Literal["all"] | Collection[str]


class Encoding:
    """A tokenizer with the interface of ``tiktoken.Encoding`` (0.14.0).

    Attributes:
        name: The encoding's name.
        max_token_value: The highest id.
        tokenizer: Jeton's own tokenizer.
    """

    name: str
    max_token_value: int
    tokenizer: Tokenizer

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        """Make an encoding from its parts.

        Args:
            name: The encoding's name.
            pat_str: Regular expression of the pieces that are encoded each by itself. Text that it
                does not match is dropped, as in tiktoken.
            mergeable_ranks: Token bytes and ids; the lower an id, the earlier it is merged.
            special_tokens: Special tokens and their ids.
            explicit_n_vocab: How many tokens there must be.

        Raises:
            VocabularyError: The parts do not make a vocabulary (a ``ValueError``; also an
                ``AssertionError`` or a ``TypeError`` where tiktoken raises these).
        """
        _building.check(pat_str, mergeable_ranks, special_tokens)
        highest = max([*mergeable_ranks.values(), *special_tokens.values()])
        n_tokens = len(mergeable_ranks) + len(special_tokens)
        if explicit_n_vocab and not n_tokens == explicit_n_vocab == highest + 1:
            raise VocabularySizeError(
                f"explicit_n_vocab is {explicit_n_vocab}, but there are {n_tokens} tokens and the "
                f"highest id is {highest}; expected ids from 0 without a gap"
            )
        self.name = name
        self.max_token_value = highest
        self._pat_str = pat_str
        self._special_tokens = special_tokens
        self.__dict__["_mergeable_ranks"] = mergeable_ranks
        self.tokenizer = _building.build(name, pat_str, mergeable_ranks, special_tokens)

    @classmethod
    def from_tokenizer(
        cls, tokenizer: Tokenizer, *, special_tokens: dict[str, int] | None = None
    ) -> Self:
        """The interface of tiktoken for a byte-level BPE tokenizer of Jeton's.

        Args:
            tokenizer: A byte-level BPE tokenizer, as `jeton.load("cl100k_base")` gives it.
            special_tokens: Its special tokens with names that share an id; by default its own.

        Raises:
            UsageError: The tokenizer is of another kind.
        """
        pattern = _building.pattern_of(tokenizer)
        encoding = cls.__new__(cls)
        encoding.name = tokenizer.name or "unnamed"
        encoding.max_token_value = tokenizer.vocab_size - 1
        encoding._pat_str = pattern
        encoding._special_tokens = special_tokens or tokenizer.special_tokens
        encoding.tokenizer = tokenizer
        return encoding

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return _building.ranks_of(self.tokenizer)

    @cached_property
    def _special_token_values(self) -> set[int]:
        return set(self._special_tokens.values())

    @cached_property
    def _own_specials(self) -> frozenset[str]:
        """Special tokens that the core finds by itself."""
        return frozenset(self.tokenizer.special_tokens)

    # Encoding

    def encode_ordinary(self, text: str) -> list[int]:
        """Ids of a text in which nothing is special."""
        _require_str(text)
        try:
            return self.tokenizer.encode(text)
        except InvalidTextError:
            return self.tokenizer.encode(_without_surrogates(text))

    def encode(
        self,
        text: str,
        *,
        allowed_special: _Special = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> list[int]:
        """Ids of a text.

        Args:
            text: The text. Surrogate pairs become their character, lone surrogates U+FFFD.
            allowed_special: Special tokens that the text may become by spelling them; ``"all"``.
            disallowed_special: Special tokens that the text may not spell; ``"all"``: all that
                are not allowed. With ``()`` those not allowed are ordinary text.

        Raises:
            DisallowedSpecialTokenError: The text spells a disallowed special token.
        """
        allowed, _ = self._check(text, allowed_special, disallowed_special)
        return self._encode_allowed(text, allowed)

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: _Special = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> npt.NDArray[np.uint32]:
        """Encode to an array, uint32 (n_tokens,)."""
        allowed, _ = self._check(text, allowed_special, disallowed_special)
        if allowed <= self._own_specials:
            try:
                return self.tokenizer.encode_array(text, allow_special=allowed or None)
            except InvalidTextError:
                pass
        return np.array(self._encode_allowed(text, allowed), dtype=np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """`encode_ordinary` for each text."""
        return self._encode_batch(list(text), frozenset(), num_threads, self.encode_ordinary)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: _Special = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> list[list[int]]:
        """`encode` for each text."""
        texts = list(text)
        allowed, find = self._rules(allowed_special, disallowed_special)
        for one in texts:
            _refuse_disallowed(one, find)
        allowed = allowed.intersection(self._special_tokens)
        return self._encode_batch(
            texts, allowed, num_threads, lambda one: self._encode_allowed(one, allowed)
        )

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: _Special = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """Ids that stay whatever follows the text, and the ways in which it could go on.

        Returns:
            Ids of a beginning of the text, and sequences of ids that may follow them, each of which
            begins with the rest of the text. Order: by ids. (tiktoken: by chance.)
        """
        allowed, _ = self._check(text, allowed_special, disallowed_special)
        try:
            text.encode()
        except UnicodeEncodeError:
            text = _without_surrogates(text)
        return _unstable.encode_with_unstable(self, text, allowed)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special ones included.

        Raises:
            NotATokenError: There is no such token (a ``KeyError``).
        """
        if isinstance(text_or_bytes, str):
            text_or_bytes = text_or_bytes.encode("utf-8")
        elif not isinstance(text_or_bytes, bytes):
            raise TypeError(f"a token must be str or bytes, not {type(text_or_bytes).__name__}")
        found = self._ids_of_bytes(text_or_bytes)
        if found is None:
            raise NotATokenError(f"{text_or_bytes!r} is no token of {self.name}")
        return found

    # Decoding

    def decode_bytes(self, tokens: Sequence[int] | npt.NDArray[Any]) -> bytes:
        """The bytes of ids.

        Raises:
            UnknownTokenIdError: An id has no token (a ``KeyError``).
            IdRangeError: An id is negative or too large (an ``OverflowError``).
        """
        try:
            return self.tokenizer.decode_bytes(_ids(tokens))
        except UnknownTokenIdError as error:
            if error.id is not None and error.id > _MAX_ID:
                raise IdRangeError(f"id {error.id} needs more than 32 bits") from None
            raise
        except ValueError as error:
            raise IdRangeError(str(error)) from None

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids; ``errors`` as in ``bytes.decode``."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one token. Raises as `decode_bytes` does."""
        return self.decode_bytes([token])

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text, and where in it each token begins, in code points.

        A token that begins inside a character counts from that character.

        Raises:
            UnicodeDecodeError: The bytes are not UTF-8.
        """
        parts = self.decode_tokens_bytes(tokens)
        data = np.frombuffer(b"".join(parts), dtype=np.uint8)
        continues = (data >= 0x80) & (data < 0xC0)
        # Characters that begin before each byte, and at the end.
        before = np.concatenate(([0], np.cumsum(~continues)))
        starts = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
        offsets = [
            max(0, int(before[start]) - bool(continues[start]))
            for start in starts[:-1].astype(np.int64)
        ]
        return data.tobytes().decode("utf-8", errors="strict"), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """`decode` for each list of ids."""
        _check_threads(num_threads)
        return [self.decode(tokens, errors=errors) for tokens in batch]

    def decode_bytes_batch(
        self, batch: Sequence[Sequence[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """`decode_bytes` for each list of ids."""
        _check_threads(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # About the vocabulary

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens that are not special, sorted."""
        return list(self._sorted_token_bytes)

    @cached_property
    def _sorted_token_bytes(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        """The id of ``<|endoftext|>``; a ``KeyError`` where there is none."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """All special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """True if an id is that of a special token."""
        if not isinstance(token, int):
            raise NotAnIdError(f"an id must be an integer, not {token!r}")
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """One more than the highest id."""
        return self.max_token_value + 1

    # Private in tiktoken, and used by programs all the same

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        if isinstance(text_or_bytes, str):
            text_or_bytes = text_or_bytes.encode("utf-8")
        return self.tokenizer.encode_pretoken(text_or_bytes)

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        return self.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        return _unstable.encode_bytes(self, text)

    def __getstate__(self) -> object:
        from jeton.compat.tiktoken import registry

        if self is registry.ENCODINGS.get(self.name):
            return self.name
        return {"tokenizer": self.tokenizer, "special_tokens": self._special_tokens}

    def __setstate__(self, value: object) -> None:
        from jeton.compat.tiktoken import registry

        if isinstance(value, str):
            self.__dict__ = registry.get_encoding(value).__dict__
        elif isinstance(value, dict):
            self.__dict__ = Encoding.from_tokenizer(**value).__dict__

    # How it is done

    def _check(
        self, text: str, allowed_special: _Special, disallowed_special: _Disallowed
    ) -> tuple[frozenset[str], re.Pattern[str] | None]:
        allowed, find = self._rules(allowed_special, disallowed_special)
        _refuse_disallowed(text, find)
        _require_str(text)
        if not isinstance(allowed_special, (str, set, frozenset, AbstractSet)):
            raise TypeError(f"allowed_special must be a set, not {allowed_special!r}")
        return allowed.intersection(self._special_tokens), find

    def _rules(
        self, allowed_special: _Special, disallowed_special: _Disallowed
    ) -> tuple[frozenset[str], re.Pattern[str] | None]:
        """Allowed special tokens, and what finds disallowed ones."""
        names = self.special_tokens_set
        allowed = names if allowed_special == "all" else allowed_special
        # A list in place of a set is a TypeError here, as in tiktoken.
        disallowed = names - allowed if disallowed_special == "all" else disallowed_special
        if not disallowed:
            return frozenset(allowed), None
        return frozenset(allowed), _special_token_regex(frozenset(disallowed))

    def _encode_allowed(self, text: str, allowed: frozenset[str]) -> list[int]:
        try:
            if allowed <= self._own_specials:
                return self.tokenizer.encode(text, allow_special=allowed or None)
            return self._encode_cut(text, allowed)
        except InvalidTextError:
            return self._encode_allowed(_without_surrogates(text), allowed)

    def _encode_cut(self, text: str, allowed: frozenset[str]) -> list[int]:
        """Where allowed special tokens share an id: cut at them, encode between them."""
        ids: list[int] = []
        position = 0
        for match in _special_token_regex(allowed).finditer(text):
            ids += self.tokenizer.encode(text[position : match.start()])
            ids.append(self._special_tokens[match.group()])
            position = match.end()
        return ids + self.tokenizer.encode(text[position:])

    def _encode_batch(
        self,
        texts: list[str],
        allowed: frozenset[str],
        num_threads: int,
        one_by_one: Callable[[str], list[int]],
    ) -> list[list[int]]:
        _check_threads(num_threads)
        for text in texts:
            _require_str(text)
        if allowed <= self._own_specials:
            try:
                batch = self.tokenizer.encode_batch(
                    _strict(texts), num_threads=num_threads, allow_special=allowed or None
                )
                return batch.to_lists()
            except InvalidTextError:
                pass
        return [one_by_one(text) for text in texts]

    def _ids_of_bytes(self, token_bytes: bytes) -> int | None:
        found = self.tokenizer.bytes_to_id(token_bytes)
        if found is not None and found not in self._special_token_values:
            return found
        found = self.__dict__.get("_mergeable_ranks", {}).get(token_bytes)
        if found is not None:
            return int(found)
        try:
            return self._special_tokens.get(token_bytes.decode("utf-8"))
        except UnicodeDecodeError:
            return None


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raise the error for a disallowed special token."""
    raise DisallowedSpecialTokenError(token)


def _require_str(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"a text must be str, not {type(text).__name__}")


def _strict(texts: list[str]) -> Any:
    """The texts as a batch; a lone surrogate is an ``InvalidTextError``."""
    from jeton._core import TextBatch

    return TextBatch.from_texts(texts, strict=True)


def _check_threads(num_threads: int) -> None:
    if num_threads is not None and num_threads <= 0:
        raise ValueError(f"num_threads is {num_threads}; expected at least 1")


def _ids(tokens: Sequence[int] | npt.NDArray[Any]) -> Sequence[int] | npt.NDArray[Any]:
    """Check a value that tiktoken takes for a sequence of ids: a sequence that is no text."""
    if isinstance(tokens, (str, set, frozenset, dict)) or not hasattr(tokens, "__getitem__"):
        raise TypeError(f"ids must be a sequence of integers, not {type(tokens).__name__}")
    return tokens


def _refuse_disallowed(text: str, find: re.Pattern[str] | None) -> None:
    match = find.search(text) if find is not None else None
    if match is not None:
        raise_disallowed_special_token(match.group())


@lru_cache(maxsize=128)
def _special_token_regex(tokens: frozenset[str]) -> re.Pattern[str]:
    """Finds any of these texts; where several begin at one place, the longest."""
    return re.compile("|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True)))


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
