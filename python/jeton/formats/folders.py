"""Contents of a ``save_pretrained`` folder, told without loading the tokenizer.

The rules are those of transformers 5.23.0 (``tokenization_utils_base.py``,
``tokenization_utils_tokenizers.py``; read 2026-11-21) for its generic class, which runs the
folder's tokenizer.json as it is. Classes of single models that build their tokenizer anew from the
vocabulary are not imitated where there is a tokenizer.json.

The chat templates of a folder: found and read, not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton.formats.classes import class_facts
from jeton.formats.folder_tokens import (
    FolderToken,
    added_tokens,
    contradictions,
    is_role_key,
    role_tokens,
)
from jeton.formats.homes import find_tokenizer_file, resolve_folder
from jeton.formats.names import user_path
from jeton.formats.reading import read_object, read_text

_FOLDERS = ("additional_chat_templates", "chat_templates")
_MAX_TEMPLATES = 100
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class ChatTemplates:
    """The templates of a folder: the usual one, where it stands, others by name."""

    text: str | None
    file: Path | None
    others: dict[str, str]
    warnings: tuple[str, ...]


def find_chat_templates(folder: Path, config: Mapping[str, Any]) -> ChatTemplates:
    """Look for templates where transformers looks.

    chat_template.jinja comes before tokenizer_config.json. chat_template.json, which processors of
    images read and AutoTokenizer does not, counts where there is no other. Named templates may
    stand in a folder of their own.

    Raises:
        FormatError: A file is damaged.
        OSError: A file cannot be read.
    """
    config_file = folder / "tokenizer_config.json"
    found: list[tuple[Path, str]] = []
    as_json = (read_object(folder / "chat_template.json") or {}).get("chat_template")
    if isinstance(as_json, str):
        found.append((folder / "chat_template.json", as_json))
    others: dict[str, str] = {}
    stated = config.get("chat_template")
    if isinstance(stated, str):
        found.append((config_file, stated))
    elif isinstance(stated, list):
        for entry in stated:
            if not isinstance(entry, Mapping):
                continue
            name, text = entry.get("name"), entry.get("template")
            if name == _DEFAULT and isinstance(text, str):
                found.append((config_file, text))
            elif isinstance(name, str) and isinstance(text, str):
                others[name] = text
    jinja = read_text(folder / "chat_template.jinja")
    if jinja is not None:
        found.append((folder / "chat_template.jinja", jinja))
    for name, text in _of_folders(folder):
        others[name] = text
    if not found:
        return ChatTemplates(None, None, others, ())
    file, text = found[-1]
    warnings = tuple(
        f"the chat template in {other.name} is not the one in {file.name}, which counts"
        for other, different in found[:-1]
        if _as_read(different) != _as_read(text)
    )
    return ChatTemplates(text, file, others, warnings)


def _as_read(template: str) -> str:
    """A template as Jinja reads it: any ends of lines, and without the last one."""
    return template.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")


def _of_folders(folder: Path) -> list[tuple[str, str]]:
    templates = []
    for name in _FOLDERS:
        inside = folder / name
        if not inside.is_dir():
            continue
        files = []
        for _, path in zip(range(_MAX_TEMPLATES), inside.iterdir(), strict=False):
            if path.suffix == ".jinja" and path.is_file():
                files.append(path)
        for path in sorted(files):
            text = read_text(path)
            if text is not None:
                templates.append((path.stem, text))
    return templates


_SMALL_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
    "params.json",
)

_UNLIMITED = 10**15
"""transformers writes int(1e30) where a model has no limit; no context comes near this number."""


@dataclass(frozen=True, slots=True)
class PretrainedFolder:
    """Facts that a folder gives about its tokenizer.

    Attributes:
        path: The folder that the tokenizer lies in: of a model in the Hugging Face cache its
            revision, of a pipeline its ``tokenizer/``, of an adapter the model's folder.
        tokenizer_file: The file that the tokenizer is made from; None where there is none.
        files: The other files that count, as far as they are there.
        tokenizer_class: Name of the class in transformers, without ``Fast``; None where the folder
            does not say.
        roles: Special tokens by what they are for: ``bos``, ``eos``, ``unk``, ``sep``, ``pad``,
            ``cls``, ``mask``, and roles of single models (``image``).
        additional_special_tokens: Special tokens without a role, in the folder's order.
        added_tokens: Tokens that the small files add to, or change in, the vocabulary.
        chat_template: The chat template's text; None where there is none.
        chat_template_file: The file that it stands in.
        other_chat_templates: Further templates by name (``tool_use``, ``rag``).
        model_max_length: Most tokens that the model takes; None: not told, or no limit.
        add_bos: The setting ``add_bos_token``, which counts where there is no tokenizer.json.
        add_eos: The setting ``add_eos_token``, likewise.
        clean_up_tokenization_spaces: The setting of that name, which ``decode`` does not apply.
        settings: The entries of tokenizer_config.json that hold for the tokenizer wherever it is
            saved (``padding_side``, ``model_max_length`` ...); where the class has defaults of its
            own, they are among them.
        legacy: The setting of that name of T5 and Llama, which a tokenizer.json has built in.
        warnings: Contradictions between the files, and settings that are not applied.
    """

    path: Path
    tokenizer_file: Path | None
    files: tuple[Path, ...]
    tokenizer_class: str | None
    roles: Mapping[str, str]
    additional_special_tokens: tuple[str, ...]
    added_tokens: tuple[FolderToken, ...]
    chat_template: str | None
    chat_template_file: Path | None
    other_chat_templates: Mapping[str, str]
    model_max_length: int | None
    add_bos: bool | None
    add_eos: bool | None
    clean_up_tokenization_spaces: bool | None
    settings: Mapping[str, Any]
    legacy: bool | None
    warnings: tuple[str, ...]


def read_folder(path: str | Path) -> PretrainedFolder:
    """Say what a folder holds, or the one that it leads to. Only files of known names are opened.

    Raises:
        FormatError: A small file is damaged, or several files compete to be the tokenizer.
        NotADirectoryError: ``path`` is no folder.
        OSError: A file cannot be read.
    """
    folder = user_path(path)
    if not folder.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(folder))
    folder = resolve_folder(folder)
    config = read_object(folder / "tokenizer_config.json") or {}
    tokens_map = read_object(folder / "special_tokens_map.json") or {}
    tokenizer_file = find_tokenizer_file(folder)
    class_name = _class_name(config, folder)
    templates = find_chat_templates(folder, config)
    special = role_tokens(config, tokens_map)
    added = added_tokens(config, folder=folder, special=special.texts)
    return PretrainedFolder(
        path=folder,
        tokenizer_file=tokenizer_file,
        files=tuple(folder / name for name in _SMALL_FILES if (folder / name).is_file()),
        tokenizer_class=class_name,
        roles={role: token.content for role, token in special.roles.items()},
        additional_special_tokens=tuple(token.content for token in special.additional),
        added_tokens=_joined(added, [*special.roles.values(), *special.additional]),
        chat_template=templates.text,
        chat_template_file=templates.file,
        other_chat_templates=templates.others,
        model_max_length=_max_length(config),
        add_bos=_flag(config, "add_bos_token"),
        add_eos=_flag(config, "add_eos_token"),
        clean_up_tokenization_spaces=_flag(config, "clean_up_tokenization_spaces"),
        settings=_kept_settings(config, class_name),
        legacy=_flag(config, "legacy"),
        warnings=(
            *special.warnings,
            *templates.warnings,
            *contradictions(
                tokenizer_file, config=config, added=added, special=special, class_name=class_name
            ),
        ),
    )


def _joined(added: list[FolderToken], special: list[FolderToken]) -> tuple[FolderToken, ...]:
    """Added tokens, then special ones that are none of them."""
    texts = {token.content for token in added}
    joined = list(added)
    for token in special:
        if token.content not in texts:
            texts.add(token.content)
            joined.append(token)
    return tuple(joined)


def _class_name(config: Mapping[str, Any], folder: Path) -> str | None:
    name = config.get("tokenizer_class")
    if not isinstance(name, str):
        model = read_object(folder / "config.json") or {}
        name = model.get("tokenizer_class")
        if not isinstance(name, str):
            kind = model.get("model_type")
            name = _CLASS_OF_MODEL.get(kind) if isinstance(kind, str) else None
    if not isinstance(name, str) or name == "PreTrainedTokenizerFast":
        return name if isinstance(name, str) else None
    return name.removesuffix("Fast")


# Only models whose folders may lack both a tokenizer.json and the name of a class.
_CLASS_OF_MODEL = {
    "albert": "AlbertTokenizer",
    "bart": "BartTokenizer",
    "bert": "BertTokenizer",
    "camembert": "CamembertTokenizer",
    "distilbert": "DistilBertTokenizer",
    "electra": "ElectraTokenizer",
    "gpt2": "GPT2Tokenizer",
    "llama": "LlamaTokenizer",
    "longformer": "LongformerTokenizer",
    "mbart": "MBartTokenizer",
    "mistral": "LlamaTokenizer",
    "pegasus": "PegasusTokenizer",
    "roberta": "RobertaTokenizer",
    "t5": "T5Tokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
    "xlnet": "XLNetTokenizer",
}


def _kept_settings(config: Mapping[str, Any], class_name: str | None) -> dict[str, Any]:
    """Settings that the generic class needs too: it runs any tokenizer.json."""
    kept = {key: value for key, value in config.items() if not _is_replaced(key)}
    if "model_max_length" in kept and _max_length(config) is None:
        del kept["model_max_length"]
    extra = config.get("extra_special_tokens")
    if isinstance(extra, Mapping):
        kept["extra_special_tokens"] = dict(extra)
    facts = class_facts(class_name)
    if facts is not None:
        if facts.padding_side != "right":
            kept.setdefault("padding_side", facts.padding_side)
        if facts.model_input_names != _USUAL_INPUTS:
            kept.setdefault("model_input_names", list(facts.model_input_names))
    return kept


_USUAL_INPUTS = ("input_ids", "attention_mask")

# Written anew, or only for the class that the folder named: the tokenizer.json says it all.
_REPLACED = frozenset(
    [
        "added_tokens_decoder",
        "additional_special_tokens",
        "extra_special_tokens",
        "chat_template",
        "tokenizer_class",
        "tokenizer_type",
        "slow_tokenizer_class",
        "backend",
        "auto_map",
        "name_or_path",
        "tokenizer_file",
        "vocab_file",
        "merges_file",
        "spm_file",
        "special_tokens_map_file",
        "is_local",
        "local_files_only",
        "from_slow",
        "use_fast",
        "legacy",
        "add_prefix_space",
        "do_lower_case",
        "do_basic_tokenize",
        "never_split",
        "tokenize_chinese_chars",
        "strip_accents",
        "fix_mistral_regex",
        "sp_model_kwargs",
        "add_bos_token",
        "add_eos_token",
        "errors",
        "keep_accents",
        "remove_space",
        "sp_model",
        "vocab",
        "merges",
        "trust_remote_code",
    ]
)


def _is_replaced(key: str) -> bool:
    return key in _REPLACED or is_role_key(key)


def _max_length(config: Mapping[str, Any]) -> int | None:
    value = config.get("model_max_length")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value < _UNLIMITED else None


def _flag(config: Mapping[str, Any], key: str) -> bool | None:
    # transformers takes a key that is there and null for no.
    if key not in config:
        return None
    return config[key] is True
