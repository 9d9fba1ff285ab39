"""``convert``: a tokenizer from one file format to another, exactly, or with its losses listed.

The new file is loaded again before it takes its place. Where the new file is the same tokenizer by
fingerprint, nothing more is to be shown. Where its format says the same in other words (ranks as a
list of merges, a SentencePiece model as BPE on characters), ids and decoded texts are compared on
the probe texts and on generated texts at which tokenizers are known to differ; a difference that no
listed loss accounts for is an error, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton.edge_texts import edge_texts
from jeton.errors import DecodeError, EncodeError, UsageError
from jeton.formats import Loss, Rewording
from jeton.formats.model_settings import settings_of
from jeton.formats.names import user_path
from jeton.formats.saving import write_files
from jeton.formats.writing import find_target
from jeton.probe import probe_texts
from jeton.registry import TokenizerLike, load
from jeton.registry.resolving import wrong_kind

__all__ = ["Conversion", "convert"]

_N_EDGE_TEXTS = 2_000
"""Generated texts that are compared by default; about half a second for both tokenizers."""

_MAX_EDGE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Conversion:
    """Result of a conversion.

    Attributes:
        source: The converted source: a name or a path.
        target: Where it went.
        format: Name of the new format.
        files: The files that were written.
        losses: Parts that the new files do not hold; empty: they hold everything.
        rewordings: Parts that they say in other words, and as exactly: why the fingerprint is
            another one where nothing is lost.
        fingerprint_before: Fingerprint of the source.
        fingerprint_after: Fingerprint of what the new files load as.
        ids_equal: True if every compared text gets the same ids and decodes to the same text; None
            where none was compared.
        n_texts_compared: Number of those texts; 0 where the fingerprints are equal.
        first_difference: A text on which they differ, the first that was found.
        load_options: Keywords with which ``jeton.load`` reads the new files as they were meant;
            empty for most formats, which say everything themselves.
        left_behind: Facts of the model in the source's folder that the new files cannot hold, in
            words: roles of special tokens, chat templates, settings. No loss of the tokenizer.
    """

    source: str
    target: Path
    format: str
    files: tuple[Path, ...]
    losses: tuple[Loss, ...]
    rewordings: tuple[Rewording, ...]
    fingerprint_before: str
    fingerprint_after: str
    ids_equal: bool | None
    n_texts_compared: int
    first_difference: str | None
    load_options: Mapping[str, Any]
    left_behind: tuple[str, ...]

    @property
    def fingerprint_preserved(self) -> bool:
        """True if the new files are the same tokenizer, written the same way."""
        return self.fingerprint_before == self.fingerprint_after

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it."""
        return {
            "schema_version": "jeton.convert/1",
            "source": self.source,
            "target": str(self.target),
            "format": self.format,
            "files": [str(path) for path in self.files],
            "losses": [
                {"component": loss.component, "what": loss.what, "effect": loss.effect}
                for loss in self.losses
            ],
            "rewordings": [
                {"component": rewording.component, "why": rewording.why}
                for rewording in self.rewordings
            ],
            "fingerprint_before": self.fingerprint_before,
            "fingerprint_after": self.fingerprint_after,
            "fingerprint_preserved": self.fingerprint_preserved,
            "ids_equal": self.ids_equal,
            "n_texts_compared": self.n_texts_compared,
            "first_difference": self.first_difference,
            "load_options": dict(self.load_options),
            "left_behind": list(self.left_behind),
        }


def convert(
    source: TokenizerLike,
    target: str | os.PathLike[str],
    *,
    to: str | None = None,
    lossy: bool = False,
    verify: bool | Iterable[str] = True,
    samples: Sequence[str] | bool = False,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    lowercase: bool | None = None,
) -> Conversion:
    """Convert a tokenizer to another file format.

    Args:
        source: A tokenizer: its name, its file or folder, or an object.
        target: The file to write, whose name tells the format; or a folder, or a name without a
            suffix, which becomes one as ``save_pretrained`` writes it. From a source folder or GGUF
            file the roles of special tokens, chat templates and settings come along; a GGUF file
            holds roles and templates, too.
        to: The format, where the name does not tell it: one of ``jeton.formats.FORMATS``.
        lossy: Convert also what the new format does not hold completely; ``losses`` of the result
            lists everything that is lost.
        verify: Compare ids on texts: True: the probe texts and generated ones; False: only by
            fingerprint; or the texts to compare.
        samples: Texts whose ids the new file carries, to be verified whenever it is loaded; True:
            a few that tokenizers treat differently.
        pattern: For the source, as in ``jeton.load``.
        special_tokens: For the source, as in ``jeton.load``.
        lowercase: For the source, as in ``jeton.load``.

    Raises:
        LossyConversionError: Something would be lost, and ``lossy`` is not set; ``losses`` lists
            it all. Nothing is written.
        FormatError: The source is damaged, or the new format cannot express it at all; the message
            lists every reason.
        UsageError: No format of this name, or arguments that contradict one another.
        OSError: A file cannot be read or written.

    Example:
        >>> import jeton, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = jeton.convert("jeton-general-32k-v1", f"{folder}/tokenizer.json")
        ...     (result.losses, result.ids_equal)
        ((), True)
    """
    texts = _texts_to_compare(verify=verify)
    wanted = find_target(user_path(target), wanted=to)
    if isinstance(source, Tokenizer):
        tokenizer, label = source, source.name or "a tokenizer"
        if pattern is not None or special_tokens is not None or lowercase is not None:
            raise UsageError(
                "pattern, special_tokens and lowercase say how a file is read; the source is a "
                "tokenizer\nhint: leave them out"
            )
    else:
        label = os.fspath(source) if isinstance(source, str | os.PathLike) else source
        if not isinstance(label, str):
            raise wrong_kind(source, "source")
        options: dict[str, Any] = {}
        for key, value in (("pattern", pattern), ("lowercase", lowercase)):
            if value is not None:
                options[key] = value
        if special_tokens is not None:
            options["special_tokens"] = special_tokens
        tokenizer = load(source, **options)
    settings = settings_of(tokenizer)
    compared: _Comparison | None = None

    def judge(read: Tokenizer, losses: tuple[Loss, ...]) -> tuple[Loss, ...]:
        nonlocal compared
        compared = _compare(tokenizer, read, texts)
        # A difference that nothing accounts for is a loss of its own, so that none is silent.
        return (_difference(compared),) if compared.equal is False and not losses else ()

    saved = write_files(
        tokenizer,
        wanted,
        lossy=lossy,
        samples=samples,
        settings=settings,
        judge=judge,
        label=label,
    )
    found = compared or _Comparison(equal=None, n_texts=0, first=None)
    return Conversion(
        source=label,
        target=Path(os.fspath(target)),
        format=wanted.format,
        files=tuple(saved.files),
        losses=saved.losses,
        rewordings=saved.rewordings,
        fingerprint_before=tokenizer.fingerprint,
        fingerprint_after=saved.read.fingerprint,
        ids_equal=True if saved.read.fingerprint == tokenizer.fingerprint else found.equal,
        n_texts_compared=found.n_texts,
        first_difference=found.first,
        load_options=saved.options,
        left_behind=saved.left_behind,
    )


@dataclass(frozen=True, slots=True)
class _Comparison:
    equal: bool | None
    n_texts: int
    first: str | None


def _texts_to_compare(*, verify: bool | Iterable[str]) -> Sequence[str] | None:
    """The caller's texts; None: ours; an empty list: none."""
    if verify is True:
        return None
    if verify is False:
        return ()
    texts = () if isinstance(verify, str | bytes) else tuple(verify)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise UsageError("verify must be True, False or a list of texts\nhint: verify=['Hello']")
    return texts


def _compare(one: Tokenizer, two: Tokenizer, texts: Sequence[str] | None) -> _Comparison:
    if one.fingerprint == two.fingerprint:
        return _Comparison(equal=True, n_texts=0, first=None)
    if texts is None:
        made = edge_texts(seed=0, tokenizers=[one], max_chars=_MAX_EDGE_CHARS)
        texts = [*probe_texts(), *islice(made, _N_EDGE_TEXTS)]
    if not texts:
        return _Comparison(equal=None, n_texts=0, first=None)
    for text in texts:
        if _ids(one, text) != _ids(two, text):
            return _Comparison(equal=False, n_texts=len(texts), first=text)
    return _Comparison(equal=True, n_texts=len(texts), first=None)


def _ids(tokenizer: Tokenizer, text: str) -> tuple[list[int], str] | None:
    """Ids and what they decode to; None where the text has none."""
    try:
        ids = tokenizer.encode(text)
        return ids, tokenizer.decode(ids)
    except (EncodeError, DecodeError):
        return None


def _difference(compared: _Comparison) -> Loss:
    text = compared.first or ""
    shown = text if len(text) <= _MAX_EDGE_CHARS else text[:_MAX_EDGE_CHARS] + "..."
    return Loss("model", f"something that shows in {shown!r}", "ids or decoded texts differ")
