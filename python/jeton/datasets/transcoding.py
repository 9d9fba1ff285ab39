"""Data sets in another format: the ids are copied, and no text is tokenized."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from jeton._core import Tokenizer
from jeton.corpus import InputFile
from jeton.corpus.objects import local_folder, state_of
from jeton.datasets.boundaries import BoundaryTokens
from jeton.datasets.foreign import find_pairs
from jeton.datasets.formats import FORMATS, ShardLayout, ShardRecord
from jeton.datasets.formats.base import FileRecord, ShardFormat, documents_of
from jeton.datasets.formats.megatron import MegatronFormat
from jeton.datasets.manifest import MANIFEST_NAME, DatasetManifest
from jeton.datasets.options import DataFormat, DatasetColumn, DatasetOptions
from jeton.datasets.pieces import TokenPiece
from jeton.datasets.result import TokenizedDataset
from jeton.datasets.run import DatasetIdentity, run_job
from jeton.datasets.units import WorkUnit
from jeton.datasets.working import TokenizeJob
from jeton.errors import FormatError, UsageError
from jeton.formats.megatron_index import read_megatron_index
from jeton.progress import OnProgress
from jeton.registry.resolving import TokenizerLike, resolve


@dataclass(frozen=True, slots=True)
class _SourceShard:
    """A shard that is read."""

    kind: ShardFormat
    layout: ShardLayout
    record: ShardRecord
    eos_id: int | None


@dataclass(frozen=True, slots=True)
class _Sources:
    """All shards, in order, and the facts that they share."""

    shards: tuple[_SourceShard, ...]
    identity: DatasetIdentity


def transcode_dataset(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    output: str | os.PathLike[str],
    format: DataFormat,  # noqa: A002 - the option's name
    tokenizer: TokenizerLike | None = None,
    shard_tokens: int | None = None,
    columns: Sequence[DatasetColumn] = (),
    label_mask: bool = False,
    shuffle: int | None = None,
    digest: Literal["crc32", "sha256"] = "crc32",
    resume: bool = False,
    on_progress: OnProgress | None = None,
) -> TokenizedDataset:
    """Write data sets in another format; documents keep their ids, special tokens included.

    Args:
        inputs: Folders that ``tokenize_dataset`` wrote, in order, or pairs of ``.bin`` and
            ``.idx`` of other tools.
        output: The folder to write; it is made.
        format: The new format; not ``nanochat``, which holds text.
        tokenizer: Files of other tools: the tokenizer that made them.
        shard_tokens: Most tokens in a shard; by default as many as suit the format.
        columns: Parquet and Arrow: ``"attention_mask"``, ``"labels"`` beside ``input_ids``.
        label_mask: NumPy: write which tokens are labels.
        shuffle: Seed of an order of all documents; None: the order of the inputs.
        digest: Digest of the files in the manifest.
        resume: Go on with a run that was interrupted.
        on_progress: Told how far reading has come.

    Returns:
        Where the data set lies, and what is in it.

    Raises:
        FormatError: A data set is damaged, or its documents cannot be told apart.
        UsageError: Data sets of different tokenizers, or settings that contradict one another.
        OSError: A file cannot be read or written.

    Example:
        >>> import tempfile, jeton
        >>> folder = tempfile.mkdtemp()
        >>> made = jeton.tokenize_dataset(
        ...     iter(["Hello there"]), tokenizer="jeton-general-32k", output=folder + "/a"
        ... )
        >>> jeton.transcode_dataset(folder + "/a", output=folder + "/b", format="datatrove").format
        'datatrove'
    """
    if isinstance(inputs, str | os.PathLike):
        inputs = [inputs]
    DatasetOptions(format=format).check()
    kind = FORMATS[format]
    if kind.holds_text:
        raise UsageError(
            f"the format {format} holds text, and a data set of ids has none\n"
            "hint: tokenize the texts with --format nanochat"
        )
    options = DatasetOptions(
        format=format,
        shard_tokens=shard_tokens or kind.default_shard_tokens,
        columns=tuple(columns),
        label_mask=label_mask,
        shuffle_seed=shuffle,
        digest=digest,
    )
    options.check()
    given = None if tokenizer is None else resolve(tokenizer)
    folder = local_folder(output)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(
            f"the output {output} is a file; expected a folder\nhint: name another place"
        )
    sources = _sources([Path(item) for item in inputs], given)
    paths = [shard.layout.folder / shard.record.files[0].name for shard in sources.shards]
    states = tuple(state_of(str(path)) for path in paths)
    job = TokenizeJob(
        files=tuple(
            InputFile(str(path), "memory", state[0])
            for path, state in zip(paths, states, strict=True)
        ),
        states=states,
        units=tuple(WorkUnit((number,)) for number in range(len(paths))),
        tokenizer=None,
        options=options,
    )

    def pieces(
        job: TokenizeJob, unit: int, document: int, workers: int | None, folder: Path
    ) -> Iterator[tuple[int, TokenPiece]]:
        for number in range(unit, len(sources.shards)):
            skipped = document if number == unit else 0
            for piece in _pieces_of(sources.shards[number], number, skipped):
                yield number, piece

    manifest, n_resumed = run_job(
        job,
        kind=kind,
        identity=sources.identity,
        folder=folder,
        workers=1,
        resume=resume,
        source=pieces,
        on_progress=on_progress,
        n_special=0,
    )
    return TokenizedDataset.of(folder, manifest, n_resumed_shards=n_resumed, is_transcoded=True)


def _pieces_of(shard: _SourceShard, number: int, first_document: int) -> Iterator[TokenPiece]:
    n_before = 0
    for block in documents_of(shard.kind, shard.layout, shard.record, shard.eos_id):
        n = len(block.offsets) - 1
        if n_before + n > first_document or not first_document:
            piece = TokenPiece(block.ids.astype(np.uint32), block.offsets, ((number, n),))
            yield piece.from_document(max(0, first_document - n_before))
        n_before += n


def _sources(folders: Sequence[Path], tokenizer: Tokenizer | None) -> _Sources:
    shards: list[_SourceShard] = []
    identity: DatasetIdentity | None = None
    for folder in folders:
        if (folder / MANIFEST_NAME).is_file():
            found, of_folder = _own(folder)
        else:
            found, of_folder = _foreign(folder, tokenizer)
        if identity is not None and identity.fingerprint != of_folder.fingerprint:
            raise UsageError(
                f"{folder} was made by another tokenizer than {folders[0]}: their ids cannot stand "
                "in one data set"
            )
        identity = identity or of_folder
        if identity.around != of_folder.around:
            identity = replace(identity, around=BoundaryTokens())
        shards += found
    if identity is None:
        raise UsageError("there are no inputs")
    return _Sources(tuple(shards), identity)


def _own(folder: Path) -> tuple[list[_SourceShard], DatasetIdentity]:
    manifest = DatasetManifest.read(folder)
    identity = DatasetIdentity.from_dict(manifest.plan["tokenizer"])
    kind = FORMATS[manifest.options.format]
    layout = ShardLayout(
        folder, np.dtype(manifest.dtype), manifest.options, identity.name, identity.vocab_size
    )
    found = [
        _SourceShard(kind, layout, record, identity.around.eos_id) for record in manifest.shards
    ]
    return found, replace(identity, transcoded_from=manifest.options.format)


def _foreign(
    folder: Path, tokenizer: Tokenizer | None
) -> tuple[list[_SourceShard], DatasetIdentity]:
    pairs = find_pairs(folder)
    if tokenizer is None:
        raise UsageError(
            f"{folder} does not say which tokenizer made it\nhint: name it with --tokenizer"
        )
    found = []
    for path in pairs:
        index = read_megatron_index(path.with_suffix(".idx"))
        if index.dtype.kind == "f":
            raise FormatError(f"{path}: its ids are {index.dtype.name}", path=str(path))
        layout = ShardLayout(
            path.parent, index.dtype, DatasetOptions(), tokenizer.name or "", tokenizer.vocab_size
        )
        record = ShardRecord(
            0, 0, max(0, len(index.documents) - 1), (FileRecord(path.name, 0, ""),)
        )
        found.append(_SourceShard(MegatronFormat(), layout, record, None))
    identity = DatasetIdentity.of(tokenizer, BoundaryTokens())
    return found, replace(identity, transcoded_from="megatron")
