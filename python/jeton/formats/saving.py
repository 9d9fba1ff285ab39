"""Tokenizers to files; the name or the caller chooses the format.

Files are written in a folder of their own first, loaded from there, and compared with the
tokenizer; only then do they take their places.

Roles of special tokens and chat templates, written into a GGUF file.

The small files that transformers puts beside a tokenizer.json.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from jeton._core import Tokenizer, compress_zstd, from_gguf
from jeton._files import write_together
from jeton._plain import strict_json
from jeton.errors import FormatError, JetonError, LossyConversionWarning
from jeton.formats.gguf import ROLES_IN_GGUF, Value, gguf_of_bytes, with_pairs
from jeton.formats.loading import load_file
from jeton.formats.model_settings import ModelSettings, left_behind, settings_of, template_files
from jeton.formats.names import card_path, samples_path, user_path
from jeton.formats.samples import make_samples, written_samples
from jeton.formats.writing import (
    Loss,
    Rendering,
    Rewording,
    Target,
    find_target,
    lossy_error,
    render,
    warn,
)

# Roles by the usual texts of their tokens (transformers 5.23.0, the defaults of its classes); a
# token gets one only where it is special and its text leaves no doubt.
_ROLES = {
    "bos_token": ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>"),
    "eos_token": ("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"),
    "unk_token": ("<unk>", "[UNK]"),
    "sep_token": ("[SEP]",),
    "pad_token": ("<pad>", "[PAD]"),
    "cls_token": ("[CLS]",),
    "mask_token": ("<mask>", "[MASK]"),
}


_ENDS_OF_TURNS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<end_of_turn>",
    "<|end|>",
    "<|eot|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
"""Tokens of which a chat model may have one as its end, whatever else looks like an end."""


def pretrained_files(tokenizer: Tokenizer, *, settings: ModelSettings | None) -> dict[str, bytes]:
    """tokenizer_config.json, special_tokens_map.json and chat templates, by name.

    Args:
        tokenizer: The tokenizer of the folder.
        settings: Facts of the model; None: roles go by the usual texts of tokens.
    """
    added = json.loads(tokenizer.to_canonical())["added_tokens"]
    listed = {token["content"]: token for token in added}
    if settings is None or not settings.roles:
        roles = _guessed_roles(listed)
        _warn_of_guess(tokenizer, roles, listed)
    else:
        roles = {f"{role}_token": text for role, text in settings.roles.items()}
    entries = {} if settings is None else dict(settings.entries)
    additional = () if settings is None else settings.additional_special_tokens
    if additional and "extra_special_tokens" not in entries:
        entries["additional_special_tokens"] = list(additional)
    config: dict[str, Any] = {
        "added_tokens_decoder": {str(token["id"]): _flags(token) for token in added},
        **entries,
        **roles,
        "clean_up_tokenization_spaces": entries.get("clean_up_tokenization_spaces", False),
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    special_map: dict[str, Any] = {
        role: {"content": text, **_plain(listed[text])} if text in listed else text
        for role, text in roles.items()
        if role in _ROLES
    }
    if additional:
        special_map["additional_special_tokens"] = list(additional)
    files = {
        "tokenizer_config.json": _json(config),
        "special_tokens_map.json": _json(special_map),
    }
    return files if settings is None else files | template_files(settings)


def _guessed_roles(listed: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    special = {text for text, token in listed.items() if token["special"]}
    found = {}
    for role, texts in _ROLES.items():
        text = next((text for text in texts if text in special), None)
        if text is not None:
            found[role] = text
    return found


def _warn_of_guess(
    tokenizer: Tokenizer, roles: Mapping[str, str], listed: Mapping[str, Mapping[str, Any]]
) -> None:
    """Say so where the end token may as well be another one."""
    others = [text for text in _ENDS_OF_TURNS if text in listed and text != roles.get("eos_token")]
    if "eos_token" in roles and others:
        warnings.warn(
            f"nothing says which token ends a text of {tokenizer.name or 'this tokenizer'}: "
            f"eos_token is written as {roles['eos_token']!r}, though {others[0]!r} may be "
            "meant; the chat template is not known, either\nhint: load the model's folder instead "
            "of the file, and its roles and templates are saved, too",
            LossyConversionWarning,
            stacklevel=2,
        )


def _flags(token: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": token["content"], **_plain(token), "special": token["special"]}


def _plain(token: Mapping[str, Any]) -> dict[str, Any]:
    return {key: token[key] for key in ("lstrip", "normalized", "rstrip", "single_word")}


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def with_settings(rendering: Rendering, settings: ModelSettings) -> Rendering:
    """The file with what llama.cpp is to know: ids by role, chat templates.

    Settings of the file stay: the tokens that the tokenizer puts around a text.
    """
    data = rendering.files[""]
    model = gguf_of_bytes(data, path="tokenizer.gguf")
    known = {*model.metadata, *model.lengths}
    pairs: dict[str, Value] = {}
    for role, name in ROLES_IN_GGUF.items():
        number = _id_of(rendering.read, settings.roles.get(role))
        if number is not None:
            pairs[f"tokenizer.ggml.{name}_token_id"] = number
    if settings.chat_template is not None:
        pairs["tokenizer.chat_template"] = settings.chat_template
    others = settings.other_chat_templates
    if others:
        pairs["tokenizer.chat_templates"] = list(others)
        pairs |= {f"tokenizer.chat_template.{name}": text for name, text in others.items()}
    pairs = {key: value for key, value in pairs.items() if key not in known}
    if not pairs:
        return rendering
    data = with_pairs(data, pairs)
    read = from_gguf(data, name=rendering.read.name)
    return replace(rendering, files={**rendering.files, "": data}, read=read)


def _id_of(tokenizer: Tokenizer, text: str | None) -> int | None:
    if text is None:
        return None
    for token in tokenizer.fixed_tokens():
        if token.content == text:
            return token.id
    return tokenizer.special_tokens.get(text, tokenizer.bytes_to_id(text.encode("utf-8")))


Judge: TypeAlias = Callable[[Tokenizer, tuple[Loss, ...]], tuple[Loss, ...]]
"""Looks at what was read from the written files, and at the losses that are known, and adds to
them."""


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """Files written.

    Attributes:
        files: The files.
        losses: Parts that they do not hold.
        options: Keywords with which ``jeton.load`` reads the first of them as it was meant.
        read: The tokenizer read from the files.
        rewordings: Parts that they say in other words.
        left_behind: Facts of the model's folder that they do not hold, in words.
    """

    files: tuple[Path, ...]
    losses: tuple[Loss, ...]
    options: Mapping[str, Any]
    read: Tokenizer
    rewordings: tuple[Rewording, ...]
    left_behind: tuple[str, ...]


def save_file(
    tokenizer: Tokenizer,
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the word for it
    lossy: bool = False,
    samples: Sequence[str] | bool = False,
    training_card: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Save a tokenizer. Each file is written whole or not at all.

    Args:
        tokenizer: The tokenizer to save.
        path: A file, whose name tells the format (docs/guides/formats.md has the table), each also
            with ``.zst`` or ``.gz``; a folder, or a name without suffix, becomes a folder with
            ``tokenizer.json`` and the small files that transformers puts beside it: roles, chat
            templates and settings are those of the folder that the tokenizer was loaded from.
        format: The format, where the name does not tell it, or a folder is to hold another one.
        lossy: Save it also where the format does not hold everything; a warning lists what is
            lost. Without it, a loss is an error.
        samples: Texts whose ids are saved too and verified whenever the tokenizer is loaded; True:
            a few that tokenizers treat differently.
        training_card: Written beside it: ``training_card.json`` in a folder, else
            ``X.card.json``.

    Returns:
        The files that were written.

    Raises:
        LossyConversionError: The format does not hold everything, and ``lossy`` is not set.
        FormatError: The format cannot express the tokenizer.
        UsageError: The name tells no format.
        OSError: The file cannot be written.
    """
    target = find_target(user_path(path), wanted=format)
    beside: dict[Path, bytes] = {}
    if training_card is not None:
        text = strict_json(training_card, indent=2) + "\n"
        beside[card_path(target.folder or target.main)] = text.encode()
    return list(write_files(tokenizer, target, lossy=lossy, samples=samples, beside=beside).files)


def write_files(
    tokenizer: Tokenizer,
    target: Target,
    *,
    lossy: bool,
    samples: Sequence[str] | bool = False,
    settings: ModelSettings | None = None,
    judge: Judge | None = None,
    label: str | None = None,
    beside: Mapping[Path, bytes] | None = None,
) -> SavedFiles:
    """Write a tokenizer's files, once they load as what they should.

    Args:
        tokenizer: The tokenizer to write.
        target: Where.
        lossy: True if the format may leave something out.
        samples: As for ``save_file``.
        settings: Other settings for a folder or a GGUF file; None: those of the files that the
            tokenizer was loaded from.
        judge: Looks at what was written; without one, losses that are allowed become a warning.
        label: Name of the tokenizer in messages.
        beside: Files that are no part of the tokenizer and are written with it.

    Raises:
        JetonError: As for ``save_file``.
        OSError: A file cannot be written.
    """
    label = label or tokenizer.name or "the tokenizer"
    settings = settings_of(tokenizer) if settings is None else settings
    rendering = render(tokenizer, target.format)
    if target.format == "gguf" and settings is not None:
        rendering = with_settings(rendering, settings)
    made = make_samples(rendering.read, texts=samples)
    files = {target.path_of(role): data for role, data in rendering.files.items()}
    if target.format == "jeton" and made:
        files[target.main] = _with_samples(files[target.main], made)
    files = {path: _packed(data, path) for path, data in files.items()}
    is_folder = target.folder is not None and target.format == "tokenizer.json"
    if is_folder and target.folder is not None:
        small = pretrained_files(tokenizer, settings=settings)
        files |= {target.folder / name: data for name, data in small.items()}
    if made and target.format != "jeton":
        files[samples_path(target.main)] = written_samples(made)
    read, options = _loaded(rendering, target, files)
    # Known by its content, a file may say more than is written in it.
    is_same = read.fingerprint == tokenizer.fingerprint
    losses = () if is_same else rendering.losses
    rewordings = () if is_same else rendering.rewordings
    if judge is not None:
        losses += judge(read, losses)
    if losses and not lossy:
        raise lossy_error(losses, format=target.format, label=label)
    if losses and judge is None:
        warn(losses, format=target.format, label=label)
    files |= beside or {}
    _put(files, target)
    left: tuple[str, ...] = ()
    if settings is not None:
        left = left_behind(settings, is_folder=is_folder, is_gguf=target.format == "gguf")
    return SavedFiles(tuple(files), losses, options, read, rewordings, left)


def _loaded(
    rendering: Rendering, target: Target, files: Mapping[Path, bytes]
) -> tuple[Tokenizer, Mapping[str, Any]]:
    """Load the files from a private folder; return also the keywords that they need."""
    home = target.folder or target.main.parent
    with tempfile.TemporaryDirectory(prefix="jeton-") as name:
        place = Path(name) / (home.resolve().name or "tokenizer")
        place.mkdir()
        for path, data in files.items():
            inside = place / path.relative_to(home)
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.write_bytes(data)
        main = place if target.folder is not None else place / target.main.name
        # A published vocabulary is known by its content and needs no keywords.
        with suppress(JetonError):
            read = load_file(main)
            if read.fingerprint == rendering.read.fingerprint or not rendering.options:
                return read, {}
        options = dict(rendering.options)
        try:
            read = load_file(main, **options)
        except JetonError as error:
            raise FormatError(
                f"what was written does not load: {error}\n"
                "hint: this is a fault of jeton; nothing was changed",
                format=rendering.format,
            ) from error
    return read, options


def _put(files: Mapping[Path, bytes], target: Target) -> None:
    # The file that is loaded comes last: until then the old tokenizer is whole.
    write_together(files, last=target.main)
    stale = samples_path(target.main)
    if stale not in files:
        stale.unlink(missing_ok=True)


def _with_samples(canonical: bytes, samples: Sequence[Mapping[str, Any]]) -> bytes:
    """The canonical form with samples in it: one more field, at its end."""
    text = json.dumps(list(samples), ensure_ascii=False, separators=(",", ":"))
    return canonical.rstrip()[:-1] + b',"samples":' + text.encode("utf-8") + b"}"


def _packed(data: bytes, path: Path) -> bytes:
    name = path.name.lower()
    if name.endswith(".zst"):
        return compress_zstd(data)
    if name.endswith(".gz"):
        import gzip

        # Equal bytes on every day.
        return gzip.compress(data, mtime=0)
    return data
