"""The chat templates of a folder: found and read, not run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton.formats.documents import read_object, read_text

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
