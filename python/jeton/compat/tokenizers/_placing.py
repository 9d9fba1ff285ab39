"""Effects of post-processors on encodings, from their descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jeton.compat.tokenizers._arguments import GuardedText
from jeton.compat.tokenizers.encoding import Encoding, merged
from jeton.errors import FormatError, UsageError

# Inputs of ``encode``: texts, words and pairs of them, in every form that is taken.

# A text, or the words of one.
TextOrWords = str | list[str]
Input = tuple[TextOrWords, TextOrWords | None]

_WORDS = "PreTokenizedInputSequence must be Union[List[str], Tuple[str]]"
_WORDS_PAIR = (
    "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, "
    "Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]]"
)
_TEXT = "TextInputSequence must be str"
_TEXT_PAIR = "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
# The other library's own words for its single input, which its callers may look for.
_SEQUENCE = "InputSequence must be Union[List[str], Tuple[str]]"


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        # A lone surrogate: no text that any tokenizer could take.
        return False
    return True


def _text(value: Any) -> str:
    if not _is_text(value):
        raise TypeError(_TEXT)
    return value if isinstance(value, GuardedText) else str(value)


def _words(value: Any) -> list[str] | None:
    """Words, or None if it is something else."""
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple) or not all(_is_text(word) for word in value):
        return None
    return [str(word) for word in value]


def one_input(sequence: Any, pair: Any, *, is_pretokenized: bool) -> Input:
    """The input of ``encode``."""
    if not is_pretokenized:
        return _text(sequence), None if pair is None else _text(pair)
    first = _words(sequence)
    second = None if pair is None else _words(pair)
    if first is None or (pair is not None and second is None):
        raise TypeError(f"{_WORDS}; {_SEQUENCE}")
    return first, second


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, str | bytes | dict):
        return None
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else None


def _text_input(value: Any) -> Input:
    if isinstance(value, str):
        return _text(value), None
    parts = _listed(value)
    if parts is None or len(parts) != 2:
        raise TypeError(_TEXT_PAIR)
    return _text(parts[0]), _text(parts[1])


def _words_input(value: Any) -> Input:
    words = _words(value)
    if words is not None:
        return words, None
    parts = _listed(value)
    if parts is None or len(parts) != 2:
        raise TypeError(_WORDS_PAIR)
    first, second = _words(parts[0]), _words(parts[1])
    if first is None or second is None:
        raise TypeError(_WORDS)
    return first, second


def batch_inputs(inputs: Iterable[Any], *, is_pretokenized: bool) -> list[Input]:
    """The inputs of ``encode_batch``."""
    if isinstance(inputs, str | bytes | dict) or not hasattr(inputs, "__iter__"):
        raise TypeError(f"argument 'input': a list of inputs is needed, not {inputs!r}")
    if hasattr(inputs, "tolist"):
        inputs = inputs.tolist()
    read = _words_input if is_pretokenized else _text_input
    return [read(value) for value in inputs]


Description = Mapping[str, Any]


class Trim(NamedTuple):
    """How white space is left out of places."""

    add_prefix_space: bool


def added_tokens(description: Description | None, *, is_pair: bool) -> int:
    """How many tokens a post-processor puts around one text, or two."""
    if description is None:
        return 0
    kind = description["type"]
    if kind == "Sequence":
        return sum(added_tokens(part, is_pair=is_pair) for part in description["processors"])
    if kind == "TemplateProcessing":
        pieces = description["pair" if is_pair else "single"]
        tokens = description["special_tokens"]
        names = (piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece)
        return sum(len(tokens[name]["ids"]) for name in names)
    return {"BertProcessing": (2, 3), "RobertaProcessing": (2, 4)}.get(kind, (0, 0))[is_pair]


def trim_of(description: Description | None) -> Trim | None:
    """How a post-processor trims places before it does anything else, if it does."""
    if description is None:
        return None
    if description["type"] == "Sequence":
        parts = description["processors"]
        return trim_of(parts[0]) if parts else None
    if description.get("trim_offsets") and description["type"] in {
        "ByteLevel",
        "RobertaProcessing",
    }:
        return Trim(bool(description.get("add_prefix_space", True)))
    return None


def process(
    description: Description | None,
    encodings: list[Encoding],
    *,
    add_special_tokens: bool,
    trimmed: bool = False,
) -> Encoding:
    """One encoding of one or two, which are changed.

    Args:
        description: The post-processor; None puts two texts after one another.
        encodings: One for each text, worked out.
        add_special_tokens: True if tokens are put around them.
        trimmed: True if what ``trim_of`` says has been done to their places already.
    """
    if description is None:
        if len(encodings) == 1:
            return encodings[0]
        for number, encoding in enumerate(encodings):
            encoding.set_sequence_id(number)
        return merged(encodings, growing=False)
    for number, encoding in enumerate(encodings):
        encoding._type_ids = [number] * len(encoding)
        for part in (encoding, *encoding._overflowing):
            part.set_sequence_id(number)
    steps = description["processors"] if description["type"] == "Sequence" else [description]
    for index, step in enumerate(steps):
        done = trimmed and index == 0
        encodings = _step(step, encodings, add_special_tokens=add_special_tokens, trimmed=done)
    return merged(encodings, growing=False)


def _step(
    step: Description, encodings: list[Encoding], *, add_special_tokens: bool, trimmed: bool
) -> list[Encoding]:
    kind = step["type"]
    if kind == "TemplateProcessing":
        return _template(step, encodings, add_special_tokens=add_special_tokens)
    if kind == "Sequence":
        for index, inner in enumerate(step["processors"]):
            encodings = _step(
                inner,
                encodings,
                add_special_tokens=add_special_tokens,
                trimmed=trimmed and index == 0,
            )
        return encodings
    how = trim_of(step)
    if how is not None and not trimmed:
        for encoding in encodings:
            for part in (encoding, *encoding._overflowing):
                trim(part, how)
    if kind == "ByteLevel":
        for number, encoding in enumerate(encodings):
            encoding.set_sequence_id(number)
        return encodings
    if kind == "RobertaProcessing":
        for encoding in encodings:
            encoding._type_ids = [0] * len(encoding)
        if not add_special_tokens:
            return encodings
        return _around(step, encodings, before_second=True, second_type=0, all_zero=True)
    if kind == "BertProcessing":
        if not add_special_tokens:
            return encodings
        return _around(step, encodings, before_second=False, second_type=1, all_zero=False)
    raise FormatError(f"{kind!r} is no post-processor of tokenizer.json")


def _is_white(character: str) -> bool:
    # A space in GPT-2's alphabet, or white space as Unicode has it (U+001C..1F are none there).
    return character == "Ġ" or (character.isspace() and not "\x1c" <= character <= "\x1f")


def trim(encoding: Encoding, how: Trim) -> None:
    """Leave the white space at the ends of tokens out of their places."""
    offsets = list(encoding._offsets)
    for index, token in enumerate(encoding._tokens):
        leading = next((n for n, c in enumerate(token) if not _is_white(c)), len(token))
        backwards = reversed(token)
        trailing = next((n for n, c in enumerate(backwards) if not _is_white(c)), len(token))
        if not leading and not trailing:
            continue
        start, end = offsets[index]
        if leading == 1 and how.add_prefix_space and (index == 0 or start == 0):
            leading = 0
        start = min(start + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, start)
        offsets[index] = (start, end)
    encoding._offsets = offsets


def _tokens_of(ids: list[int], tokens: list[str], type_id: int) -> Encoding:
    n = len(ids)
    return Encoding._of_columns(
        list(ids), [type_id] * n, list(tokens), [None] * n, [(0, 0)] * n, [1] * n, [1] * n
    )


def _template(
    step: Description, encodings: list[Encoding], *, add_special_tokens: bool
) -> list[Encoding]:
    pieces = step["pair" if len(encodings) == 2 else "single"]
    placed = []
    for piece in pieces:
        if "Sequence" in piece:
            number = 0 if piece["Sequence"]["id"] == "A" else 1
            if number >= len(encodings):
                raise UsageError("the template for one text names a second one")
            encoding = encodings[number]
            encoding._type_ids = [piece["Sequence"]["type_id"]] * len(encoding)
            encoding.set_sequence_id(number)
            placed.append(encoding._clone())
        elif add_special_tokens:
            name = piece["SpecialToken"]["id"]
            token = step["special_tokens"][name]
            type_id = piece["SpecialToken"]["type_id"]
            placed.append(_tokens_of(token["ids"], token["tokens"], type_id))
    return placed


def _around(
    step: Description,
    encodings: list[Encoding],
    *,
    before_second: bool,
    second_type: int,
    all_zero: bool,
) -> list[Encoding]:
    """Tokens of BERT's and RoBERTa's kind around each text and each of its windows."""
    (sep, sep_id), (cls, cls_id) = step["sep"], step["cls"]

    def wrapped(number: int, part: Encoding) -> Encoding:
        outer = 0 if number == 0 else second_type
        before = [_tokens_of([cls_id], [cls], outer)] if number == 0 else []
        if number and before_second:
            before = [_tokens_of([sep_id], [sep], outer)]
        inside = part._cut(0, len(part))
        # Masks begin anew, whatever stood in the text.
        inside._special = [0] * len(inside)
        inside._attention = [1] * len(inside)
        if all_zero:
            inside._type_ids = [0] * len(inside)
        inside.set_sequence_id(min(number, 1))
        return merged([*before, inside, _tokens_of([sep_id], [sep], outer)], growing=False)

    placed = []
    for number, encoding in enumerate(encodings):
        whole = wrapped(number, encoding)
        whole._overflowing = [wrapped(number, part) for part in encoding._overflowing]
        placed.append(whole)
    return placed


class Frame(NamedTuple):
    """Tokens that a post-processor puts around texts, whatever they are.

    Attributes:
        around: Tokens before, between and after the texts: one more than there are texts.
        texts: Which text stands where, and its token type.
        names_sequences: True if the places note which tokens a text covers.
    """

    around: tuple[Encoding, ...]
    texts: tuple[tuple[int, int], ...]
    names_sequences: bool

    @property
    def n_tokens(self) -> int:
        """How many tokens are put around."""
        return sum(len(tokens) for tokens in self.around)

    def lay(self, rows: Sequence[list[int]], rest: Callable[[], Encoding]) -> Encoding:
        """The encoding of the ids of texts; ``rest`` works out everything but them."""
        first = self.around[0]
        ids, type_ids, special = first._ids[:], first._type_ids[:], first._special[:]
        ranges = {}
        for (number, type_id), after in zip(self.texts, self.around[1:], strict=True):
            row = rows[number]
            ranges[number] = (len(ids), len(ids) + len(row))
            ids += row
            ids += after._ids
            type_ids += [type_id] * len(row)
            type_ids += after._type_ids
            special += [0] * len(row)
            special += after._special
        encoding = Encoding._of_columns(ids, type_ids, [], [], [], special, [1] * len(ids))
        if self.names_sequences:
            encoding._ranges = ranges
        encoding._rest = rest
        return encoding


def frame_of(
    description: Description | None, *, n_texts: int, add_special_tokens: bool
) -> Frame | None:
    """Return the tokens around one text or two; None if only the texts themselves decide them."""
    marks = [
        Encoding._of_columns([0], [number], [str(number)], [0], [(0, 1)], [0], [1])
        for number in range(n_texts)
    ]
    whole = process(description, marks, add_special_tokens=add_special_tokens)
    places = [index for index, word in enumerate(whole._words) if word is not None]
    numbers = [int(whole._tokens[place]) for place in places]
    ranges = {n: (place, place + 1) for n, place in zip(numbers, places, strict=True)}
    if sorted(numbers) != list(range(n_texts)) or whole._ranges not in ({}, ranges):
        return None
    ends = [0, *(place + 1 for place in places)]
    around = [whole._cut(a, b) for a, b in zip(ends, [*places, len(whole)], strict=True)]
    texts = [(n, whole._type_ids[place]) for n, place in zip(numbers, places, strict=True)]
    return Frame(tuple(around), tuple(texts), bool(whole._ranges))
