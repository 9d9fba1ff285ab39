"""The vocabularies that are timed, in every form that some library reads."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from benches.peers.base import VocabularyFiles

__all__ = ["BUILD", "DEFAULT_NAMES", "prepare", "source_folder", "with_pattern"]

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"
"""Where unpacked vocabularies, texts and references lie."""
SHARED_DATA = ROOT.parent / "shared" / "data"
DEFAULT_NAMES = ("cl100k_base", "o200k_base", "llama3")
PUBLISHED_FORMS = {
    "cl100k_base": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
"""Split patterns as the ``tokenizer.json`` files on the hub have them (2026-11), where tiktoken's
form is another."""
MAX_BYTES = 2**28
"""No published vocabulary file comes near 256 MiB."""


def source_folder() -> Path | None:
    """Return ``$JETON_VOCAB_DIR``, else the shared folder, else None."""
    named = os.environ.get("JETON_VOCAB_DIR")
    if named:
        return Path(named)
    folder = SHARED_DATA / "vocab"
    return folder if folder.is_dir() else None


def _unpacked(name: str, suffix: str, *, source: Path, target: Path) -> Path | None:
    """Write the uncompressed file below ``target`` once; None when the source has no such file."""
    from jeton._core import decompress

    for ending in ("", ".zst", ".gz"):
        stored = source / f"{name}{suffix}{ending}"
        if stored.is_file():
            plain = target / f"{name}{suffix}"
            if not plain.is_file():
                data = decompress(stored.read_bytes(), max_bytes=MAX_BYTES, path=str(stored))
                plain.write_bytes(data)
            return plain
    return None


def _pattern(name: str, rank_file: Path) -> str | None:
    """The split pattern as the reference library was given it, else as Jeton has it."""
    header = SHARED_DATA / "golden" / f"{name}.header.json"
    if header.is_file():
        pattern: str | None = json.loads(header.read_text(encoding="utf-8"))["pattern"]
        return pattern
    import jeton

    return jeton.load(str(rank_file)).split_pattern


def _hf_json(name: str, rank_file: Path, target: Path) -> Path | None:
    """A ``tokenizer.json`` written from a rank file: the ids of the peers show if it is right.

    The split pattern is in the form in which such files are published, which libraries know by
    sight: another form of the same pattern would be as right, and slow.
    """
    import jeton

    path = target / f"{name}.published.json"
    if not path.is_file():
        try:
            data = json.loads(jeton.load(str(rank_file)).to_hf_json())
        except jeton.JetonError:
            return None
        known = PUBLISHED_FORMS.get(name)
        if known is not None:
            data["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = known
        path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path


def with_pattern(files: VocabularyFiles, pattern: str, *, label: str) -> VocabularyFiles:
    """Put the ranks behind another split pattern, for libraries that take one.

    The ``tokenizer.json`` for it is written beside the others, under ``label``.
    """
    import jeton

    if files.rank_file is None:
        raise ValueError(f"{files.name} has no rank file to give another pattern")
    path = files.rank_file.parent / f"{files.name}-{label}.json"
    try:
        tokenizer = jeton.load(str(files.rank_file), pattern=pattern)
        path.write_bytes(tokenizer.to_hf_json())
    except jeton.JetonError:
        path.unlink(missing_ok=True)
    return replace(
        files,
        pattern=pattern,
        hf_json=path if path.is_file() else None,
        has_own_pattern=True,
    )


def prepare(name: str, *, target: Path, source: Path | None = None) -> VocabularyFiles | None:
    """Return the files of one vocabulary, unpacked below ``target``; None when it is not here."""
    source = source or source_folder()
    if source is None:
        return None
    target.mkdir(parents=True, exist_ok=True)
    rank_file = _unpacked(name, ".tiktoken", source=source, target=target)
    if rank_file is None:
        hf_json = _unpacked(name, ".json", source=source, target=target)
        sp_model = _unpacked(name, ".model", source=source, target=target)
        if hf_json is None and sp_model is None:
            return None
        reference = "tokenizers" if sp_model is None else "sentencepiece"
        return VocabularyFiles(name, None, hf_json, None, reference, sp_model=sp_model)
    return VocabularyFiles(
        name=name,
        rank_file=rank_file,
        hf_json=_hf_json(name, rank_file, target),
        pattern=_pattern(name, rank_file),
        reference="tiktoken",
    )
