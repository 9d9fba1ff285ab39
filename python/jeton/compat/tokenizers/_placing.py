"""What post-processors do to encodings, from their descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jeton.compat.tokenizers.encoding import Encoding, merged
from jeton.errors import FormatError, UsageError

__all__ = ["Frame", "Trim", "added_tokens", "frame_of", "process", "trim_of"]

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
        add_special_tokens: Whether tokens are put around them.
        trimmed: Whether what ``trim_of`` says has been done to their places already.
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
    """What a post-processor puts around one text, whatever the text is."""

    before: Encoding
    after: Encoding
    type_id: int
    names_sequence: bool

    def lay(self, ids: list[int], rest: Callable[[], Encoding]) -> Encoding:
        """The encoding of a text's ids; ``rest`` works out everything but them."""
        before, after, n = self.before, self.after, len(ids)
        encoding = Encoding._of_columns(
            before._ids + ids + after._ids,
            before._type_ids + [self.type_id] * n + after._type_ids,
            [],
            [],
            [],
            before._special + [0] * n + after._special,
            [1] * (len(before) + n + len(after)),
        )
        if self.names_sequence:
            encoding._ranges = {0: (len(before), len(before) + n)}
        encoding._rest = rest
        return encoding


def frame_of(description: Description | None, *, add_special_tokens: bool) -> Frame | None:
    """What is put around one text; None if that cannot be told without the text."""
    mark = Encoding._of_columns([0], [0], ["a"], [0], [(0, 1)], [0], [1])
    whole = process(description, [mark], add_special_tokens=add_special_tokens)
    places = [index for index, word in enumerate(whole._words) if word is not None]
    if len(places) != 1:
        return None
    place = places[0]
    if whole._ranges not in ({}, {0: (place, place + 1)}):
        return None
    before, after = whole._cut(0, place), whole._cut(place + 1, len(whole))
    return Frame(before, after, whole._type_ids[place], bool(whole._ranges))
