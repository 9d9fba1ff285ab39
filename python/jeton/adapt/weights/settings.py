"""Settings of a model directory follow a change: ids, sizes, ties, and which files stay.

Files of the tokenizer come from the new one. A setting that the new one lacks and the model has is
followed where it is JSON. Vocabulary files of the old tokenizer and weights in other formats are
left out, because both would contradict the output.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from jeton._core import Tokenizer
from jeton._foreign import json_of
from jeton.adapt.change import CHANGE_FILE, VocabularyChange
from jeton.checkpoint.belonging import ID_FILES, ids_document
from jeton.checkpoint.id_fields import GONE, IdPlace, follow_ids
from jeton.checkpoint.snapshot import INDEX_SUFFIX
from jeton.errors import AdaptError, JetonError
from jeton.formats.folders import PretrainedFolder, read_folder
from jeton.formats.reading import MAX_DOCUMENT_BYTES, read_object, read_text
from jeton.formats.saving import pretrained_files

SIZE_FIELDS = frozenset(
    {
        "vocab_size",
        "padded_vocab_size",
        "embedding_size",
        "vocab_size_per_layer_input",
        "n_vocab",
        "text_vocab_size",
        "draft_vocab_size",
    }
)
"""Fields that state how many rows a table has, where their value is the size of one."""

_FOLLOWED = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_CONFIG = "tokenizer_config.json"
_MAP = "special_tokens_map.json"
_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_VOCABULARIES = (
    "tokenizer.json",
    "tokenizer.jeton.json",
    "tokenizer.model",
    "tekken.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "spiece.model",
    "spm.model",
    "sentencepiece.bpe.model",
    "source.spm",
    "target.spm",
    "bpe.codes",
    "dict.txt",
    "qwen.tiktoken",
    "tiktoken.model",
    "tokenizer.model.v3",
)
_FOREIGN = (
    ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack", ".ot", ".onnx", ".onnx_data",
    ".tflite", ".gguf", ".ggml", ".npz", ".mlmodel",
)  # fmt: skip
"""Ends of names of weights that are not read here."""


@dataclass(frozen=True, eq=False)
class SettingsPlan:
    """Says what becomes of the files that are no weights.

    Attributes:
        copied: Source by name in the output.
        made: Content by name in the output.
        left_out: Why a file is not in the output, by its name in the model.
        notes: Notes for a reader of the report, one sentence each.
    """

    copied: Mapping[str, Path]
    made: Mapping[str, bytes]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]


def plan_settings(
    model: Path,
    files: list[Path],
    tokenizer: Path,
    change: VocabularyChange,
    *,
    sizes: Mapping[int, int],
    ties: bool | None,
    gone_tokens: Mapping[str, int],
    unguessed: Mapping[str, Any] | None = None,
    roles_by_ids: Mapping[str, str] | None = None,
) -> SettingsPlan:
    """Decides what becomes of each file.

    Args:
        model: The model directory.
        files: All its files.
        tokenizer: The new tokenizer, a file or a folder.
        change: The change of vocabulary.
        sizes: New size of a table by its old one.
        ties: The value that ``tie_word_embeddings`` has to have; None where it stays.
        gone_tokens: Old ids of special tokens that the new vocabulary lacks, by their text.
        unguessed: Settings of the new tokenizer without its guesses; None: it has no guesses only.
        roles_by_ids: Special tokens by role, as the ids of config.json have them.

    Raises:
        AdaptError: A setting needs a token that is gone.
        FormatError: A file is damaged.
    """
    offered = _offered(tokenizer)
    facts = read_folder(model) if _CONFIG in offered else None
    roles = {} if facts is None else known_roles(facts, roles_by_ids or {}, gone_tokens)
    if unguessed is not None and roles:
        # The model's own map follows below, if it has one.
        offered.pop(_MAP, None)
    copied: dict[str, Path] = {}
    made: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    notes: list[str] = []
    for file in files:
        name = file.relative_to(model).as_posix()
        if file.name.endswith((".safetensors", INDEX_SUFFIX)) or name in offered:
            continue
        if name == CHANGE_FILE:
            continue
        if file.suffix in _FOREIGN:
            left_out[name] = "weights in another format, which keep the old vocabulary"
        elif name in _VOCABULARIES:
            left_out[name] = "vocabulary of the old tokenizer"
        elif file.suffix == ".json" and file.stat().st_size <= MAX_DOCUMENT_BYTES:
            text = read_text(file) or ""
            follower = _Follower(name, change, sizes, ties=ties if name == "config.json" else None)
            new = follower.follow(file, text)
            notes += follower.notes
            if new is None:
                copied[name] = file
            else:
                made[name] = new
        else:
            copied[name] = file
    copied |= offered
    for name, path in copied.items():
        if PurePosixPath(name).name in (*_TEMPLATES, "tokenizer_config.json"):
            _check_template(path, gone_tokens)
    if facts is not None:
        stated = read_object(offered[_CONFIG]) or {}
        if unguessed is not None:
            stated = {**(unguessed if roles else stated), **roles}
            stated[CLEAN_UP] = facts.clean_up_tokenization_spaces or False
        completed = _completed(model, offered, change, stated, facts)
        if completed is not None:
            made[_CONFIG] = completed
            del copied[_CONFIG]
            _check_template(model / _CONFIG, gone_tokens)
    made[CHANGE_FILE] = change.to_json().encode("utf-8")
    copied.pop(CHANGE_FILE, None)
    return SettingsPlan(copied, made, left_out, tuple(notes))


def _offered(tokenizer: Path) -> dict[str, Path]:
    """Files of the new tokenizer by name."""
    if tokenizer.is_file():
        name = tokenizer.name
        canonical = ".jeton.json"
        suffix = canonical if name.endswith(canonical) else tokenizer.suffix
        return {name if name in _VOCABULARIES else f"tokenizer{suffix}": tokenizer}
    names = (*_VOCABULARIES, *_FOLLOWED, *_TEMPLATES)
    found = {name: tokenizer / name for name in names if (tokenizer / name).is_file()}
    found |= {
        file.relative_to(tokenizer).as_posix(): file
        for file in sorted(tokenizer.glob("additional_chat_templates/*.jinja"))
    }
    found |= {file.name: file for file in sorted(tokenizer.glob("*.tiktoken"))}
    if not {*found} & {*_VOCABULARIES} and not any(name.endswith(".tiktoken") for name in found):
        raise AdaptError(
            f"{tokenizer} holds no tokenizer under a name that a model's folder can have\n"
            "hint: name the file itself, or write it as tokenizer.json: `jeton convert`"
        )
    return found


def _completed(
    model: Path,
    offered: Mapping[str, Path],
    change: VocabularyChange,
    stated: Mapping[str, Any],
    facts: PretrainedFolder,
) -> bytes | None:
    """Settings of the new tokenizer with those that only the model states; None: it states none.

    A tokenizer that was made from a single file knows no limit of length, side or template.
    """
    text = read_text(offered[_CONFIG]) or ""
    own = read_object(model / _CONFIG) or {}
    more = {key: value for key, value in facts.settings.items() if key not in stated}
    has_template = "chat_template" in stated or any(name.endswith(_TEMPLATES) for name in offered)
    if "chat_template" in own and not has_template and not (model / _TEMPLATES[0]).is_file():
        more["chat_template"] = own["chat_template"]
    if not more and stated == (read_object(offered[_CONFIG]) or {}):
        return None
    follower = _Follower(_CONFIG, change, {}, ties=None)
    return _written({**stated, **follow_ids(more, follower.new_id)}, text)


def _check_template(file: Path, gone_tokens: Mapping[str, int]) -> None:
    text = read_text(file) or ""
    if file.name == "tokenizer_config.json":
        value = (read_object(file) or {}).get("chat_template")
        text = json.dumps(value, ensure_ascii=False) if value is not None else ""
    for token, old in gone_tokens.items():
        if token and token in text:
            raise AdaptError(
                f"{file} writes {token!r} (id {old}) into chats, and the new vocabulary does not "
                "have that token\nhint: keep it, or give the tokenizer another chat template"
            )


class _Follower:
    """Follows ids and sizes in one document."""

    def __init__(
        self, name: str, change: VocabularyChange, sizes: Mapping[int, int], *, ties: bool | None
    ) -> None:
        self._name = name
        self._change = change
        self._sizes = sizes
        self._ties = ties
        self.notes: list[str] = []

    def follow(self, file: Path, text: str) -> bytes | None:
        """Returns the new content; None where it stays as it is."""
        try:
            document = read_object(file)
        except JetonError:
            if self._name in ID_FILES:
                raise
            # Data of another kind, as a list of modules, names no ids.
            return None
        assert document is not None
        known = ids_document(PurePosixPath(self._name).name, document)
        followed: Any = follow_ids(known, self.new_id)
        if known is not document:
            followed = followed["token_to_id"]
        followed = self._sized(followed)
        if self._ties is not None:
            followed = _with_tie(followed, self._ties)
        return None if followed == document else _written(followed, text)

    def new_id(self, place: IdPlace) -> Any:
        """Returns what an id becomes."""
        change = self._change
        if place.id >= change.n_old_ids:
            return place.id
        new = int(change.new_of[place.id])
        if new >= 0:
            return new
        if place.is_listed:
            self.notes.append(
                f"{self._name}: {place.words} was {place.id}, whose token is gone; taken out"
            )
            return GONE
        raise AdaptError(
            f"{self._name}: {place.words} is {place.id}, and the new vocabulary does not have that "
            "token\nhint: keep it in the vocabulary, or change the setting first"
        )

    def _sized(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: self._sizes.get(item, item)
                if key in SIZE_FIELDS and isinstance(item, int) and not isinstance(item, bool)
                else self._sized(item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._sized(item) for item in value]
        return value


def _with_tie(document: dict[str, Any], ties: bool) -> dict[str, Any]:  # noqa: FBT001
    stated = dict(document)
    is_stated = False
    for part in ("text_config", "llm_config", "language_config"):
        nested = stated.get(part)
        if isinstance(nested, dict) and "tie_word_embeddings" in nested:
            stated[part] = {**nested, "tie_word_embeddings": ties}
            is_stated = True
    if not is_stated or "tie_word_embeddings" in stated:
        stated["tie_word_embeddings"] = ties
    return stated


def _written(document: Any, text: str) -> bytes:
    """The document as JSON in the style that the file had."""
    indent = re.match(r"\s*[{\[]\n( +|\t+)", text)
    width: str | int | None = None
    if indent is not None:
        width = indent[1]
    written = json.dumps(document, indent=width, ensure_ascii="\\u" in text)
    return (written + ("\n" if text.endswith("\n") else "")).encode("utf-8")


# Settings of a tokenizer's folder that were guessed from the texts of its tokens.
#
# A tokenizer that is saved from a file alone gets roles by the usual texts (``</s>`` ends a text)
# and no clean-up. A model's folder says both, and what it says counts.

_IDS = "added_tokens_decoder"
_SIDE = "padding_side"
CLEAN_UP = "clean_up_tokenization_spaces"


def without_guesses(folder: Path, tokenizer: Tokenizer) -> dict[str, Any] | None:
    """Returns the settings of a folder without its guesses; None if it has anything else.

    Args:
        folder: The folder of the new tokenizer.
        tokenizer: The new tokenizer.

    Raises:
        FormatError: The settings are damaged.
    """
    stated = read_object(folder / _CONFIG) if folder.is_dir() else None
    if stated is None:
        return None
    with warnings.catch_warnings():
        # The warning about the guess was for the one who saved the folder.
        warnings.simplefilter("ignore")
        guess = json_of(pretrained_files(tokenizer, settings=None)[_CONFIG])
    # The side is told by the kind of model alone, so it says nothing about roles.
    aside = {_IDS: None, _SIDE: None}
    if {**stated, **aside} != {**guess, **aside}:
        return None
    return {key: stated[key] for key in (_IDS, "tokenizer_class", _SIDE) if key in stated}


def roles_by_ids(model: Path, tokenizer: Tokenizer) -> dict[str, str]:
    """Returns the special tokens to which the ids of config.json give a role, by role.

    The first one of several ends of a text counts.
    """
    stated = read_object(model / "config.json") or {}
    texts = {id: text for text, id in tokenizer.special_tokens.items()}
    found = {}
    for role in ("bos", "eos", "unk", "pad"):
        value = stated.get(f"{role}_token_id")
        number = value[0] if isinstance(value, list) and value else value
        if type(number) is int and number in texts:
            found[role] = texts[number]
    return found


def known_roles(
    facts: PretrainedFolder, by_ids: Mapping[str, str], gone_tokens: Mapping[str, int]
) -> dict[str, str]:
    """Returns the roles of a model's folder whose tokens the new vocabulary has, by their key.

    Args:
        facts: The folder's small files.
        by_ids: The roles that only ids of config.json tell, for a folder that states none.
        gone_tokens: Tokens that the new vocabulary lacks.
    """
    roles = facts.roles or by_ids
    return {f"{role}_token": text for role, text in roles.items() if text not in gone_tokens}
