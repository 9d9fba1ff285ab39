"""Post-processors: what is put around texts, and which white space counts as a token's place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as ListOf
from typing import Any, ClassVar

from jeton.compat.tokenizers._arguments import MAX_ID, as_kind, unsigned
from jeton.compat.tokenizers._component import Component, Field, Members
from jeton.compat.tokenizers._placing import added_tokens, process
from jeton.compat.tokenizers.encoding import Encoding
from jeton.errors import UsageError

__all__ = [
    "BertProcessing",
    "ByteLevel",
    "PostProcessor",
    "RobertaProcessing",
    "Sequence",
    "TemplateProcessing",
]


class PostProcessor(Component):
    """Base of all post-processors."""

    family: ClassVar[dict[str, type[Component]]] = {}

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many tokens are put around one text, or two."""
        return added_tokens(self._description(), is_pair=as_kind(is_pair, bool, "is_pair"))

    def process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """One encoding of one or two, with what is put around them."""
        for given in (encoding, *(() if pair is None else (pair,))):
            if not isinstance(given, Encoding):
                raise TypeError(f"argument 'encoding': {given!r} is no Encoding")
        parts = [encoding] if pair is None else [encoding, pair]
        clones = [part._complete()._clone() for part in parts]
        return process(self._description(), clones, add_special_tokens=add_special_tokens)


def _token(token: Any, name: str) -> list[Any]:
    if not isinstance(token, tuple | list):
        raise TypeError(f"argument {name!r}: a pair of a str and an id is needed, not {token!r}")
    if len(token) != 2:
        raise ValueError(f"argument {name!r}: a pair of a str and an id is needed, not {token!r}")
    return [as_kind(token[0], str, name), unsigned(token[1], name, most=MAX_ID)]


class _TokenField(Field[Any]):
    """A field that holds a token and its id."""

    def __get__(self, component: Component | None, owner: type) -> Any:
        return self if component is None else tuple(component._fields[self._name])

    def check(self, value: Any) -> Any:
        """The pair as the file writes it."""
        return _token(value, self._name)


class BertProcessing(PostProcessor, kind="BertProcessing"):
    """BERT's: ``[CLS] A [SEP]``, and ``[CLS] A [SEP] B [SEP]`` for two."""

    sep = _TokenField("sep", None)
    cls = _TokenField("cls", None)

    def __init__(self, sep: tuple[str, int], cls_token: tuple[str, int]) -> None:
        self._fields = {"sep": _token(sep, "sep"), "cls": _token(cls_token, "cls_token")}


class RobertaProcessing(PostProcessor, kind="RobertaProcessing"):
    """RoBERTa's: ``<s> A </s>``, and ``<s> A </s></s> B </s>`` for two."""

    sep = _TokenField("sep", None)
    cls = _TokenField("cls", None)
    trim_offsets = Field("trim_offsets", bool)
    add_prefix_space = Field("add_prefix_space", bool)

    def __init__(
        self,
        sep: tuple[str, int],
        cls_token: tuple[str, int],
        trim_offsets: bool = True,
        add_prefix_space: bool = True,
    ) -> None:
        self._fields = {"sep": _token(sep, "sep"), "cls": _token(cls_token, "cls_token")}
        self.trim_offsets = trim_offsets
        self.add_prefix_space = add_prefix_space


class ByteLevel(PostProcessor, kind="ByteLevel"):
    """Leaves white space out of the places of tokens."""

    add_prefix_space = Field("add_prefix_space", bool)
    trim_offsets = Field("trim_offsets", bool)
    use_regex = Field("use_regex", bool)

    def __init__(
        self,
        add_prefix_space: bool | None = None,
        trim_offsets: bool | None = None,
        use_regex: bool | None = None,
        **_kwargs: Any,
    ) -> None:
        self._fields = {}
        self.add_prefix_space = True if add_prefix_space is None else add_prefix_space
        self.trim_offsets = True if trim_offsets is None else trim_offsets
        self.use_regex = True if use_regex is None else use_regex


class TemplateProcessing(PostProcessor, kind="TemplateProcessing"):
    """A template for one text and one for two.

    Args:
        single: The template for one text: parts as a list, or as a str with spaces between.
            ``$A`` is the text, anything else a special token; ``:1`` behind it is the token type.
        pair: The template for two texts, ``$A`` and ``$B``.
        special_tokens: Each as a pair of token and id, or as a dict with "id", "ids", "tokens".
    """

    def __init__(
        self,
        single: str | ListOf[str] | None = None,
        pair: str | ListOf[str] | None = None,
        special_tokens: Iterable[Any] | None = None,
    ) -> None:
        tokens = dict(_special(token) for token in special_tokens or ())
        self._fields = {
            "single": _template(["$A"] if single is None else single),
            "pair": _template(["$A:0", "$B:1"] if pair is None else pair),
            "special_tokens": dict(sorted(tokens.items())),
        }
        if pair is not None:
            used = {p["Sequence"]["id"] for p in self._fields["pair"] if "Sequence" in p}
            if used != {"A", "B"}:
                raise ValueError("Template for `pair` must use both sequences")
        self._check_tokens()

    def _check_tokens(self) -> None:
        pieces = [*self._fields["single"], *self._fields["pair"]]
        used = {piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece}
        missing = sorted(used - self._fields["special_tokens"].keys())
        if missing:
            raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing)}`")

    @property
    def single(self) -> str:
        """The template for one text, as it was given."""
        return _spoken(self._fields["single"])

    @single.setter
    def single(self, single: str | ListOf[str]) -> None:
        self._set("single", _template(single))


def _piece(text: Any) -> dict[str, Any]:
    text = as_kind(text, str, "template")
    name, *types = text.split(":")
    error = ValueError(f'Cannot build Piece from string "{text}"')
    if len(types) > 1 or (types and not (types[0].isascii() and types[0].isdigit())):
        raise error
    type_id = int(types[0]) if types else 0
    if not name.startswith("$"):
        return {"SpecialToken": {"id": name, "type_id": type_id}}
    rest = name[1:]
    if rest in {"", "A", "a", "B", "b"}:
        sequence = "B" if rest in {"B", "b"} else "A"
    elif rest.isascii() and rest.isdigit():
        sequence = "A"
        type_id = type_id if types else int(rest)
    else:
        raise error
    return {"Sequence": {"id": sequence, "type_id": type_id}}


def _template(template: Any) -> list[dict[str, Any]]:
    if isinstance(template, str):
        template = template.split(" ")
    if not isinstance(template, ListOf):
        raise TypeError("Template: a str or a list of str is needed")
    return [_piece(part) for part in template]


def _spoken(pieces: list[dict[str, Any]]) -> str:
    parts = []
    for piece in pieces:
        ((kind, fields),) = piece.items()
        sign = "$" if kind == "Sequence" else ""
        parts.append(f"{sign}{fields['id']}:{fields['type_id']}")
    return " ".join(parts)


def _special(token: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(token, Mapping):
        if not {"id", "ids", "tokens"} <= token.keys():
            raise ValueError("`id`, `ids` and `tokens` must be specified")
        name = as_kind(token["id"], str, "id")
        ids = [unsigned(number, "ids", most=MAX_ID) for number in token["ids"]]
        texts = [as_kind(text, str, "tokens") for text in token["tokens"]]
        if len(ids) != len(texts):
            raise UsageError("SpecialToken: ids and tokens must be of the same length")
        return name, {"id": name, "ids": ids, "tokens": texts}
    if not isinstance(token, tuple | list) or len(token) != 2:
        raise TypeError("Expected Union[Tuple[str, int], Tuple[int, str], dict]")
    first, second = token
    if isinstance(second, str):
        first, second = second, first
    name, number = _token((first, second), "special_tokens")
    return name, {"id": name, "ids": [number], "tokens": [name]}


class Sequence(Members, PostProcessor, kind="Sequence"):
    """Several post-processors, one after the other."""

    members_name = "processors"

    def __init__(self, processors_py: Iterable[PostProcessor]) -> None:
        self._set_members(processors_py, PostProcessor)
