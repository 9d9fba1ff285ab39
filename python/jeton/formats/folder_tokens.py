"""The tokens that the small files of a folder name, with their roles and flags.

Where the files of a folder contradict one another, and what is not applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._foreign import json_of
from jeton.errors import FormatError, JetonError
from jeton.formats.classes import rebuilt_differently
from jeton.formats.names import plain_name
from jeton.formats.reading import read, read_object

_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
_ADDITIONAL = ("additional_special_tokens", "extra_special_tokens")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_ID = (1 << 32) - 1
_FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")


@dataclass(frozen=True, slots=True)
class FolderToken:
    """A token that a small file names.

    Attributes:
        content: Its text.
        id: Its id, where the file tells one.
        special: True if it is a special token.
        single_word: Found only where it is a word of its own.
        lstrip: Takes the white space before it along.
        rstrip: Takes the white space after it along.
        normalized: Found in the normalized text.
        overrides: True if these flags count where the tokenizer's file has the token, too.
    """

    content: str
    id: int | None
    special: bool
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    overrides: bool

    @property
    def flags(self) -> dict[str, bool]:
        """The flags by name."""
        return {name: getattr(self, name) for name in _FLAGS}


@dataclass(frozen=True, slots=True)
class SpecialRoles:
    """Special tokens by role, those without one, and what the files disagree about."""

    roles: dict[str, FolderToken]
    additional: tuple[FolderToken, ...]
    warnings: tuple[str, ...]

    @property
    def texts(self) -> set[str]:
        """The texts of all of them."""
        return {t.content for t in (*self.roles.values(), *self.additional)}


def token_text(value: object) -> str | None:
    """The text of a token that is written as text or as an object; None: no token."""
    if isinstance(value, Mapping):
        value = value.get("content")
    if not isinstance(value, str) or not value or _LONE_SURROGATE.search(value):
        # JSON can write half a character; no token can be one.
        return None
    return value


def role_tokens(config: Mapping[str, Any], tokens_map: Mapping[str, Any]) -> SpecialRoles:
    """Return the roles of the special tokens.

    Where tokenizer_config.json lists its added tokens, it has the last word and
    special_tokens_map.json only fills gaps; where it does not, it is the other way round.
    """
    config_wins = "added_tokens_decoder" in config
    first, second = (config, tokens_map) if config_wins else (tokens_map, config)
    names = ("tokenizer_config.json", "special_tokens_map.json")
    winner = names[0] if config_wins else names[1]
    known = _listed(config)
    roles: dict[str, FolderToken] = {}
    warnings = []
    keys = [f"{role}_token" for role in _ROLES]
    keys += sorted(k for k in {*config, *tokens_map} if is_role_key(k) and k not in keys)
    for key in keys:
        values = [token_text(first.get(key)), token_text(second.get(key))]
        if values[0] and values[1] and values[0] != values[1]:
            warnings.append(
                f"{key} is {token_text(config.get(key))!r} in {names[0]} and "
                f"{token_text(tokens_map.get(key))!r} in {names[1]}; {winner} counts"
            )
        source = first if values[0] else second
        text = token_text(source.get(key))
        if text is not None:
            # A token that is listed has the flags of the list.
            roles[key.removesuffix("_token")] = known.get(text) or _special(source[key], text)
    additional: dict[str, FolderToken] = {}
    for value in _additional(first) or _additional(second):
        text = token_text(value)
        if text is not None:
            additional.setdefault(text, known.get(text) or _special(value, text))
    return SpecialRoles(roles, tuple(additional.values()), tuple(warnings))


def added_tokens(
    config: Mapping[str, Any], *, folder: Path, special: set[str]
) -> list[FolderToken]:
    """Tokens of ``added_tokens_decoder``, or else of an added_tokens.json, by id.

    Raises:
        FormatError: An entry is not what it should be.
    """
    if "added_tokens_decoder" in config:
        file = folder / "tokenizer_config.json"
        listed = config["added_tokens_decoder"]
        if not isinstance(listed, Mapping):
            raise _bad(file, "added_tokens_decoder is no object")
        tokens = []
        for key, value in listed.items():
            text = token_text(value)
            if text is None or not isinstance(value, Mapping) or not _is_id(key):
                raise _bad(file, f"entry {key!r} of added_tokens_decoder is no token")
            is_special = value.get("special") is True
            tokens.append(_token(value, text, int(key), special=is_special, overrides=True))
        return sorted(tokens, key=lambda token: token.id or 0)
    file = folder / "added_tokens.json"
    old = read_object(file) or {}
    tokens = []
    for text, number in old.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MAX_ID:
            raise _bad(file, f"the id of {text!r} is {str(number)[:40]}")
        if token_text(text):
            tokens.append(_token({}, text, number, special=text in special))
    return sorted(tokens, key=lambda token: token.id or 0)


def _listed(config: Mapping[str, Any]) -> dict[str, FolderToken]:
    listed = config.get("added_tokens_decoder")
    tokens = {}
    for value in listed.values() if isinstance(listed, Mapping) else ():
        text = token_text(value)
        if text is not None and isinstance(value, Mapping):
            # Named tokens are special whatever the list says.
            tokens[text] = _token(value, text, None, special=True)
    return tokens


def is_role_key(key: str) -> bool:
    """True if an entry of tokenizer_config.json names the token of a role."""
    return key.endswith("_token") and not key.startswith(("add_", "is_"))


def _additional(source: Mapping[str, Any]) -> list[object]:
    for key in _ADDITIONAL:
        value = source.get(key)
        if isinstance(value, list):
            return value
        if isinstance(value, Mapping):
            return list(value.values())
    return []


def _special(value: object, text: str) -> FolderToken:
    return _token(value if isinstance(value, Mapping) else {}, text, None, special=True)


def _token(
    value: Mapping[str, Any],
    text: str,
    number: int | None,
    *,
    special: bool,
    overrides: bool = False,
) -> FolderToken:
    normalized = value.get("normalized")
    return FolderToken(
        content=text,
        id=number,
        special=special,
        single_word=value.get("single_word") is True,
        lstrip=value.get("lstrip") is True,
        rstrip=value.get("rstrip") is True,
        normalized=normalized if isinstance(normalized, bool) else not special,
        overrides=overrides,
    )


def _is_id(key: object) -> bool:
    return (
        isinstance(key, str)
        and key.isascii()
        and key.isdecimal()
        and len(key) <= 10
        and (int(key) <= _MAX_ID)
    )


def _bad(file: Path, what: str) -> FormatError:
    return FormatError(f"{file}: {what}\nhint: fetch or copy it again", path=str(file))


CLASS_REBUILDS = "tokenizer_class builds its own tokenizer"
"""Beginning of the sentence about such a class."""

_MAX_WARNINGS = 20


def contradictions(
    tokenizer_file: Path | None,
    *,
    config: Mapping[str, Any],
    added: Sequence[FolderToken],
    special: SpecialRoles,
    class_name: str | None = None,
) -> list[str]:
    """Sentences for the reader; the first few of many.

    Args:
        tokenizer_file: The folder's tokenizer; compared where it is a tokenizer.json.
        config: Content of tokenizer_config.json.
        added: Its added tokens.
        special: The special tokens.
        class_name: The class of transformers that the folder names.
    """
    warnings = list(_settings(config))
    if tokenizer_file is not None and plain_name(tokenizer_file) == "tokenizer.json":
        warnings += _against(tokenizer_file, config, added, special, class_name)
    if len(warnings) > _MAX_WARNINGS:
        more = len(warnings) - _MAX_WARNINGS
        warnings = [*warnings[:_MAX_WARNINGS], f"and {more:,} more contradictions"]
    return warnings


def _settings(config: Mapping[str, Any]) -> Iterator[str]:
    if config.get("fix_mistral_regex") is True:
        yield (
            "fix_mistral_regex is set; the split pattern of the tokenizer.json is used as it is, "
            "without that change"
        )
    if config.get("clean_up_tokenization_spaces") is True:
        yield "clean_up_tokenization_spaces is set; decode does not take spaces out after the fact"
    if config.get("split_special_tokens") is True:
        yield "split_special_tokens is set; allow_special says which special tokens count"


def _around(tree: Any, config: Mapping[str, Any], special: SpecialRoles) -> Iterator[str]:
    """Tokens around a text, where tokenizer.json and the settings differ."""
    names = _template_names(tree.get("post_processor") if isinstance(tree, dict) else None)
    for role, end in (("bos", 0), ("eos", -1)):
        stated = config.get(f"add_{role}_token")
        token = special.roles.get(role)
        if not isinstance(stated, bool) or token is None:
            continue
        does = bool(names) and names[end] == token.content
        if does != stated:
            yield (
                f"add_{role}_token is {str(stated).lower()}, but tokenizer.json "
                f"{'puts' if does else 'does not put'} {token.content!r} "
                f"{'before' if role == 'bos' else 'after'} a text, which counts"
            )


def _template_names(post_processor: object) -> list[str]:
    """Texts of the tokens around one text, and an empty one for the text itself."""
    if not isinstance(post_processor, Mapping):
        return []
    inside = post_processor.get("processors")
    if isinstance(inside, list):
        return next((names for item in inside if (names := _template_names(item))), [])
    single = post_processor.get("single")
    if isinstance(single, list):
        items = [item.get("SpecialToken") for item in single if isinstance(item, Mapping)]
        return [str(item.get("id", "")) if isinstance(item, Mapping) else "" for item in items]
    ends = [post_processor.get("cls"), post_processor.get("sep")]
    texts = [str(end[0]) for end in ends if isinstance(end, list) and end]
    return texts if len(texts) == 2 else []


def _against(
    tokenizer_file: Path,
    config: Mapping[str, Any],
    added: Sequence[FolderToken],
    special: SpecialRoles,
    class_name: str | None,
) -> Iterator[str]:
    try:
        tree = json_of(read(tokenizer_file))
    except (ValueError, RecursionError, JetonError):
        # Loading it says what is wrong.
        return
    listed = tree.get("added_tokens") if isinstance(tree, dict) else None
    yield from _around(tree, config, special)
    if isinstance(tree, dict):
        kind = (read_object(tokenizer_file.parent / "config.json") or {}).get("model_type")
        model_type = kind if isinstance(kind, str) else None
        rebuilt = rebuilt_differently(class_name, tree, model_type=model_type)
        if rebuilt is not None:
            yield f"{CLASS_REBUILDS} and gives other ids in transformers 5: {rebuilt}"
    if not isinstance(listed, list):
        return
    entries = [token for token in listed if isinstance(token, dict)]
    by_text = {token.get("content"): token for token in entries}
    by_id = {token.get("id"): token for token in entries}
    for token in added:
        listed_in = "tokenizer_config.json" if token.overrides else "added_tokens.json"
        other = by_text.get(token.content)
        if other is None:
            taken = by_id.get(token.id)
            if taken is not None:
                yield (
                    f"id {token.id} is {token.content!r} in {listed_in} and "
                    f"{taken.get('content')!r} in tokenizer.json, which counts"
                )
            continue
        if token.id is not None and other.get("id") != token.id:
            yield (
                f"{token.content!r} has the id {token.id} in {listed_in} and "
                f"{other.get('id')} in tokenizer.json, which counts"
            )
        differing = [n for n, flag in token.flags.items() if (other.get(n) is True) != flag]
        if differing and token.overrides:
            yield (
                f"{token.content!r} differs in {', '.join(differing)} between tokenizer.json and "
                "tokenizer_config.json, which counts"
            )
