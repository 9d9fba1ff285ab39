"""Components of a tokenizer, and the engine that is built from them when it is needed."""

from __future__ import annotations

from typing import Any

from jeton.compat.tokenizers import decoders, normalizers, pre_tokenizers, processors
from jeton.compat.tokenizers._arguments import MAX_ID, as_kind, unsigned
from jeton.compat.tokenizers._component import Component, adopt, edits
from jeton.compat.tokenizers._cores import core_of, document, written
from jeton.compat.tokenizers._engine import Engine, Task
from jeton.compat.tokenizers._limits import Padding, Truncation
from jeton.compat.tokenizers._placing import added_tokens, trim_of
from jeton.compat.tokenizers.added_token import AddedToken, adopt_token
from jeton.compat.tokenizers.models import Model, Unigram
from jeton.errors import UsageError


class Pipeline:
    """Components, added tokens and settings, which can be changed, and an engine made of them.

    Changing a component, or a field of one, is a change of the pipeline; the core is made anew when
    it is next needed.
    """

    def __init__(self, model: Model) -> None:
        self._model: Model = adopt(model, Model)
        self._normalizer: normalizers.Normalizer | None = None
        self._pre_tokenizer: pre_tokenizers.PreTokenizer | None = None
        self._post_processor: processors.PostProcessor | None = None
        self._decoder: decoders.Decoder | None = None
        self._added: dict[int, AddedToken] = {}
        self._numbers: dict[str, int] = {}
        # Texts that a special token ever had.
        self._ever_special: frozenset[str] = frozenset()
        self._truncation: Truncation | None = None
        self._padding: Padding | None = None
        self._encode_special_tokens = False
        # The parts of the latest engine, and the latest edit it has seen.
        self._engine: Engine | None = None
        self._made_of: tuple[Any, ...] = ()
        self._seen: object = None
        self._task_of: tuple[object, Any] = (None, None)

    # --- components

    @property
    def model(self) -> Any:
        """The model."""
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        self._model = adopt(model, Model)
        self._changed()

    @property
    def normalizer(self) -> Any:
        """The normalizer, or None."""
        return self._normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Any) -> None:
        self._normalizer = _of_family(normalizer, normalizers.Normalizer)
        self._changed()

    @property
    def pre_tokenizer(self) -> Any:
        """The pre-tokenizer, or None."""
        return self._pre_tokenizer

    @pre_tokenizer.setter
    def pre_tokenizer(self, pretok: Any) -> None:
        self._pre_tokenizer = _of_family(pretok, pre_tokenizers.PreTokenizer)
        self._changed()

    @property
    def post_processor(self) -> Any:
        """The post-processor, or None."""
        return self._post_processor

    @post_processor.setter
    def post_processor(self, processor: Any) -> None:
        self._post_processor = _of_family(processor, processors.PostProcessor)
        self._changed()

    @property
    def decoder(self) -> Any:
        """The decoder, or None."""
        return self._decoder

    @decoder.setter
    def decoder(self, decoder: Any) -> None:
        self._decoder = _of_family(decoder, decoders.Decoder)
        self._changed()

    @property
    def encode_special_tokens(self) -> bool:
        """True if special tokens that stand in a text are encoded as text."""
        return self._encode_special_tokens

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._encode_special_tokens = as_kind(value, bool, "value")

    def _processing(self) -> dict[str, Any] | None:
        processor = self._post_processor
        return None if processor is None else processor._description()

    def _changed(self) -> None:
        self._seen = None
        self._task_of = (None, None)

    def _compiled(self) -> Engine:
        """The engine of the tokenizer as it is now."""
        latest = edits.latest
        engine = self._engine
        if engine is not None and self._seen is latest:
            return engine
        trim = trim_of(self._processing())
        made_of = (
            self._model._written(),
            _described(self._normalizer),
            _described(self._pre_tokenizer),
            _described(self._decoder),
            trim,
            tuple((number, repr(token)) for number, token in sorted(self._added.items())),
        )
        if engine is None or made_of != self._made_of:
            engine = self._make(made_of, trim)
            self._engine = engine
            self._made_of = made_of
        self._seen = latest
        return engine

    def _make(self, made_of: tuple[Any, ...], trim: Any) -> Engine:
        model, normalizer, pre_tokenizer, decoder = made_of[:4]
        processor = "null"
        if trim is not None:
            cutting = {"trim_offsets": True, "add_prefix_space": trim.add_prefix_space}
            processor = written({"type": "ByteLevel", **cutting, "use_regex": True})
        core = core_of(
            document(
                model=model,
                added_tokens=sorted(self._added.items()),
                normalizer=normalizer,
                pre_tokenizer=pre_tokenizer,
                post_processor=processor,
                decoder=decoder,
            )
        )
        for token in core.added_tokens:
            if self._numbers.get(token.content) != token.id:
                raise UsageError(
                    f"the added token {token.content!r} has the id "
                    f"{self._numbers.get(token.content)} here and {token.id} in a file of this "
                    "tokenizer\nhint: set the model before adding tokens"
                )
        is_unigram = isinstance(self._model, Unigram)
        return Engine(
            core=core,
            strings=self._model._strings(),
            added=dict(self._added),
            trim=trim,
            surface_unknown=self._model._fields["unk_id"] if is_unigram else None,
            dropout=self._model._fields.get("dropout"),
            skipped=self._ever_special if self._skips_by_text(normalizer) else None,
            normalizer=normalizer,
            pre_tokenizer=pre_tokenizer,
        )

    def _skips_by_text(self, normalizer: str) -> bool:
        """True if skipping special tokens is anything else than leaving out their ids."""
        special = {token.content for token in self._added.values() if token.special}
        respelled = normalizer != "null" and any(
            token.special and token.normalized for token in self._added.values()
        )
        return respelled or special != self._ever_special

    def _task(self, *, add_special_tokens: bool) -> Task:
        latest = edits.latest
        if self._task_of[0] is not latest:
            self._task_of = (latest, self._processing())
        return Task(
            processor=self._task_of[1],
            truncation=self._truncation,
            padding=self._padding,
            add_special_tokens=as_kind(add_special_tokens, bool, "add_special_tokens"),
            encode_special_tokens=self._encode_special_tokens,
        )

    def _document(self) -> str:
        return document(
            model=self._model._written(),
            added_tokens=sorted(self._added.items()),
            normalizer=_described(self._normalizer),
            pre_tokenizer=_described(self._pre_tokenizer),
            post_processor=_described(self._post_processor),
            decoder=_described(self._decoder),
            truncation=written(self._truncation and self._truncation.as_file()),
            padding=written(self._padding and self._padding.as_file()),
        )

    # --- truncation and padding

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        """Cut inputs that are too long.

        Args:
            max_length: The most tokens of an input, with those that are put around texts.
            options: ``stride`` (0), ``strategy`` ("longest_first", "only_first" or
                "only_second"), ``direction`` ("right" or "left").
        """
        wanted = Truncation.of_options(max_length, options)
        room = wanted.max_length - self.num_special_tokens_to_add(False)
        if room < wanted.stride:
            raise ValueError(
                f"tokenizer stride set to {wanted.stride}, which is greater than or equal to its "
                f"effective max length of {room}"
            )
        self._truncation = wanted

    def no_truncation(self) -> None:
        """Cut nothing."""
        self._truncation = None

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The settings of truncation, or None."""
        return None if self._truncation is None else self._truncation.as_options()

    def enable_padding(self, **options: Any) -> None:
        """Fill inputs up.

        Args:
            options: ``length`` (None: that of the longest in a batch), ``pad_to_multiple_of``,
                ``pad_id`` (0), ``pad_type_id`` (0), ``pad_token`` ("[PAD]"), ``direction``
                ("right" or "left").
        """
        self._padding = Padding.of_options(options)

    def no_padding(self) -> None:
        """Fill nothing up."""
        self._padding = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """The settings of padding, or None."""
        return None if self._padding is None else self._padding.as_options()

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many tokens are put around one text, or two."""
        return added_tokens(self._processing(), is_pair=as_kind(is_pair, bool, "is_pair"))

    # --- vocabulary

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        number = self._numbers.get(as_kind(token, str, "token"))
        return self._model._vocab().get(token) if number is None else number

    def id_to_token(self, id: int) -> str | None:  # noqa: A002
        """The token of an id, or None."""
        number = unsigned(id, "id", most=MAX_ID)
        if number not in self._added:
            return self._model._strings().get(number)
        return self._compiled().spelling(number)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Tokens with their ids."""
        vocab = dict(self._model._vocab())
        return {**vocab, **self._numbers} if with_added_tokens else vocab

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """The number of tokens."""
        vocab = self._model._vocab()
        size = self._model._size()
        if not with_added_tokens:
            return size
        return size + sum(1 for content in self._numbers if content not in vocab)

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Added tokens by id."""
        return {
            number: AddedToken(**token.__getstate__())
            for number, token in sorted(self._added.items())
        }

    def add_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Add tokens, to be found in texts; how many are new or other than they were."""
        return self._add([adopt_token(token, special=False) for token in _token_list(tokens)])

    def add_special_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Add tokens that decoding can leave out."""
        return self._add([adopt_token(token, special=True) for token in _token_list(tokens)])

    def _add(self, tokens: list[AddedToken]) -> int:
        added, numbers = dict(self._added), dict(self._numbers)
        size = self._model._size()
        highest = max(added, default=-1)
        following = highest + 1 if added and (highest >= size or size == 0) else size
        n_taken = 0
        for token in tokens:
            known = numbers.get(token.content)
            if not token.content or (known is not None and added.get(known) == token):
                continue
            number = self._model._vocab().get(token.content) if known is None else known
            if number is None:
                number = following
                following += 1
            replaced = added.get(number)
            if replaced is not None and replaced.content != token.content:
                numbers.pop(replaced.content, None)
            added[number] = token
            numbers[token.content] = number
            if token.special:
                self._ever_special |= {token.content}
            n_taken += 1
        if n_taken:
            self._added, self._numbers = added, numbers
            self._changed()
        return n_taken


def _described(component: Component | None) -> str:
    return "null" if component is None else written(component._description())


def _of_family(component: Any, base: type[Any]) -> Any:
    if component is None:
        return None
    chosen = adopt(component, base)
    if hasattr(chosen, "_custom"):
        raise UsageError(
            f"a {base.__name__} written in Python cannot be part of a tokenizer: the core does all "
            "of its work\nhint: it works on its own; apply it to texts before they are encoded"
        )
    return chosen


def _token_list(tokens: Any) -> list[Any]:
    if not isinstance(tokens, list):
        raise TypeError(f"argument 'tokens': a list is needed, not {type(tokens).__name__}")
    return tokens
