"""The lock file: made from tokenizers, written as JSON that a diff shows well, read back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton._files import write_whole
from jeton._foreign import json_of
from jeton._plain import strict_json
from jeton.errors import FormatError, UsageError
from jeton.locking.behaviour import Behaviour, LockedFile, components_of, files_of, library_versions
from jeton.locking.workload import LockedWorkload, Traffic, measure_workload
from jeton.probe import probe_digest, probe_texts
from jeton.registry import TokenizerLike, resolve, several, written

LOCK_SCHEMA = "jeton.lock/1"

MAX_FILE_BYTES = 256 << 20
"""A lock that is larger was not written by us."""

MAX_CANARIES = 10_000
"""Texts of one's own: strings that must not change, not a corpus (that is the workload)."""


@dataclass(frozen=True, slots=True)
class LockedTokenizer:
    """One tokenizer as it was.

    Attributes:
        asked: The name or path by which it is loaded; what identifies it in the lock.
        name: Its own name.
        fingerprint: SHA-256 of its canonical form.
        algorithm: ``"bpe"`` and so on.
        vocab_size: One past its highest id.
        files: The files that it was read from.
        special_tokens: Text and id of each, by id.
        components: Its configuration, part by part.
        probe_digest: Digest of the ids of the probe texts.
        probe: Its results on them.
        canary: Its results on the user's own texts.
    """

    asked: str
    name: str
    fingerprint: str
    algorithm: str
    vocab_size: int
    files: tuple[LockedFile, ...]
    special_tokens: tuple[tuple[str, int], ...]
    components: Mapping[str, Any]
    probe_digest: str
    probe: Behaviour
    canary: Behaviour

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        *,
        asked: str,
        files: tuple[LockedFile, ...],
        canaries: Sequence[str],
    ) -> LockedTokenizer:
        """Look at a tokenizer."""
        return cls(
            asked=asked,
            name=tokenizer.name or asked,
            fingerprint=tokenizer.fingerprint,
            algorithm=tokenizer.algorithm,
            vocab_size=tokenizer.vocab_size,
            files=files,
            special_tokens=tuple(
                sorted(tokenizer.special_tokens.items(), key=lambda item: (item[1], item[0]))
            ),
            components=components_of(tokenizer),
            probe_digest=probe_digest(tokenizer),
            probe=Behaviour.of(tokenizer, probe_texts()),
            canary=Behaviour.of(tokenizer, canaries),
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "asked": self.asked,
            "name": self.name,
            "fingerprint": self.fingerprint,
            "algorithm": self.algorithm,
            "vocab_size": self.vocab_size,
            "files": [
                {"name": f.name, "sha256": f.sha256, "n_bytes": f.n_bytes} for f in self.files
            ],
            "special_tokens": [list(token) for token in self.special_tokens],
            "components": dict(self.components),
            "probe_digest": self.probe_digest,
            "probe": self.probe.to_plain(),
            "canary": self.canary.to_plain(),
        }

    @classmethod
    def from_plain(cls, plain: Any) -> LockedTokenizer:
        """From JSON values.

        Raises:
            FormatError: They are none.
        """
        return cls(
            asked=str(plain["asked"]),
            name=str(plain["name"]),
            fingerprint=str(plain["fingerprint"]),
            algorithm=str(plain["algorithm"]),
            vocab_size=int(plain["vocab_size"]),
            files=tuple(
                LockedFile(str(f["name"]), str(f["sha256"]), int(f["n_bytes"]))
                for f in plain["files"]
            ),
            special_tokens=tuple(
                (str(content), int(id_)) for content, id_ in plain["special_tokens"]
            ),
            components=dict(plain["components"]),
            probe_digest=str(plain["probe_digest"]),
            probe=Behaviour.from_plain(plain["probe"]),
            canary=Behaviour.from_plain(plain["canary"]),
        )


@dataclass(frozen=True, slots=True)
class Lock:
    """All of a lock file.

    Attributes:
        tokenizers: In the order in which they were asked for.
        canaries: Texts of one's own; they stand in the file.
        libraries: Versions of the libraries around.
        workload: Tokens of real text; None: not asked for.
    """

    tokenizers: tuple[LockedTokenizer, ...]
    canaries: tuple[str, ...]
    libraries: Mapping[str, str]
    workload: LockedWorkload | None = None

    def to_json(self) -> str:
        """The file: JSON with one value a line, in one order."""
        plain = {
            "schema_version": LOCK_SCHEMA,
            "libraries": dict(sorted(self.libraries.items())),
            "canaries": list(self.canaries),
            "workload": None if self.workload is None else self.workload.to_plain(),
            "tokenizers": [tokenizer.to_plain() for tokenizer in self.tokenizers],
        }
        return strict_json(plain, indent=1, ascii_only=True) + "\n"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all.

        Raises:
            OSError: It cannot be written.
        """
        write_whole(Path(path), self.to_json())

    @classmethod
    def from_json(cls, text: str | bytes, *, path: str | None = None) -> Lock:
        """Read what `to_json` wrote.

        Raises:
            FormatError: It is no lock, or one of another version.
        """
        where = path or "the lock"
        try:
            plain = json_of(text)
        except (ValueError, RecursionError):
            raise FormatError(
                f"{where} is no lock: not JSON\nhint: `jeton lock TOKENIZER` writes one", path=path
            ) from None
        version = plain.get("schema_version") if isinstance(plain, dict) else None
        if version != LOCK_SCHEMA:
            raise FormatError(
                f"{where} has the schema {version!r}; expected {LOCK_SCHEMA!r}\n"
                "hint: lock again with this version of jeton",
                path=path,
            )
        try:
            lock = cls(
                tokenizers=tuple(LockedTokenizer.from_plain(item) for item in plain["tokenizers"]),
                canaries=tuple(str(text) for text in plain["canaries"]),
                libraries={str(k): str(v) for k, v in plain["libraries"].items()},
                workload=(
                    None
                    if plain["workload"] is None
                    else LockedWorkload.from_plain(plain["workload"])
                ),
            )
        except FormatError as error:
            raise FormatError(f"{where}: {error}", path=path) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"{where} is damaged: {error!r}", path=path) from None
        for tokenizer in lock.tokenizers:
            if len(tokenizer.canary.texts) != len(lock.canaries):
                raise FormatError(
                    f"{where} has {len(lock.canaries)} canaries, of which "
                    f"{tokenizer.asked!r} knows {len(tokenizer.canary.texts)}",
                    path=path,
                )
        return lock

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Lock:
        """Read a file.

        Raises:
            FileNotFoundError: There is none; the message says how to make it.
            FormatError: It is no lock.
        """
        place = Path(path)
        try:
            if place.stat().st_size > MAX_FILE_BYTES:
                raise FormatError(f"{place} is larger than any lock", path=str(place))
            data = place.read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no lock {place}\nhint: `jeton lock TOKENIZER -o {place}` makes it"
            ) from None
        return cls.from_json(data, path=str(place))


def make_lock(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    *,
    tokenizers: Iterable[TokenizerLike] | TokenizerLike,
    canaries: Sequence[str] = (),
    field: str = "text",
    documents: str = "file",
    traffic: Traffic | None = None,
    num_threads: int | None = None,
) -> Lock:
    """Lock tokenizers.

    Args:
        inputs: Files whose tokens are counted, for the money of a change; none is needed.
        tokenizers: Names, paths or objects, each once. An object without a file is locked by its
            name and by what it does.
        canaries: Texts of one's own whose ids must not change unnoticed.
        field: Field of the text in JSONL and Parquet.
        documents: ``file`` or ``line``: what a document is in plain text.
        traffic: Price and requests a day of such documents.
        num_threads: Threads of the core; None: all.

    Raises:
        UnknownTokenizerError: A name is not known.
        UsageError: None was given, one twice, or too many canaries.
    """
    given = several(tokenizers)
    if not given:
        raise UsageError("no tokenizer was given to lock; expected at least one")
    names = [written(tokenizer) for tokenizer in given]
    if len(set(names)) != len(names):
        raise UsageError("a tokenizer was given twice; expected each one once")
    if len(canaries) > MAX_CANARIES:
        raise UsageError(
            f"{len(canaries):,} canaries are too many; expected at most {MAX_CANARIES:,}\n"
            "hint: a corpus is counted with --corpus"
        )
    one_or_more = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    paths = [os.fspath(path) for path in one_or_more]
    if traffic is not None and not paths:
        raise UsageError("a price without a corpus prices nothing\nhint: --corpus names the files")
    loaded = {
        name: resolve(tokenizer, argument="tokenizers")
        for name, tokenizer in zip(names, given, strict=True)
    }
    files = {
        name: () if isinstance(of, Tokenizer) else files_of(name)
        for name, of in zip(names, given, strict=True)
    }
    workload = None
    if paths:
        workload = measure_workload(
            paths,
            loaded,
            field=field,
            documents=documents,
            traffic=traffic,
            num_threads=num_threads,
        )
    return Lock(
        tokenizers=tuple(
            LockedTokenizer.of(tokenizer, asked=asked, files=files[asked], canaries=canaries)
            for asked, tokenizer in loaded.items()
        ),
        canaries=tuple(canaries),
        libraries=library_versions(),
        workload=workload,
    )


def remake(lock: Lock, *, num_threads: int | None = None) -> Lock:
    """The lock of today of the same tokenizers, canaries and inputs.

    Inputs that are no longer there are left out, with the workload.

    Raises:
        UnknownTokenizerError: A tokenizer is no longer there.
        OSError: A file cannot be read.
    """
    inputs: Sequence[str] = ()
    workload = lock.workload
    if workload is not None and all(Path(path).exists() for path in workload.inputs):
        inputs = workload.inputs
    return make_lock(
        inputs,
        tokenizers=[tokenizer.asked for tokenizer in lock.tokenizers],
        canaries=lock.canaries,
        field="text" if workload is None else workload.field,
        documents="file" if workload is None else workload.documents,
        traffic=workload.traffic if workload is not None and inputs else None,
        num_threads=num_threads,
    )
