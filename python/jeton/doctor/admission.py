"""From what the user names to a `Patient`: folders, files, names, dumps, snapshots."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from jeton._core import Tokenizer
from jeton.checkpoint import GgufModel, ModelDirectory, read_gguf, read_model_directory
from jeton.doctor.diagnosis import Diagnosis, examine
from jeton.doctor.dumps import InputBatch, Output, batch_of_arrays, read_batches, read_outputs
from jeton.doctor.patient import Embedder, GgufPair, Patient, Task
from jeton.doctor.settings import Settings, machine_settings, read_settings, tokenizer_settings
from jeton.errors import FormatError, JetonError, LimitError, UsageError
from jeton.formats import PretrainedFolder, read_folder
from jeton.formats.homes import cached_repository, folder_entries, snapshot_of
from jeton.formats.names import user_path
from jeton.formats.reading import read_object
from jeton.registry import TokenizerLike, load, resolve
from jeton.registry.resolving import check_kind

_Batch = str | os.PathLike[str] | InputBatch | Mapping[str, Any]
_Output = str | os.PathLike[str] | Output


def diagnose(
    subject: TokenizerLike | None = None,
    *,
    tokenizer: TokenizerLike | None = None,
    model_dir: str | os.PathLike[str] | None = None,
    batches: Iterable[_Batch] = (),
    outputs: Iterable[_Output] = (),
    texts: Iterable[str] = (),
    training_texts: Iterable[str] = (),
    against: TokenizerLike | None = None,
    settings: str | os.PathLike[str] | Settings | None = None,
    embedder: TokenizerLike | None = None,
    embedder_max_tokens: int | None = None,
    embedder_prefix: str = "",
    task: Task | None = None,
    context_tokens: int | None = None,
    max_output_tokens: int | None = None,
    chunk_tokens: int | None = None,
    ignore: Iterable[str] = (),
) -> Diagnosis:
    """Look for every known failure in what is at hand.

    Args:
        subject: A model directory, the folder or file of a tokenizer, a .gguf file, or the name of
            a tokenizer.
        tokenizer: The tokenizer, where it is not that of ``subject``.
        model_dir: The model directory, where it is not ``subject``.
        batches: Dumps of model inputs: files (.npz, .npy, .safetensors, .jsonl), or arrays by name
            (``input_ids``, ``attention_mask``, ``labels`` ...).
        outputs: Generated text: files (JSON Lines with ``text``, ``ids`` and ``pieces``, or text),
            or ``Output`` objects.
        texts: Texts as they are sent.
        training_texts: Texts as they were at training; in the same order, if they are the same.
        against: A second tokenizer or folder, the snapshot of another machine, or a file of
            settings.
        settings: The settings of this side, where ``against`` is a file of settings.
        embedder: The tokenizer of an embedding model, to be compared on ``texts``.
        embedder_max_tokens: Tokens that it reads, special tokens included; by default its folder's.
        embedder_prefix: Text before each text for it.
        task: Use of the batches: ``generate``, ``train`` or ``embed``.
        context_tokens: The context, where it is not that of the model.
        max_output_tokens: Room that is kept for the answer.
        chunk_tokens: Cut texts to chunks of this many tokens before embedding.
        ignore: Ids of failures to leave out.

    Returns:
        The findings, and the failures that could not be looked for.

    Raises:
        UsageError: The arguments contradict one another, or nothing was given.
        UnknownTokenizerError: A name is not known.
        FormatError, RecordError, LimitError: A dump is damaged or too large.
        OSError: A file cannot be read.

    Example:
        >>> from jeton.doctor import diagnose
        >>> found = diagnose("jeton-general-32k-v1", batches=[{"input_ids": [[5, 99_999]]}])
        >>> found.findings[0].id
        'ids-out-of-range'
    """
    if isinstance(texts, str) or isinstance(training_texts, str):
        raise UsageError("texts is one str; expected a list of them\nhint: texts=[text]")
    patient = admit(
        subject,
        tokenizer=tokenizer,
        model_dir=model_dir,
        context_tokens=context_tokens,
    )
    patient = replace(
        patient,
        batches=tuple(batch for given in batches for batch in _batches(given)),
        outputs=tuple(output for given in outputs for output in _outputs(given)),
        texts=tuple(texts),
        training_texts=tuple(training_texts),
        task=task,
        max_output_tokens=max_output_tokens,
        chunk_tokens=chunk_tokens,
    )
    for argument, other in (("against", against), ("embedder", embedder)):
        if other is not None:
            check_kind(other, argument)
    if embedder is not None:
        patient = replace(
            patient, embedder=_embedder(embedder, embedder_max_tokens, embedder_prefix)
        )
    if against is not None:
        patient = _against(patient, against, settings)
    elif settings is not None:
        patient = replace(patient, settings=_settings(settings))
    if not patient.evidence:
        raise UsageError(
            "nothing to look at\nhint: jeton doctor MODEL_DIR, or a tokenizer, --batch, --outputs"
        )
    return examine(patient, ignore=ignore)


def admit(
    subject: TokenizerLike | None,
    *,
    tokenizer: TokenizerLike | None = None,
    model_dir: str | os.PathLike[str] | None = None,
    context_tokens: int | None = None,
) -> Patient:
    """Admit a subject: its tokenizer, its folder, its model. See ``diagnose``."""
    for argument, given in (("subject", subject), ("tokenizer", tokenizer)):
        if given is not None:
            check_kind(given, argument)
    name = _name(subject if subject is not None else tokenizer or model_dir)
    found: Tokenizer | None = None
    folder: PretrainedFolder | None = None
    model: ModelDirectory | None = None
    gguf: GgufModel | None = None
    load_error = ""
    if isinstance(subject, Tokenizer):
        found = subject
    elif subject is not None:
        path = _place(subject)
        if path.is_dir():
            model = read_model_directory(path)
            folder, load_error = _folder(path)
            if tokenizer is None and not load_error:
                found, load_error = _loaded(path, folder)
            if _is_empty(model, folder) and not load_error:
                raise UsageError(
                    f"{path} holds neither a tokenizer nor a model\n"
                    "hint: expected tokenizer.json, config.json or *.safetensors in it"
                )
        else:
            if _is_gguf(path):
                gguf = read_gguf(path)
            if tokenizer is None:
                found = resolve(subject, argument="subject")
            folder = _beside(path)
    if tokenizer is not None:
        found, folder, load_error = _given(tokenizer)
    if model_dir is not None:
        model = read_model_directory(user_path(model_dir))
    if gguf is None and folder is not None and _is_gguf(folder.tokenizer_file):
        assert folder.tokenizer_file is not None
        gguf = read_gguf(folder.tokenizer_file)
    return Patient(
        name=name,
        load_error=load_error,
        tokenizer=found,
        folder=folder,
        tokenizer_config={} if folder is None else _config(folder.path),
        model=model,
        gguf=gguf,
        gguf_pairs=_pairs_inside(model, folder, found),
        stated_context_tokens=context_tokens,
    )


def own_settings(patient: Patient, *, kind: Literal["snapshot", "tokenizer"]) -> Settings:
    """The settings of this side, of the same kind as the other's."""
    values = tokenizer_settings(patient.tokenizer, patient.folder, patient.tokenizer_config)
    if kind == "snapshot":
        return Settings("this machine", {**machine_settings(), **values}, kind="snapshot")
    return Settings(patient.name, values, kind="tokenizer")


def _name(subject: object) -> str:
    if isinstance(subject, Tokenizer):
        return subject.name or "the tokenizer"
    return "the case" if subject is None else str(subject)


def _place(given: str | os.PathLike[str]) -> Path:
    """The path that a name in a cache, or a path, means; a name that is none stays as it is."""
    path = user_path(given)
    if path.exists():
        # A damaged cache says so when it is read.
        with suppress(FormatError):
            if path.is_dir():
                return snapshot_of(path) or path
        return path
    cached = cached_repository(str(given))
    return path if cached is None else snapshot_of(cached) or cached


_MAX_PAIRS = 8
"""GGUF files of a folder that are looked at; they differ in their weights, as a rule."""


def _pairs_inside(
    model: ModelDirectory | None, folder: PretrainedFolder | None, tokenizer: Tokenizer | None
) -> tuple[GgufPair, ...]:
    """The GGUF files in a model's folder, beside the tokenizer that the folder has anyway."""
    if model is None or folder is None or tokenizer is None or _is_gguf(folder.tokenizer_file):
        return ()
    names = [n for n in folder_entries(folder.path) if n.lower().endswith(".gguf")]
    pairs = []
    for name in names[:_MAX_PAIRS]:
        # A file that cannot be read, or has no vocabulary (a projector, a later part), is none.
        with suppress(JetonError, OSError):
            file = folder.path / name
            gguf = read_gguf(file)
            if gguf.n_tokens:
                pairs.append(GgufPair(gguf, load(file), tokenizer, folder, model))
    return tuple(pairs)


def _pair(
    patient: Patient,
    given: TokenizerLike,
    tokenizer: Tokenizer,
    folder: PretrainedFolder | None,
) -> tuple[GgufPair, ...]:
    """A GGUF file on one side, and on the other what it was made from."""
    if patient.tokenizer is None:
        return ()
    if patient.gguf is not None:
        model = None if folder is None else read_model_directory(folder.path)
        return (GgufPair(patient.gguf, patient.tokenizer, tokenizer, folder, model),)
    if isinstance(given, Tokenizer) or not _is_gguf(_place(given)):
        return ()
    model = patient.model
    if model is None and patient.folder is not None:
        model = read_model_directory(patient.folder.path)
    gguf = read_gguf(_place(given))
    return (GgufPair(gguf, tokenizer, patient.tokenizer, patient.folder, model),)


def _is_gguf(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() == ".gguf" and path.is_file()


def _folder(path: Path) -> tuple[PretrainedFolder | None, str]:
    try:
        return read_folder(path), ""
    except JetonError as error:
        return None, str(error)


def _loaded(path: Path, folder: PretrainedFolder | None) -> tuple[Tokenizer | None, str]:
    if folder is None or folder.tokenizer_file is None:
        # A directory of weights alone is no fault.
        return None, ""
    try:
        return load(path), ""
    except JetonError as error:
        return None, str(error)


def _is_empty(model: ModelDirectory, folder: PretrainedFolder | None) -> bool:
    has_tokenizer = folder is not None and bool(folder.tokenizer_file or folder.files)
    has_model = model.configuration is not None or bool(model.weights.files or model.problems)
    return not has_tokenizer and not has_model


def _beside(path: Path) -> PretrainedFolder | None:
    """The folder of a tokenizer.json that was named by itself."""
    if path.is_file() and (path.parent / "tokenizer_config.json").is_file():
        found, _ = _folder(path.parent)
        if found is not None and found.tokenizer_file == path:
            return found
    return None


def _given(given: TokenizerLike) -> tuple[Tokenizer | None, PretrainedFolder | None, str]:
    if isinstance(given, Tokenizer):
        return given, None, ""
    path = _place(given)
    if path.is_dir():
        folder, error = _folder(path)
        if error:
            return None, folder, error
        tokenizer, error = _loaded(path, folder)
        return tokenizer, folder, error
    return resolve(given), _beside(path), ""


def _config(folder: Path) -> Mapping[str, Any]:
    return read_object(folder / "tokenizer_config.json") or {}


def _batches(given: _Batch) -> Sequence[InputBatch]:
    if isinstance(given, InputBatch):
        return (given,)
    if isinstance(given, Mapping):
        return (batch_of_arrays(given),)
    return read_batches(given)


def _outputs(given: _Output) -> Sequence[Output]:
    return (given,) if isinstance(given, Output) else read_outputs(given)


def _embedder(given: TokenizerLike, max_tokens: int | None, prefix: str) -> Embedder:
    tokenizer, folder, error = _given(given)
    if tokenizer is None:
        raise FormatError(error or f"{given} holds no tokenizer", path=str(given))
    if max_tokens is None and folder is not None:
        # The limit of sentence-transformers counts more than the limit of the tokenizer.
        stated = read_object(folder.path / "sentence_bert_config.json") or {}
        length = stated.get("max_seq_length")
        max_tokens = length if isinstance(length, int) and length > 0 else folder.model_max_length
    if max_tokens is None:
        raise UsageError(
            f"how many tokens {_name(given)} reads is not told\n"
            "hint: --embedder-max TOKENS (embedder_max_tokens=), special tokens included"
        )
    return Embedder(tokenizer, max_tokens, prefix)


def _settings(given: str | os.PathLike[str] | Settings) -> Settings:
    return given if isinstance(given, Settings) else read_settings(given)


def _against(
    patient: Patient, against: TokenizerLike, settings: str | os.PathLike[str] | Settings | None
) -> Patient:
    if not isinstance(against, Tokenizer) and _is_settings(user_path(against)):
        other = read_settings(against)
        own = (
            _settings(settings) if settings is not None else own_settings(patient, kind="snapshot")
        )
        return replace(patient, settings=own, other=other)
    tokenizer, folder, error = _given(against)
    if tokenizer is None:
        raise FormatError(error or f"{against} holds no tokenizer", path=str(against))
    config = {} if folder is None else _config(folder.path)
    other = Settings(
        _name(against), tokenizer_settings(tokenizer, folder, config), kind="tokenizer"
    )
    own = own_settings(patient, kind="tokenizer")
    if (folder is None) is not (patient.folder is None):
        # A file alone says nothing of the folder's settings, which is no difference.
        shared = set(own.values) & set(other.values)
        own = replace(own, values={k: v for k, v in own.values.items() if k in shared})
        other = replace(other, values={k: v for k, v in other.values.items() if k in shared})
    if settings is not None:
        own = _settings(settings)
    pairs = _pair(patient, against, tokenizer, folder)
    patient = replace(patient, gguf_pairs=(*patient.gguf_pairs, *pairs))
    return replace(patient, settings=own, other=other, other_tokenizer=tokenizer)


def _is_settings(path: Path) -> bool:
    """True if a file holds settings, and not a tokenizer."""
    if not path.is_file():
        return False
    if path.suffix.lower() == ".toml":
        return True
    if path.suffix.lower() != ".json":
        return False
    try:
        tree = read_object(path) or {}
    except (FormatError, LimitError):
        return False
    if str(tree.get("schema_version", "")).startswith("jeton.snapshot/"):
        return True
    is_tokenizer = isinstance(tree.get("model"), Mapping) or any(
        key in tree for key in ("added_tokens", "bpe_ranks", "vocab", "normalizer", "merges")
    )
    # A vocab.json has thousands of words and no settings.
    return not is_tokenizer and len(tree) < 1000
