"""A baseline: what a later audit is compared with. No text is in it.

A file of JSON, compressed with zstd (about 10 KB for a small corpus, about 1 MB for a large one,
and the tokenizer on top where it came from a file). It holds a `BilledSide` (the sums of the text
by part, language and feature, the billed tokens and the dollars), places and digests of documents
(`documents`), the figures of the report, and what the tokenizer was: its name, fingerprint, probe
digest and, where it was loaded from a file and not by a name that means the same everywhere, its
canonical form: files are what gets exchanged, and without the old one a change of the tokenizer
could not be told exactly from a change of the text.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from jeton._archives import HEAD_BYTES, refuse_archive
from jeton._core import Tokenizer, compress_zstd, decompress, from_canonical
from jeton._core import __version__ as jeton_version
from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.auditing.gate.collector import Collector
from jeton.auditing.gate.documents import DocumentTable
from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.side import BilledSide, price_cells
from jeton.auditing.gate.values import domain_values, report_values, side_values
from jeton.auditing.result import AuditReport
from jeton.economics.billed import BilledTable
from jeton.errors import FormatError, JetonError, RecordError, UsageError
from jeton.probe import probe_digest
from jeton.registry import load

BASELINE_SCHEMA = "jeton.baseline/3"

MAX_FILE_BYTES = 256 << 20
"""A baseline that decompresses to more was not written by us: guards against hostile files."""

_COMPRESSION_LEVEL = 9
"""Level of zstd: level 19 is five times as slow and saves 3% on digests, which do not compress."""


@dataclass(frozen=True, slots=True)
class TokenizerIdentity:
    """Identity of a tokenizer: enough to know it again and, as a rule, to load it again.

    Attributes:
        name: Its name in the report.
        asked: The user's words for it; empty for an object.
        fingerprint: SHA-256 of its canonical form.
        probe: Digest of what it does (`jeton.probe_digest`).
        canonical: Its canonical form; None where the name is enough.
    """

    name: str
    asked: str
    fingerprint: str
    probe: str
    canonical: bytes | None = None

    @classmethod
    def of(cls, tokenizer: Tokenizer, *, name: str, asked: str) -> TokenizerIdentity:
        """Identify a tokenizer; the canonical form is kept unless ``asked`` is a name."""
        return cls(
            name=name,
            asked=asked,
            fingerprint=tokenizer.fingerprint,
            probe=probe_digest(tokenizer),
            canonical=None if _is_name(asked, tokenizer) else tokenizer.to_canonical(),
        )

    def tokenizer(self) -> Tokenizer | None:
        """Load the tokenizer again; None if it is not at hand (no vocabulary of that name here)."""
        try:
            if self.canonical is not None:
                found = from_canonical(self.canonical, name=self.name)
            else:
                found = load(self.asked)
        except (JetonError, OSError):
            return None
        return found if found.fingerprint == self.fingerprint else None

    def to_plain(self) -> dict[str, str | None]:
        """As JSON values."""
        data = self.canonical
        return {
            "name": self.name,
            "asked": self.asked,
            "fingerprint": self.fingerprint,
            "probe_digest": self.probe,
            "canonical": None if data is None else base64.b64encode(data).decode("ascii"),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> TokenizerIdentity:
        """From JSON values.

        Raises:
            FormatError: The tokenizer in it is damaged.
            LookupError: Something is missing.
        """
        canonical = plain["canonical"]
        try:
            data = None if canonical is None else base64.b64decode(canonical, validate=True)
        except binascii.Error as error:
            raise FormatError(f"the tokenizer in it is damaged: {error}") from None
        return cls(
            name=str(plain["name"]),
            asked=str(plain["asked"]),
            fingerprint=str(plain["fingerprint"]),
            probe=str(plain["probe_digest"]),
            canonical=data,
        )


@dataclass(frozen=True, slots=True)
class Baseline:
    """A corpus under one tokenizer, in figures. See the module's text."""

    tokenizer: TokenizerIdentity
    values: Mapping[str, Fraction]
    side: BilledSide
    documents: DocumentTable
    jeton_version: str = jeton_version

    @classmethod
    def build(cls, report: AuditReport, collector: Collector) -> Baseline:
        """Take what an audit found, and what the collector saw of its texts.

        Raises:
            UsageError: The collector saw other texts than the report is of.
        """
        # Logs without text have no tokenizer in use, and money all the same.
        current = next((item for item in report.tokenizers if item.is_current), None)
        n_tokens = 0 if current is None else current.n_tokens
        seen = collector.current
        whole = seen.statistics.total()
        if (whole.n, whole.n_tokens[0]) != (report.corpus.n_documents, n_tokens):
            raise UsageError(
                f"the gate saw {whole.n:,} documents of {whole.n_tokens[0]:,} tokens, "
                f"the report is of {report.corpus.n_documents:,} of {n_tokens:,}; expected "
                "the same pass\nhint: hand the collector to the audit as one of its observers"
            )
        ledger = report.ledger
        side = BilledSide(
            seen.statistics,
            # Documents are sent once each: their tokens are those that are counted. A merge leaves
            # out the dollars of the parts, which the prices have.
            BilledTable() if report.requests is None else report.billed.merge(BilledTable()),
            {} if ledger is None else price_cells(ledger),
            "" if ledger is None else ledger.price_source,
            collector.beginnings.shared(seen.tokenizer),
        )
        # The gate's own sums are rational numbers where the report has floats.
        values = report_values(report) | domain_values(side.text)
        values |= side_values(side, values)
        identity = TokenizerIdentity.of(seen.tokenizer, name=seen.name, asked=collector.asked)
        return cls(identity, values, side, seen.documents)

    def merge(self, other: Baseline) -> Baseline:
        """The baseline of both corpora together, as if they had been audited at once.

        Figures of the report that are no function of the gate's sums (memory, findings, money of a
        period) are dropped.

        Raises:
            UsageError: The tokenizers differ.
        """
        if self.tokenizer.fingerprint != other.tokenizer.fingerprint:
            raise UsageError(
                f"cannot merge a baseline of {self.tokenizer.name!r} with one of "
                f"{other.tokenizer.name!r}; expected the same tokenizer"
            )
        side = self.side.merge(other.side)
        return replace(
            self,
            values=domain_values(side.text) | side_values(side, {}),
            side=side,
            documents=self.documents.merge(other.documents),
        )

    def to_bytes(self) -> bytes:
        """The file: the same bytes for the same figures."""
        plain = {
            "schema_version": BASELINE_SCHEMA,
            "jeton_version": self.jeton_version,
            "tokenizer": self.tokenizer.to_plain(),
            "steps": list(STEPS),
            # Numerator and denominator: nothing is lost, and any language reads it.
            "values": {
                name: [str(value.numerator), str(value.denominator)]
                for name, value in sorted(self.values.items())
            },
            "side": self.side.to_plain(),
            "documents": self.documents.to_plain(),
        }
        text = json.dumps(plain, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        return compress_zstd(text.encode("ascii"), level=_COMPRESSION_LEVEL)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all.

        Raises:
            OSError: It cannot be written.
        """
        write_whole(Path(path), self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str | None = None) -> Baseline:
        """Read what `to_bytes` wrote, compressed or not.

        Raises:
            FormatError: It is no baseline, or one of another version.
            LimitError: It decompresses to more than `MAX_FILE_BYTES`.
        """
        where = path or "the baseline"
        try:
            text = decompress(data, max_bytes=MAX_FILE_BYTES, path=path)
        except RecordError as error:
            raise FormatError(str(error), path=path) from None
        try:
            refuse_archive(path or "", bytes(text[:HEAD_BYTES]), expected="a baseline")
            plain = json_of(text)
        except RecordError as error:
            raise FormatError(str(error), path=path) from None
        except (ValueError, RecursionError):
            raise FormatError(
                f"{where} is no baseline: not JSON\n"
                "hint: `jeton audit ... --save-baseline F` writes one",
                path=path,
            ) from None
        version = plain.get("schema_version") if isinstance(plain, dict) else None
        if version != BASELINE_SCHEMA:
            raise FormatError(
                f"{where} has the schema {version!r}; expected {BASELINE_SCHEMA!r}\n"
                "hint: save the baseline again with this version of jeton",
                path=path,
            )
        try:
            if plain["steps"] != list(STEPS):
                raise FormatError(f"{where} was made with other rewritings; save it again")
            return cls(
                tokenizer=TokenizerIdentity.from_plain(plain["tokenizer"]),
                values={str(name): _fraction(pair) for name, pair in plain["values"].items()},
                side=BilledSide.from_plain(plain["side"]),
                documents=DocumentTable.from_plain(plain["documents"]),
                jeton_version=str(plain["jeton_version"]),
            )
        except FormatError as error:
            raise FormatError(f"{where}: {error}", path=path) from None
        except (LookupError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            raise FormatError(f"{where} is damaged: {error!r}", path=path) from None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Baseline:
        """Read a file.

        Raises:
            FileNotFoundError: There is none; the message says how to make it.
            FormatError: It is no baseline.
            RecordError: It is an archive.
        """
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no baseline {os.fspath(path)}\n"
                "hint: make it with --save-baseline on the corpus as it should be"
            ) from None
        # Compressed: bytes of any value.
        refuse_archive(os.fspath(path), data[:HEAD_BYTES], expected="a baseline", is_text=False)
        return cls.from_bytes(data, path=os.fspath(path))


def _fraction(pair: Any) -> Fraction:
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(x, str) for x in pair):
        raise FormatError(f"a value is {pair!r}; expected two numbers as strings")
    return Fraction(int(pair[0]), int(pair[1]))


def _is_name(asked: str, tokenizer: Tokenizer) -> bool:
    """True if loading ``asked`` again gives this tokenizer, wherever its vocabulary is at hand."""
    if not asked or Path(asked).exists():
        return False
    try:
        return load(asked).fingerprint == tokenizer.fingerprint
    except (JetonError, OSError):
        return False
