"""Base of the tokenizers of well-known kinds: they pass on every call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jeton.compat.tokenizers.added_token import AddedToken
from jeton.compat.tokenizers.encoding import Encoding
from jeton.compat.tokenizers.tokenizer import Tokenizer

__all__ = ["BaseTokenizer", "TrainableTokenizer"]


class _Passed:
    """A component of the tokenizer inside."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else getattr(instance._tokenizer, self._name)

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(instance._tokenizer, self._name, value)


class BaseTokenizer:
    """A tokenizer with the settings that it was made of."""

    model = _Passed()
    normalizer = _Passed()
    pre_tokenizer = _Passed()
    post_processor = _Passed()
    decoder = _Passed()

    def __init__(self, tokenizer: Tokenizer, parameters: dict[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._parameters = {} if parameters is None else parameters

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self._parameters.items())
        return f"Tokenizer(vocabulary_size={self._tokenizer.get_vocab_size()}, {settings})"

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many tokens are put around one text, or two."""
        return self._tokenizer.num_special_tokens_to_add(is_pair)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Tokens with their ids."""
        return self._tokenizer.get_vocab(with_added_tokens=with_added_tokens)

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Added tokens by id."""
        return self._tokenizer.get_added_tokens_decoder()

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """The number of tokens."""
        return self._tokenizer.get_vocab_size(with_added_tokens=with_added_tokens)

    def enable_padding(
        self,
        direction: str | None = "right",
        pad_to_multiple_of: int | None = None,
        pad_id: int | None = 0,
        pad_type_id: int | None = 0,
        pad_token: str | None = "[PAD]",
        length: int | None = None,
    ) -> None:
        """Fill inputs up; see ``Tokenizer.enable_padding``."""
        self._tokenizer.enable_padding(
            direction=direction,
            pad_to_multiple_of=pad_to_multiple_of,
            pad_id=pad_id,
            pad_type_id=pad_type_id,
            pad_token=pad_token,
            length=length,
        )

    def no_padding(self) -> None:
        """Fill nothing up."""
        self._tokenizer.no_padding()

    @property
    def padding(self) -> dict[str, Any] | None:
        """The settings of padding, or None."""
        return self._tokenizer.padding

    def enable_truncation(
        self, max_length: int, stride: int | None = 0, strategy: str | None = "longest_first"
    ) -> None:
        """Cut inputs that are too long; see ``Tokenizer.enable_truncation``."""
        self._tokenizer.enable_truncation(max_length, stride=stride, strategy=strategy)

    def no_truncation(self) -> None:
        """Cut nothing."""
        self._tokenizer.no_truncation()

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The settings of truncation, or None."""
        return self._tokenizer.truncation

    def add_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Add tokens, to be found in texts."""
        return self._tokenizer.add_tokens(tokens)

    def add_special_tokens(self, special_tokens: list[str | AddedToken]) -> int:
        """Add tokens that decoding can leave out."""
        return self._tokenizer.add_special_tokens(special_tokens)

    def normalize(self, sequence: str) -> str:
        """Normalize a text with the normalizer."""
        return str(self._tokenizer.normalizer.normalize_str(sequence))

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Encode a text or two, or the words of one or two."""
        if sequence is None:
            raise ValueError("encode: `sequence` can't be `None`")
        return self._tokenizer.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(
        self, inputs: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode many inputs."""
        if inputs is None:
            raise ValueError("encode_batch: `inputs` can't be `None`")
        return self._tokenizer.encode_batch(inputs, is_pretokenized, add_special_tokens)

    async def async_encode_batch(
        self, inputs: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """``encode_batch`` on another thread."""
        if inputs is None:
            raise ValueError("async_encode_batch: `inputs` can't be `None`")
        return await self._tokenizer.async_encode_batch(inputs, is_pretokenized, add_special_tokens)

    async def async_encode_batch_fast(
        self, inputs: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """``encode_batch`` on another thread."""
        return await self.async_encode_batch(inputs, is_pretokenized, add_special_tokens)

    def decode(self, ids: list[int], skip_special_tokens: bool | None = True) -> str:
        """The text of ids."""
        if ids is None:
            raise ValueError("None input is not valid. Should be a list of integers.")
        return self._tokenizer.decode(ids, skip_special_tokens=bool(skip_special_tokens))

    def decode_batch(
        self, sequences: list[list[int]], skip_special_tokens: bool | None = True
    ) -> list[str]:
        """The texts of many lists of ids."""
        if sequences is None:
            raise ValueError("None input is not valid. Should be list of list of integers.")
        return self._tokenizer.decode_batch(
            sequences, skip_special_tokens=bool(skip_special_tokens)
        )

    async def async_decode_batch(
        self, sequences: list[list[int]], skip_special_tokens: bool | None = True
    ) -> list[str]:
        """``decode_batch`` on another thread."""
        if sequences is None:
            raise ValueError("async_decode_batch: `sequences` can't be `None`")
        return await self._tokenizer.async_decode_batch(sequences, bool(skip_special_tokens))

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self._tokenizer.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:  # noqa: A002
        """The token of an id, or None."""
        return self._tokenizer.id_to_token(id)

    def save_model(self, directory: str, prefix: str | None = None) -> list[str]:
        """Write the model's own files into a folder."""
        saved: list[str] = self._tokenizer.model.save(directory, prefix=prefix)
        return saved

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a ``tokenizer.json``."""
        self._tokenizer.save(path, pretty)

    def to_str(self, pretty: bool = False) -> str:
        """The text of a ``tokenizer.json``."""
        return self._tokenizer.to_str(pretty)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate, put tokens around, fill up."""
        return self._tokenizer.post_process(encoding, pair, add_special_tokens)


class TrainableTokenizer(BaseTokenizer):
    """One that learns its vocabulary, with the trainer of its kind."""

    @staticmethod
    def _trainer(options: dict[str, Any]) -> Any:
        raise NotImplementedError

    def train(self, files: str | Sequence[str], **options: Any) -> None:
        """Learn a vocabulary from files."""
        names = [files] if isinstance(files, str) else list(files)
        self._tokenizer.train(names, self._trainer(options))

    def train_from_iterator(self, iterator: Iterable[Any], **options: Any) -> None:
        """Learn a vocabulary from texts."""
        options.pop("length", None)
        self._tokenizer.train_from_iterator(iterator, self._trainer(options))
