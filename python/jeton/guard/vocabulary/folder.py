"""Files beside a vocabulary: templates, configurations, code, pickles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jeton._plain import counted
from jeton.checkpoint import read_model_directory
from jeton.errors import JetonError
from jeton.formats.reading import read_object, read_text
from jeton.guard.scanning import scan_for
from jeton.guard.verdict import GuardLevel
from jeton.guard.vocabulary.source import VocabularyFinding, found
from jeton.guard.wordlist import INSTRUCTION, WEB_ADDRESS

_REACHES: Final = re.compile(
    r"__\w+__|\bimport\s+\w|\b(?:popen|subprocess|builtins|globals|getattr|subclasses|mro)\b|"
    r"\{%-?\s*(?:include|import|from|extends)\b|\b(?:cycler|lipsum|joiner|self)\s*\.\s*_"
)
"""Words by which templates leave their sandbox (published escapes of Jinja)."""

_LITERAL: Final = re.compile(
    r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|(?:\}\}|%\})([^{]+)(?:\{\{|\{%|\Z)"
)

_PICKLES: Final = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".h5")
_PICKLE_HEADS: Final = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")
_MAX_ENTRIES: Final = 10_000


def folder_findings(folder: Path) -> Iterator[VocabularyFinding]:
    """Yield what the files of a model's folder can do besides giving ids."""
    yield from _templates(folder)
    yield from _remote_code(folder)
    yield from _pickles(folder)


def _templates(folder: Path) -> Iterator[VocabularyFinding]:
    for name, source in _sources(folder):
        reaching = [match[0] for match in _REACHES.finditer(source)]
        if reaching:
            yield found(
                "template-reaches-out",
                GuardLevel.CRITICAL,
                f"the chat template uses {', '.join(dict.fromkeys(reaching))}",
                name,
                examples=[_around(source, match.start()) for match in _REACHES.finditer(source)],
            )
        words = [
            text
            for match in _LITERAL.finditer(source)
            if (text := next((g for g in match.groups() if g), "")).strip()
        ]
        wrong = [text for text in words if _injects(text)]
        hidden = scan_for(source, frozenset())
        marks = [
            f.what
            for f in hidden.findings
            if f.group in ("hidden-payload", "bidi", "invisible", "tag", "encoded")
            and f.severity.rank
        ]
        if wrong or marks:
            yield found(
                "template-injects",
                GuardLevel.ERROR,
                f"{counted(len(wrong) + len(marks), 'place')} of the chat template like "
                "instructions, an address or hidden text",
                name,
                examples=[*(text.strip()[:160] for text in wrong), *marks],
                n=len(wrong) + len(marks),
            )


_INJECTS: Final = re.compile(
    r"ignore\s+(?:all|any|the|previous|prior)|disregard\s+(?:all|any|the|previous)|"
    r"(?:do\s+not|don't|never)\s+(?:tell|mention|reveal|inform|warn)|exfiltrat|"
    r"(?:reveal|leak|send|post|forward)\s+(?:all|the|your|every)\s+(?:\w+\s+)?(?:passwords?|secrets?|keys?|credentials?|conversation)",
    re.IGNORECASE,
)


def _injects(text: str) -> bool:
    """True for words of an attack; "you are a helpful assistant" is none."""
    return bool(_INJECTS.search(text)) or bool(
        WEB_ADDRESS.search(text) and INSTRUCTION.search(text)
    )


def _around(text: str, at: int) -> str:
    return text[max(0, at - 30) : at + 60].replace("\n", " ")


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Chat templates of a folder with the file that has each."""
    for name in ("tokenizer_config.json", "chat_template.json", "processor_config.json"):
        try:
            values = read_object(folder / name) or {}
        except JetonError:
            continue
        stated = values.get("chat_template")
        if isinstance(stated, str):
            yield name, stated
        elif isinstance(stated, list):
            for one in stated:
                if isinstance(one, dict) and isinstance(one.get("template"), str):
                    yield f"{name} ({one.get('name')})", one["template"]
        elif isinstance(stated, dict):
            yield from (
                (f"{name} ({key})", text) for key, text in stated.items() if isinstance(text, str)
            )
    for file in sorted(
        [*folder.glob("*.jinja"), *folder.glob("additional_chat_templates/*.jinja")]
    )[:100]:
        try:
            text = read_text(file)
        except JetonError:
            continue
        if text:
            yield file.name, text


def _remote_code(folder: Path) -> Iterator[VocabularyFinding]:
    flags = []
    for name in (
        "config.json",
        "tokenizer_config.json",
        "preprocessor_config.json",
        "generation_config.json",
    ):
        try:
            values = read_object(folder / name) or {}
        except JetonError:
            continue
        if values.get("auto_map"):
            flags.append(f"{name}: auto_map {values['auto_map']!r}"[:200])
        if values.get("trust_remote_code") is True:
            flags.append(f"{name}: trust_remote_code is true")
    if flags:
        code = sorted(file.name for file in folder.glob("*.py"))[:20]
        yield found(
            "remote-code",
            GuardLevel.ERROR,
            f"{counted(len(flags), 'setting')} by which the folder's own code runs"
            + (f"; it has {', '.join(code)}" if code else ""),
            str(folder),
            examples=flags,
            n=len(flags),
        )


def _pickles(folder: Path) -> Iterator[VocabularyFinding]:
    unsafe = []
    for number, file in enumerate(sorted(folder.iterdir())):
        if number >= _MAX_ENTRIES:
            break
        if file.suffix in _PICKLES and file.is_file():
            with file.open("rb") as stream:
                head = stream.read(4)
            if head.startswith(_PICKLE_HEADS):
                unsafe.append(file.name)
    # Shards that an index names count too, where they are read as weights.
    for problem in read_model_directory(folder).problems:
        if problem.kind == "pickle" and problem.file not in unsafe:
            unsafe.append(problem.file)
    if unsafe:
        yield found(
            "unsafe-file",
            GuardLevel.ERROR,
            f"{counted(len(unsafe), 'pickle')}",
            str(folder),
            examples=unsafe,
            n=len(unsafe),
        )
