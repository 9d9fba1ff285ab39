"""Data sets read again: files, ids, counts, and a sample of documents against the sources."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from jeton.corpus import Format, InputFile, expand_inputs
from jeton.corpus.inputs import STANDARD_INPUT
from jeton.corpus.objects import state_of
from jeton.corpus.parquet import ParquetDocuments
from jeton.datasets.boundaries import BoundaryTokens
from jeton.datasets.foreign import find_pairs, verify_pair
from jeton.datasets.formats import FORMATS, ShardFormat, ShardLayout, ShardRecord
from jeton.datasets.formats.base import FileDigest, ShardIds, documents_of
from jeton.datasets.id_checks import DatasetCheck, FaultLog, IdChecker, IdExpectation
from jeton.datasets.manifest import MANIFEST_NAME, DatasetManifest
from jeton.datasets.options import DatasetOptions
from jeton.datasets.reading import BATCH_BYTES, read_unit
from jeton.datasets.shuffling import document_keys
from jeton.datasets.units import plan_units
from jeton.errors import FormatError, InvalidTextError, JetonError, RecordError
from jeton.registry import load
from jeton.registry.resolving import TokenizerLike, resolve

if TYPE_CHECKING:
    from jeton._core import Tokenizer

DIGEST_BYTES = 4 << 20


def verify_dataset(
    path: str | os.PathLike[str],
    *,
    tokenizer: TokenizerLike | None = None,
    append_eos: bool = False,
    prepend_bos: bool = False,
    eos_token: str = "",
    bos_token: str = "",
    sample: int = 1000,
) -> DatasetCheck:
    """Read a data set again, and return what is wrong with it.

    Files must be there with their digests; ids must be in the vocabulary; every document must
    begin and end as the manifest says; counts must be those of the sources, which are read again;
    a sample of documents is tokenized again and compared, id by id. Pairs of ``.bin`` and ``.idx``
    of other tools are checked by what they and the tokenizer say.

    Args:
        path: A folder that ``tokenize_dataset`` wrote, or ``.bin``/``.idx`` of another tool.
        tokenizer: The tokenizer; by default the one that the manifest names.
        append_eos: Files of other tools: every document should end with the end token.
        prepend_bos: Files of other tools: every document should begin with the beginning token.
        eos_token: The end token, where the tokenizer's own is not meant.
        bos_token: The beginning token, where the tokenizer's own is not meant.
        sample: Documents that are compared with the sources, spread evenly.

    Raises:
        FileNotFoundError: There is no data set.
        OSError: A file cannot be read.
        UsageError: The tokenizer lacks a token that is asked for.

    Example:
        >>> import tempfile, jeton
        >>> folder = tempfile.mkdtemp() + "/tokens"
        >>> made = jeton.tokenize_dataset(
        ...     iter(["Hello there"]), tokenizer="jeton-general-32k", output=folder, append_eos=True
        ... )
        >>> check = jeton.verify_dataset(folder)
        >>> check.is_fine, check.n_with_eos
        (True, 1)
    """
    place = Path(path)
    if place.name == MANIFEST_NAME:
        place = place.parent
    given = None if tokenizer is None else resolve(tokenizer)
    if (place / MANIFEST_NAME).is_file():
        return _Verification(place, given, sample).run()
    options = DatasetOptions(
        append_eos=append_eos, prepend_bos=prepend_bos, eos_token=eos_token, bos_token=bos_token
    )
    checks = [verify_pair(pair, given, options) for pair in find_pairs(place)]
    return _together(str(path), checks)


def _together(path: str, checks: list[DatasetCheck]) -> DatasetCheck:
    if len(checks) == 1:
        return checks[0]
    return DatasetCheck(
        path=path,
        n_tokens=sum(check.n_tokens for check in checks),
        n_documents=sum(check.n_documents for check in checks),
        n_with_bos=sum(check.n_with_bos for check in checks),
        n_with_eos=sum(check.n_with_eos for check in checks),
        faults=tuple(fault for check in checks for fault in check.faults),
        n_faults=sum(check.n_faults for check in checks),
        notes=tuple(note for check in checks for note in check.notes),
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A document that is compared: its place in the data set, and the ids or the text there."""

    place: int
    shard: str
    document: int
    ids: NDArray[Any]
    text: str | None = None


class _Verification:
    def __init__(self, folder: Path, tokenizer: Tokenizer | None, sample: int) -> None:
        self._folder, self._sample = folder, sample
        self._log = FaultLog()
        self._manifest = DatasetManifest.read(folder)
        self._options = self._manifest.options
        self._facts: dict[str, Any] = self._manifest.plan["tokenizer"]
        self._tokenizer = self._check_tokenizer(tokenizer)
        self._kind: ShardFormat = FORMATS[self._options.format]
        self._layout = ShardLayout(
            folder,
            np.dtype(self._manifest.dtype),
            self._options,
            str(self._facts["name"]),
            int(self._facts["vocab_size"]),
        )
        before, behind = self._facts["before"], self._facts["behind"]
        self._eos_id = int(behind[-1]) if behind else None
        expected = IdExpectation.of(
            self._tokenizer,
            bos_id=int(before[0]) if before else None,
            eos_id=self._eos_id,
            n_special=len(before) + len(behind),
            vocab_size=self._layout.vocab_size,
        )
        self._checker = IdChecker(expected, self._log)
        self._n_compared = 0
        self._n_texts = 0

    def run(self) -> DatasetCheck:
        """All checks."""
        log, manifest = self._log, self._manifest
        wanted: list[_Wanted] = []
        places = self._wanted_places()
        n_before = 0
        for shard in manifest.shards:
            if self._check_files(shard):
                check = self._check_texts if self._kind.holds_text else self._check_shard
                wanted += check(shard, n_before, places)
            n_before += shard.n_documents
        for name in manifest.other_files:
            if not (self._folder / name).is_file():
                log.add("missing_file", name, "", "the manifest lists it, and it is not there")
        if self._kind.holds_text:
            log.notes.append(
                "files for nanochat hold text: texts are compared, and there are no ids"
            )
        self._compare(wanted)
        is_text = self._kind.holds_text
        return DatasetCheck(
            path=str(self._folder),
            n_tokens=manifest.n_tokens if is_text else self._checker.n_tokens,
            n_documents=self._n_texts if is_text else self._checker.n_documents,
            n_compared=self._n_compared,
            n_with_bos=self._checker.n_with_bos,
            n_with_eos=self._checker.n_with_eos,
            faults=tuple(log.found),
            n_faults=log.n,
            notes=tuple(log.notes),
        )

    def _check_tokenizer(self, tokenizer: Tokenizer | None) -> Tokenizer | None:
        name, fingerprint = str(self._facts["name"]), str(self._facts["fingerprint"])
        if tokenizer is None and name:
            try:
                tokenizer = load(name)
            except (JetonError, OSError) as error:
                first_line = str(error).splitlines()[0]
                self._log.notes.append(
                    f"the tokenizer {name} cannot be loaded ({first_line}): documents are not "
                    "compared; --tokenizer names it"
                )
                return None
        if tokenizer is None:
            self._log.notes.append("no tokenizer is known: documents are not compared")
            return None
        if tokenizer.fingerprint != fingerprint:
            self._log.add(
                "other_tokenizer",
                MANIFEST_NAME,
                "",
                f"it was made by {name or 'a tokenizer'} {fingerprint[:12]}; "
                f"{tokenizer.name or 'this one'} is {tokenizer.fingerprint[:12]}",
            )
            return None
        around = BoundaryTokens(tuple(self._facts["before"]), tuple(self._facts["behind"]))
        return around.guard(tokenizer)

    def _wanted_places(self) -> NDArray[np.int64]:
        """Numbers of the documents that are compared, spread evenly over the data set."""
        n = self._manifest.n_documents
        if self._tokenizer is None or not n or not self._sample:
            return np.zeros(0, dtype=np.int64)
        if self._sample >= n:
            return np.arange(n, dtype=np.int64)
        return np.unique(np.linspace(0, n - 1, self._sample).astype(np.int64))

    def _check_files(self, shard: ShardRecord) -> bool:
        is_there = True
        for file in shard.files:
            path = self._folder / file.name
            try:
                n_bytes = path.stat().st_size
            except OSError:
                self._log.add(
                    "missing_file", file.name, "", "the manifest lists it, and it is not there"
                )
                is_there = False
                continue
            if n_bytes != file.n_bytes:
                self._log.add(
                    "wrong_size",
                    file.name,
                    "",
                    f"it has {n_bytes:,} bytes; the manifest tells of {file.n_bytes:,}",
                )
            elif digest_of(path, file.digest.partition(":")[0]) != file.digest:
                self._log.add(
                    "wrong_digest", file.name, "", "its bytes are not those that were written"
                )
        return is_there

    def _check_shard(
        self, shard: ShardRecord, n_before: int, places: NDArray[np.int64]
    ) -> list[_Wanted]:
        name = shard.files[0].name
        wanted: list[_Wanted] = []
        n_documents = n_tokens = 0
        try:
            for block in documents_of(self._kind, self._layout, shard, self._eos_id):
                self._checker.look(name, n_documents, block)
                wanted += _wanted_of(block, name, n_before, n_documents, places)
                n_documents += len(block.offsets) - 1
                n_tokens += len(block.ids)
        except FormatError as error:
            can_be_read = self._options.format != "numpy" or self._eos_id is not None
            if can_be_read:
                self._log.add("damaged_file", name, "", str(error))
            else:
                self._log.notes.append(str(error).splitlines()[0])
            return wanted
        for what, found, told in (
            ("documents", n_documents, shard.n_documents),
            ("tokens", n_tokens, shard.n_tokens),
        ):
            if found != told:
                self._log.add(
                    f"missing_{what}" if found < told else f"surplus_{what}",
                    name,
                    "",
                    f"it has {found:,} {what}; the manifest tells of {told:,}",
                )
        return wanted

    def _check_texts(
        self, shard: ShardRecord, n_before: int, places: NDArray[np.int64]
    ) -> list[_Wanted]:
        """As ``_check_shard``, for files that hold text."""
        name = shard.files[0].name
        start, stop = np.searchsorted(places, [n_before, n_before + shard.n_documents]).tolist()
        chosen = set(places[start:stop].tolist())
        wanted: list[_Wanted] = []
        n_documents = 0
        try:
            for batch, _ in ParquetDocuments(
                str(self._folder / name), field="text", strict=True, batch_bytes=BATCH_BYTES
            ):
                for text in batch:
                    place = n_before + n_documents
                    if place in chosen:
                        none = np.zeros(0, dtype=np.int64)
                        wanted.append(_Wanted(place, name, n_documents, none, text))
                    n_documents += 1
        except (RecordError, InvalidTextError) as error:
            self._log.add("damaged_file", name, "", str(error))
            return wanted
        self._n_texts += n_documents
        if n_documents != shard.n_documents:
            what = "missing" if n_documents < shard.n_documents else "surplus"
            self._log.add(
                f"{what}_documents",
                name,
                "",
                f"it has {n_documents:,} documents; the manifest tells of {shard.n_documents:,}",
            )
        return wanted

    def _compare(self, wanted: list[_Wanted]) -> None:
        """Read the sources again: count their documents, tokenize the sample again."""
        files = self._sources()
        if files is None or self._tokenizer is None:
            return
        by_source = self._by_source(wanted)
        numbers = np.array(sorted(by_source), dtype=np.int64)
        n_read = n_kept = 0
        states = [None] * len(files)
        for unit in plan_units(files, self._options):
            for text in read_unit(unit, files, states, self._options):
                n = len(text.texts)
                n_read += n
                counts = self._tokenizer.count_batch(text.texts)
                places = np.flatnonzero(counts > 0)
                inside = np.arange(n_kept, n_kept + len(places))
                for i in np.flatnonzero(np.isin(inside, numbers)).tolist():
                    self._compare_one(by_source[n_kept + i], text.texts[int(places[i])])
                n_kept += len(places)
        for what, found, told in (
            ("documents were read", n_read, self._manifest.counts.n_documents),
            ("documents with text", n_kept, self._manifest.n_documents),
        ):
            if found != told:
                self._log.add(
                    "missing_documents" if found > told else "surplus_documents",
                    MANIFEST_NAME,
                    "",
                    f"{what}: the sources have {found:,}, the data set {told:,}",
                )

    def _by_source(self, wanted: list[_Wanted]) -> dict[int, _Wanted]:
        """The documents that are compared, by their number in the sources."""
        seed = self._options.shuffle_seed
        if seed is None:
            return {item.place: item for item in wanted}
        n = self._manifest.n_documents
        order = np.argsort(document_keys(seed, 0, n), kind="stable")
        return {int(order[item.place]): item for item in wanted if item.place < n}

    def _compare_one(self, wanted: _Wanted, text: str) -> None:
        assert self._tokenizer is not None
        self._n_compared += 1
        if wanted.text is not None:
            if wanted.text != text:
                self._log.add(
                    "other_document",
                    wanted.shard,
                    f"document {wanted.document:,}",
                    f"its text {wanted.text[:40]!r} is not the source's {text[:40]!r}",
                )
            return
        before, behind = self._facts["before"], self._facts["behind"]
        expected = np.array([*before, *self._tokenizer.encode(text), *behind], dtype=np.int64)
        if np.array_equal(expected, wanted.ids.astype(np.int64)):
            return
        n = min(len(expected), len(wanted.ids))
        differs = np.flatnonzero(expected[:n] != wanted.ids[:n].astype(np.int64))
        at = int(differs[0]) if len(differs) else n
        self._log.add(
            "other_document",
            wanted.shard,
            f"document {wanted.document:,}, token {at:,}",
            f"its {len(wanted.ids):,} ids are not the {len(expected):,} of the source's text "
            f"{text[:40]!r}",
        )

    def _sources(self) -> tuple[InputFile, ...] | None:
        """The sources as they were; None where one is gone or changed."""
        log = self._log
        if "transcoded_from" in self._manifest.plan["tokenizer"]:
            log.notes.append("it was transcoded: its documents are not compared with texts")
            return None
        found: list[InputFile] = []
        for source in self._manifest.plan["inputs"]:
            path = str(source["path"])
            if source["changed"] is None or path == STANDARD_INPUT:
                log.notes.append(f"{path} cannot be read again: documents are not compared")
                return None
            try:
                state = state_of(path)
                file_format = cast("Format | None", self._options.input_format or None)
                files = expand_inputs(path, format=file_format)
            except (OSError, JetonError):
                log.notes.append(f"the source {path} is gone: documents are not compared")
                return None
            if state != (source["n_bytes"], source["changed"]):
                log.notes.append(f"the source {path} was changed: documents are not compared")
                return None
            found += files
        return tuple(found)


def _wanted_of(
    block: ShardIds, name: str, n_before: int, n_done: int, places: NDArray[np.int64]
) -> Iterator[_Wanted]:
    n = len(block.offsets) - 1
    first = n_before + n_done
    start, stop = np.searchsorted(places, [first, first + n]).tolist()
    for place in places[start:stop].tolist():
        i = place - first
        ids = np.array(block.ids[int(block.offsets[i]) : int(block.offsets[i + 1])])
        yield _Wanted(place, name, n_done + i, ids)


def digest_of(path: Path, kind: str) -> str:
    """Return the digest of a file."""
    digest = FileDigest(kind)
    with path.open("rb") as stream:
        while block := stream.read(DIGEST_BYTES):
            digest.update(block)
    return str(digest)
