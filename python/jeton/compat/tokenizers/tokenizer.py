"""``Tokenizer``: the interface of ``tokenizers.Tokenizer`` over Jeton's core."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer as CoreTokenizer
from jeton._files import write_whole
from jeton.compat.tokenizers import decoders, normalizers, pre_tokenizers, processors
from jeton.compat.tokenizers._arguments import MAX_ID, as_kind, unsigned
from jeton.compat.tokenizers._component import LONG, SHORT, spelled
from jeton.compat.tokenizers._cores import core_of
from jeton.compat.tokenizers._limits import Padding, Truncation, pad_batch
from jeton.compat.tokenizers._pipeline import Pipeline
from jeton.compat.tokenizers._placing import batch_inputs, one_input
from jeton.compat.tokenizers.added_token import AddedToken
from jeton.compat.tokenizers.encoding import Encoding
from jeton.compat.tokenizers.models import model_of
from jeton.errors import FormatError

__all__ = ["Tokenizer"]

TOKENIZER_FILE = "tokenizer.json"


class Tokenizer(Pipeline):
    """A pipeline of components around a model.

    Threads may encode at the same time, also while another one changes the tokenizer: each call
    works on the tokenizer as it was when it began.
    """

    # --- reading and writing

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """From the text of a ``tokenizer.json``."""
        return _read(as_kind(json, str, "json"))

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """From the bytes of a ``tokenizer.json``."""
        if not isinstance(buffer, bytes | bytearray | memoryview):
            raise TypeError(f"argument 'buffer': bytes are needed, not {type(buffer).__name__}")
        return _read(bytes(buffer).decode())

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """From a ``tokenizer.json``."""
        return _read(Path(path).read_text(encoding="utf-8"))

    @staticmethod
    def from_pretrained(
        identifier: str, revision: str = "main", token: str | None = None
    ) -> Tokenizer:
        """From a folder, or the name of a tokenizer that Jeton finds without the network.

        Args:
            identifier: A folder with a ``tokenizer.json`` or other files of a tokenizer, or a name
                that ``jeton.load`` knows.
            revision: For the Hugging Face Hub, which is not asked.
            token: For the Hugging Face Hub, which is not asked.
        """
        return _pretrained(as_kind(identifier, str, "identifier"), revision)

    @staticmethod
    def from_tokenizer(tok: CoreTokenizer) -> Tokenizer:
        """From a tokenizer of Jeton's own interface.

        Raises:
            VocabularyError: ``tokenizer.json`` cannot express it.
        """
        return _read(tok.to_hf_json().decode())

    @property
    def tokenizer(self) -> CoreTokenizer:
        """Tokenizer in Jeton's own interface, as it is now."""
        return core_of(self._document())

    def to_str(self, pretty: bool = False) -> str:
        """The text of a ``tokenizer.json``."""
        text = self._document()
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2) if pretty else text

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a ``tokenizer.json``, whole or not at all."""
        write_whole(path, self.to_str(pretty=pretty))

    def __getstate__(self) -> bytes:
        return self.to_str().encode()

    def __setstate__(self, state: bytes) -> None:
        self.__dict__.update(_read(state.decode()).__dict__)

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[bytes, bool]]:
        return _unpickle, (self.__getstate__(), self._encode_special_tokens)

    def __copy__(self) -> Tokenizer:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        # Descriptions are never changed in place, so that vocabularies and the core are shared.
        copy = Tokenizer.__new__(Tokenizer)
        copy.__dict__.update(self.__dict__)
        copy._model = self._model._of(self._model._fields)
        for name in ("_normalizer", "_pre_tokenizer", "_post_processor", "_decoder"):
            component = getattr(self, name)
            setattr(copy, name, component and deepcopy(component, memo))
        return copy

    def _shown(self) -> dict[str, Any]:
        truncation, padding = self._truncation, self._padding
        return {
            "type": "Tokenizer",
            "version": "1.0",
            "truncation": truncation and {"type": "TruncationParams", **truncation.as_file()},
            "padding": padding and {"type": "PaddingParams", **padding.as_file()},
            "added_tokens": [
                {"id": number, **token.__getstate__()}
                for number, token in sorted(self._added.items())
            ],
            "normalizer": self._normalizer,
            "pre_tokenizer": self._pre_tokenizer,
            "post_processor": self._post_processor,
            "decoder": self._decoder,
            "model": self._model,
        }

    def __str__(self) -> str:
        return spelled(self._shown(), most=SHORT.most, longest=SHORT.longest)

    def __repr__(self) -> str:
        return spelled(self._shown(), most=LONG.most, longest=LONG.longest)

    # --- texts to ids

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Encode a text or two, or the words of one or two.

        Args:
            sequence: A text, or a list of words if ``is_pretokenized``.
            pair: A second one.
            is_pretokenized: True if words are given.
            add_special_tokens: True if the post-processor puts its tokens around them.
        """
        first, second = one_input(sequence, pair, is_pretokenized=is_pretokenized)
        task = self._task(add_special_tokens=add_special_tokens)
        encoding = self._compiled().encode(first, second, task)
        pad_batch([encoding], task.padding)
        return encoding

    def encode_batch(
        self,
        input: Any,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,  # noqa: A002
    ) -> list[Encoding]:
        """Encode many inputs, each a text, a list of words, or a pair of them."""
        inputs = batch_inputs(input, is_pretokenized=is_pretokenized)
        return self._compiled().encode_batch(
            inputs, self._task(add_special_tokens=add_special_tokens)
        )

    def encode_batch_fast(
        self,
        input: Any,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,  # noqa: A002
    ) -> list[Encoding]:
        """Encode as `encode_batch` does: offsets are there when asked for, not left empty."""
        return self.encode_batch(input, is_pretokenized, add_special_tokens)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate, put tokens around, fill up."""
        parts = [part for part in (encoding, pair) if part is not None]
        for part in parts:
            if not isinstance(part, Encoding):
                raise TypeError(f"argument 'encoding': {part!r} is no Encoding")
        task = self._task(add_special_tokens=add_special_tokens)
        clones = [part._complete()._clone() for part in parts]
        whole = self._compiled().finish(clones, task)
        pad_batch([whole], task.padding)
        return whole

    # --- ids to text

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """The text of ids; those without a token are left out."""
        return self._compiled().decode(_ids(ids), skip_special_tokens=skip_special_tokens)

    def decode_batch(
        self, sequences: Iterable[Iterable[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """The texts of many lists of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # --- the same for programs that wait for nothing

    async def async_encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """``encode`` on another thread."""
        return await asyncio.to_thread(
            self.encode, sequence, pair, is_pretokenized, add_special_tokens
        )

    async def async_encode_batch(
        self,
        input: Any,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,  # noqa: A002
    ) -> list[Encoding]:
        """``encode_batch`` on another thread."""
        return await asyncio.to_thread(
            self.encode_batch, input, is_pretokenized, add_special_tokens
        )

    async def async_encode_batch_fast(
        self,
        input: Any,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,  # noqa: A002
    ) -> list[Encoding]:
        """``encode_batch_fast`` on another thread."""
        return await self.async_encode_batch(input, is_pretokenized, add_special_tokens)

    async def async_decode_batch(
        self, sequences: Iterable[Iterable[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """``decode_batch`` on another thread."""
        return await asyncio.to_thread(self.decode_batch, sequences, skip_special_tokens)

    # --- training

    def train(self, files: Any, trainer: Any = None) -> None:
        """Learn a vocabulary from text files, line by line with their ends."""
        if isinstance(files, str):
            raise TypeError("argument 'files': a list of paths is needed, not a str")
        paths = [Path(path) for path in files]

        def lines() -> Iterator[str]:
            for path in paths:
                with path.open(encoding="utf-8", newline="\n") as stream:
                    yield from stream

        self.train_from_iterator(lines(), trainer)

    def train_from_iterator(
        self, iterator: Iterable[Any], trainer: Any = None, length: int | None = None
    ) -> None:
        """Learn a vocabulary from texts, or lists of texts.

        Args:
            iterator: The texts.
            trainer: Settings of the training; None for the usual settings of the model's kind.
            length: The number of texts, for a progress bar; there is none here.
        """
        from jeton.compat.tokenizers.trainers import train_into

        chosen = self._model.get_trainer() if trainer is None else trainer
        train_into(self, iterator, chosen)


def _ids(ids: Iterable[Any]) -> list[int]:
    if isinstance(ids, str | bytes):
        raise TypeError("argument 'ids': a list of ids is needed")
    listed = ids.tolist() if hasattr(ids, "tolist") else ids
    return [unsigned(number, "ids", most=MAX_ID) for number in listed]


def _unpickle(state: bytes, encode_special_tokens: bool) -> Tokenizer:
    tokenizer = _read(state.decode())
    tokenizer.encode_special_tokens = encode_special_tokens
    return tokenizer


def _read(text: str) -> Tokenizer:
    """The tokenizer of a file's text, which the core reads first: it says what is wrong."""
    core = core_of(text)
    parts = json.loads(text)
    try:
        return _of_parts(parts)
    except (FormatError, KeyError, TypeError, AttributeError):
        # An old or unusual way of writing that the core reads, and writes in the usual one.
        return _of_parts(json.loads(core.to_hf_json()))


def _of_parts(parts: dict[str, Any]) -> Tokenizer:
    tokenizer = Tokenizer(model_of(parts["model"]))
    for name, base in (
        ("normalizer", normalizers.Normalizer),
        ("pre_tokenizer", pre_tokenizers.PreTokenizer),
        ("post_processor", processors.PostProcessor),
        ("decoder", decoders.Decoder),
    ):
        described = parts.get(name)
        if described is not None:
            setattr(tokenizer, f"_{name}", base._from_description(described))
    tokenizer._truncation = Truncation.of_file(parts.get("truncation"))
    tokenizer._padding = Padding.of_file(parts.get("padding"))
    tokens = [
        AddedToken(**{name: value for name, value in token.items() if name != "id"})
        for token in parts.get("added_tokens") or []
    ]
    # Files of old may leave out what is false; the ids of tokens that the vocabulary does not have
    # follow from their order.
    tokenizer._add([AddedToken(**token.__getstate__()) for token in tokens])
    return tokenizer


def _pretrained(identifier: str, revision: str) -> Tokenizer:
    from jeton.errors import UnknownTokenizerError
    from jeton.registry import load, place_of

    place = place_of(identifier)
    if place is not None and (place / TOKENIZER_FILE).is_file():
        return Tokenizer.from_file(str(place / TOKENIZER_FILE))
    try:
        found = load(identifier)
    except UnknownTokenizerError as error:
        if "/" not in identifier:
            raise
        raise FileNotFoundError(
            f"{identifier}: there is no such folder, no model of this name in the local cache, and "
            f"nothing is fetched from the Hugging Face Hub (revision {revision})\nhint: download "
            f"the files (hf download {identifier}) and give the name again, or the folder"
        ) from error
    return Tokenizer.from_buffer(found.to_hf_json())
