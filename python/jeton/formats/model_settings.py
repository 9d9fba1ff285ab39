"""Settings of a model's files besides the tokenizer: roles, chat templates, sides.

A folder says it in its small files, a GGUF file in its metadata. Both can hold it again; files of
other formats cannot, and ``left_behind`` names what they leave.

The folder or model file that a tokenizer was loaded from: its small files, as they were then.

A tokenizer has ids and no roles. The other settings of its folder (the token that ends a turn, the
chat template, the padding side) are kept beside it, so saving it writes them again. For a folder
the small files are held as bytes and read when somebody asks; for a GGUF file the path is held.
"""

from __future__ import annotations

import os
import re
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton.formats.folders import PretrainedFolder, read_folder
from jeton.formats.gguf import ROLES_IN_GGUF, GgufModel, read_gguf

_SMALL_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
)
_TEMPLATE_FOLDERS = ("additional_chat_templates", "chat_templates")
_MAX_BYTES = 32 << 20
"""Bytes that the small files may take together: as much as one of them may."""
_MAX_TEMPLATES = 100


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of a tokenizer.

    Attributes:
        path: The folder, or the GGUF file.
        files: The small files of the folder by their path in it.
        base: The tokenizer that was loaded from there; None: this one.
    """

    path: Path
    files: dict[str, bytes]
    base: Tokenizer | None = None


# By identity: equality of tokenizers is a digest, and two folders may hold equal ones.
_known: dict[int, tuple[weakref.ref[Tokenizer], Origin]] = {}


def remember(tokenizer: Tokenizer, path: Path) -> None:
    """Keep what the folder or model file says beside the tokenizer, as long as it lives."""
    _keep(tokenizer, Origin(path, _small_files(path) if path.is_dir() else {}))


def inherit(tokenizer: Tokenizer, base: Tokenizer) -> None:
    """Let a tokenizer that is made of another one keep what the files of that one say."""
    origin = origin_of(base)
    if origin is not None:
        # The ids of a GGUF file are those of the tokenizer that was loaded, so that one is kept.
        _keep(tokenizer, Origin(origin.path, origin.files, origin.base or base))


def _keep(tokenizer: Tokenizer, origin: Origin) -> None:
    number = id(tokenizer)
    reference = weakref.ref(tokenizer, lambda _: _known.pop(number, None))
    _known[number] = (reference, origin)


def origin_of(tokenizer: Tokenizer) -> Origin | None:
    """Where a tokenizer came from; None: not from a folder, or made of another one since."""
    held = _known.get(id(tokenizer))
    return held[1] if held is not None and held[0]() is tokenizer else None


def _small_files(folder: Path) -> dict[str, bytes]:
    names = list(_SMALL_FILES)
    for inside in _TEMPLATE_FOLDERS:
        place = os.path.join(folder, inside)  # noqa: PTH118 - a path takes longer to make
        if os.path.isdir(place):  # noqa: PTH112
            templates = [n for n in sorted(os.listdir(place)) if n.endswith(".jinja")]  # noqa: PTH208
            names += [f"{inside}/{name}" for name in templates[:_MAX_TEMPLATES]]
    files: dict[str, bytes] = {}
    room = _MAX_BYTES
    for name in names:
        file = os.path.join(folder, name)  # noqa: PTH118
        if not os.path.isfile(file):  # noqa: PTH113
            continue
        try:
            with open(file, "rb") as stream:  # noqa: PTH123
                data = stream.read(room + 1)
        except OSError:
            continue
        if len(data) <= room:
            files[name] = data
            room -= len(data)
    return files


_FILE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of chat templates that can be those of files."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings that belong to a model and not to its tokenizer's ids.

    Attributes:
        roles: Special tokens by what they are for (``eos``); also those of single models
            (``image``).
        additional_special_tokens: Special tokens without a role.
        chat_template: The usual chat template; None: there is none.
        other_chat_templates: Further templates by name.
        entries: Further entries of tokenizer_config.json (``padding_side``, ``model_max_length``).
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    additional_special_tokens: tuple[str, ...] = ()
    chat_template: str | None = None
    other_chat_templates: Mapping[str, str] = field(default_factory=dict)
    entries: Mapping[str, Any] = field(default_factory=dict)


def settings_of_folder(facts: PretrainedFolder) -> ModelSettings:
    """Read the settings from a folder's small files."""
    return ModelSettings(
        roles=dict(facts.roles),
        additional_special_tokens=facts.additional_special_tokens,
        chat_template=facts.chat_template,
        other_chat_templates=dict(facts.other_chat_templates),
        entries=dict(facts.settings),
    )


def settings_of_gguf(model: GgufModel, tokenizer: Tokenizer) -> ModelSettings:
    """Read the settings from a GGUF file's metadata.

    Args:
        model: The metadata.
        tokenizer: The tokenizer of the same file.
    """
    texts = {token.id: token.content for token in tokenizer.fixed_tokens()}
    roles = {}
    for role, key in ROLES_IN_GGUF.items():
        number = model.token_id(key)
        if number is None or not 0 <= number < tokenizer.vocab_size:
            continue
        text = texts.get(number)
        if text is None and tokenizer.token_lengths()[number] > 0:
            text = tokenizer.id_to_bytes(number).decode("utf-8", "replace")
        if text:
            roles[role] = text
    template = model.metadata.get("tokenizer.chat_template")
    prefix = "tokenizer.chat_template."
    others = {
        key.removeprefix(prefix): value
        for key, value in model.metadata.items()
        if key.startswith(prefix) and isinstance(value, str)
    }
    limit = model.context_tokens
    return ModelSettings(
        roles=roles,
        chat_template=template if isinstance(template, str) and template else None,
        other_chat_templates=others,
        entries={} if limit is None else {"model_max_length": limit},
    )


def settings_of(tokenizer: Tokenizer) -> ModelSettings | None:
    """Settings in the files that a tokenizer was loaded from; None: none, or unknown files.

    Raises:
        FormatError: A small file is damaged.
        OSError: The GGUF file is not there any more.
    """
    origin = origin_of(tokenizer)
    if origin is None:
        return None
    if origin.base is not None:
        known = settings_of(origin.base)
        return None if known is None else _as_far_as_it_has(known, tokenizer)
    if origin.path.suffix.lower() == ".gguf":
        return settings_of_gguf(read_gguf(origin.path), tokenizer)
    if not origin.files:
        return None
    # As they were when the tokenizer was loaded, whatever became of the folder.
    with tempfile.TemporaryDirectory(prefix="jeton-") as place:
        for name, data in origin.files.items():
            file = Path(place, name)
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)
        return settings_of_folder(read_folder(place))


def _as_far_as_it_has(settings: ModelSettings, tokenizer: Tokenizer) -> ModelSettings:
    """Returns the settings without special tokens that a tokenizer does not have."""
    return replace(
        settings,
        roles={
            role: text
            for role, text in settings.roles.items()
            if tokenizer.token_to_id(text) is not None
        },
        additional_special_tokens=tuple(
            text
            for text in settings.additional_special_tokens
            if tokenizer.token_to_id(text) is not None
        ),
    )


def template_files(settings: ModelSettings) -> dict[str, bytes]:
    """The files of the chat templates, as ``save_pretrained`` calls them."""
    files = {}
    if settings.chat_template is not None:
        files["chat_template.jinja"] = settings.chat_template.encode("utf-8")
    for name, text in settings.other_chat_templates.items():
        if not _FILE_NAME.fullmatch(name):
            continue  # a name from a file that is no name of a file
        files[f"additional_chat_templates/{name}.jinja"] = text.encode("utf-8")
    return files


def left_behind(settings: ModelSettings, *, is_folder: bool, is_gguf: bool) -> tuple[str, ...]:
    """Name the settings that a written file does not hold, in words."""
    left = []
    if is_folder:
        names = [n for n in settings.other_chat_templates if not _FILE_NAME.fullmatch(n)]
        left += [f"the chat template {name!r}, whose name is no name of a file" for name in names]
        return tuple(left)
    roles = {r: t for r, t in settings.roles.items() if not is_gguf or r not in ROLES_IN_GGUF}
    if roles:
        named = ", ".join(f"{role}_token {text!r}" for role, text in roles.items())
        left.append(f"roles of special tokens: {named}")
    n_templates = (settings.chat_template is not None) + len(settings.other_chat_templates)
    if n_templates and not is_gguf:
        left.append("the chat template" if n_templates == 1 else f"{n_templates} chat templates")
    if settings.entries:
        left.append(f"settings: {', '.join(sorted(settings.entries))}")
    return tuple(left)
