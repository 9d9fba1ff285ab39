"""Tokenizers of ``transformers`` whose backend is Jeton's core."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from pathlib import Path
from typing import Any, ClassVar, cast

import tokenizers
from transformers import AddedToken
from transformers.tokenization_utils_tokenizers import TokenizersBackend

from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.compat.tokenizers import Tokenizer
from jeton.compat.transformers.chats import apply_chat_template
from jeton.errors import JetonError, UsageError

# Templates whose ids are those of another vocabulary.
#
# ``train_new_from_iterator`` of transformers trains a new vocabulary under the old template. It
# maps the ids of a template that stands alone, and leaves those of one in a ``Sequence`` as they
# were.


def with_ids_of_its_own(text: str) -> str:
    """Return a ``tokenizer.json`` whose template has the ids that its tokens have in it.

    Only ids that the vocabulary does not have are changed: a template may say what it likes.
    """
    if '"TemplateProcessing"' not in text:
        return text
    tree = json_of(text)
    ids = {token["content"]: token["id"] for token in tree.get("added_tokens") or ()}
    vocab = tree["model"].get("vocab") or {}
    names = vocab if isinstance(vocab, dict) else {piece[0]: i for i, piece in enumerate(vocab)}
    n_ids = 1 + max([*ids.values(), *names.values()], default=-1)
    is_changed = False
    for special in _special_tokens(tree.get("post_processor")):
        known = [ids.get(token, names.get(token)) for token in special["tokens"]]
        if any(number >= n_ids for number in special["ids"]) and None not in known:
            special["ids"], is_changed = known, True
    return json.dumps(tree, ensure_ascii=False) if is_changed else text


def _special_tokens(processor: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(processor, dict):
        return
    for member in processor.get("processors") or ():
        yield from _special_tokens(member)
    if processor.get("type") == "TemplateProcessing":
        yield from processor["special_tokens"].values()


# Read by every release of transformers, and loads whatever tokenizer.json holds.
_GENERIC_CLASS = "PreTrainedTokenizerFast"


class _OverJeton(type):
    """The classes over the core are related as those of ``transformers`` that they stand for."""

    peer_class: Any

    def __subclasscheck__(cls, subclass: type) -> bool:
        # A program's own subclasses have inherited what they stand for: usual rules for them.
        if "peer_class" not in cls.__dict__ or cls is JetonBackend:
            return super().__subclasscheck__(subclass)
        return issubclass(subclass, JetonBackend) and issubclass(subclass, cls.peer_class)

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), cls)


class JetonBackend(metaclass=_OverJeton):
    """Mixin that makes a tokenizer class of ``transformers`` work on Jeton's core.

    It comes before that class among the bases. All that the class does with its backend is done
    with ``jeton.compat.tokenizers``, which has the same interface.
    """

    peer_class: ClassVar[Any] = TokenizersBackend
    _tokenizer: Any
    trusted_chat_roles: frozenset[str] = frozenset()
    """Roles whose messages may hold control tokens in ``apply_chat_template``, as in transformers:
    ``{"assistant"}`` where answers are the program's own. Text of users never should."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._adopt_backend()

    def _adopt_backend(self) -> None:
        """Put the core in place of the backend that the class has made for itself."""
        backend = self._tokenizer
        if isinstance(backend, Tokenizer):
            return
        self._tokenizer = _adopted(backend, type(self))

    @classmethod
    def convert_to_native_format(cls, **kwargs: Any) -> dict[str, Any]:
        """The arguments of the constructor, from those of ``from_pretrained``."""
        if cls.peer_class is TokenizersBackend:
            loaded = _load(kwargs)
            if loaded is not None:
                kwargs.pop("tokenizer_file", None)
                kwargs.pop("trust_remote_code", None)
                return {**kwargs, "tokenizer_object": loaded}
        converted: dict[str, Any] = cls.peer_class.convert_to_native_format(**kwargs)
        return converted

    @classmethod
    def _patch_mistral_regex(cls, tokenizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Mend a pre-tokenizer, where that is asked for, on the library's own object."""
        init_kwargs = kwargs.get("init_kwargs") or {}
        wanted = kwargs.get("fix_mistral_regex") or init_kwargs.get("fix_mistral_regex")
        if not isinstance(tokenizer, Tokenizer) or not wanted:
            return cls.peer_class._patch_mistral_regex(tokenizer, *args, **kwargs)
        theirs = tokenizers.Tokenizer.from_str(tokenizer.to_str())
        mended = cls.peer_class._patch_mistral_regex(theirs, *args, **kwargs)
        return Tokenizer.from_str(mended.to_str())

    @property
    def added_tokens_decoder(self) -> dict[int, Any]:
        """Added tokens by id, as objects of ``transformers``."""
        tokens = self._tokenizer.get_added_tokens_decoder()
        return {number: AddedToken(**token.__getstate__()) for number, token in tokens.items()}

    _added_tokens_decoder = added_tokens_decoder

    def apply_chat_template(self, conversation: Any, *args: Any, **kwargs: Any) -> Any:
        """A chat as text or as ids; text of users never becomes a special token.

        The arguments are those of ``transformers``.
        """
        usual = super().apply_chat_template  # type: ignore[misc]
        return apply_chat_template(self, usual, conversation, *args, **kwargs)

    def _save_pretrained(
        self, save_directory: Any, file_names: tuple[str, ...], *args: Any, **kwargs: Any
    ) -> tuple[str, ...]:
        # The folder names a class that transformers has, too.
        if type(self) is JetonTokenizer:
            path = Path(file_names[0])
            config = json.loads(path.read_text(encoding="utf-8"))
            config["tokenizer_class"] = _GENERIC_CLASS
            text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False)
            write_whole(path, text + "\n")
        saved = super()._save_pretrained(  # type: ignore[misc]
            save_directory, file_names, *args, **kwargs
        )
        return cast("tuple[str, ...]", saved)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The classes made here cannot be found by their name; all others can.
        if type(self) is JetonTokenizer or "peer_class" not in type(self).__dict__:
            return super().__reduce_ex__(protocol)
        return _rebuild, (self.peer_class, self.__dict__)


class JetonTokenizer(JetonBackend, TokenizersBackend):  # type: ignore[misc]
    """A tokenizer of ``transformers`` from whatever files Jeton reads.

    Example::

        tokenizer = JetonTokenizer.from_pretrained("folder")
        tokenizer(["one text", "another one"], padding=True, return_tensors="np")
    """

    peer_class: ClassVar[Any] = TokenizersBackend


class _ClipBackend(Tokenizer):
    """CLIP's backend: a space for each end of a word in decoded text, as its class has it.

    ``CLIPTokenizer`` of transformers puts such a ``decode`` in place of its backend's.
    """

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """The text of ids, with spaces between words."""
        text = super().decode(ids, skip_special_tokens)
        return text.replace(self.model.end_of_word_suffix or "</w>", " ").strip()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        copied = super().__deepcopy__(memo)
        copied.__class__ = _ClipBackend
        return copied

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[bytes, bool]]:
        return _clip_backend, super().__reduce__()[1]


def _clip_backend(state: bytes, encode_special_tokens: bool) -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(state)
    tokenizer.encode_special_tokens = encode_special_tokens
    tokenizer.__class__ = _ClipBackend
    return tokenizer


def _adopted(backend: Any, kind: type[Any]) -> Tokenizer:
    """The core in place of a class's backend."""
    tokenizer = Tokenizer.from_str(with_ids_of_its_own(backend.to_str()))
    tokenizer.encode_special_tokens = backend.encode_special_tokens
    if hasattr(kind, "_wrap_decode_method_backend_tokenizer"):
        tokenizer.__class__ = _ClipBackend
    return tokenizer


def _load(kwargs: dict[str, Any]) -> Tokenizer | None:
    """The tokenizer of the files that ``from_pretrained`` found."""
    path = kwargs.get("tokenizer_file")
    if isinstance(path, str) and Path(path).is_file():
        return Tokenizer.from_file(path)
    path = kwargs.get("vocab_file")
    if not isinstance(path, str) or not Path(path).is_file():
        return None
    from jeton.formats import load_file

    try:
        # A SentencePiece model cannot be written as tokenizer.json: transformers converts it.
        return Tokenizer.from_buffer(load_file(path).to_hf_json())
    except JetonError:
        return None


@cache
def class_over_jeton(peer: type[Any]) -> type[Any]:
    """A tokenizer class of ``transformers`` over Jeton's core; a subclass of it, named alike.

    Raises:
        UsageError: The class has no backend that the core could stand in for.
    """
    if issubclass(peer, JetonBackend):
        return peer
    if peer is TokenizersBackend:
        return JetonTokenizer
    if not issubclass(peer, TokenizersBackend):
        raise UsageError(
            f"{peer.__name__} of transformers does not work on the library tokenizers, so that "
            "Jeton cannot stand in for it\n"
            "hint: AutoTokenizer, or JetonTokenizer for files that Jeton reads"
        )

    # Programs, and transformers, read off which settings a class takes.
    @wraps(peer.__init__)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        JetonBackend.__init__(self, *args, **kwargs)

    scope: dict[str, Any] = {"peer_class": peer, "__init__": init}
    scope |= {"__doc__": peer.__doc__, "__module__": __name__}
    return _OverJeton(peer.__name__, (JetonBackend, peer), scope)


def from_transformers(tokenizer: Any) -> Any:
    """A tokenizer of ``transformers`` with Jeton's core in place of its backend.

    Args:
        tokenizer: The tokenizer; it stays as it is.

    Raises:
        UsageError: It has no backend that the core could stand in for.
        FormatError: The backend has a component that the core does not know.
    """
    if isinstance(tokenizer, JetonBackend):
        return tokenizer
    peer: Any = type(tokenizer)
    chosen = class_over_jeton(peer)
    backend = _adopted(tokenizer._tokenizer, peer)
    adopted = object.__new__(chosen)
    state = {name: value for name, value in tokenizer.__dict__.items() if name != "_tokenizer"}
    adopted.__dict__.update(copy.deepcopy(state))
    adopted._tokenizer = backend
    return adopted


def _rebuild(peer: Any, state: dict[str, Any]) -> Any:
    rebuilt = class_over_jeton(peer)
    tokenizer: Any = object.__new__(rebuilt)
    tokenizer.__dict__.update(state)
    return tokenizer
