"""Settings of a run that turns documents into files of ids."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from jeton.corpus.record_documents import OnBadRecord
from jeton.datasets.formats import FORMATS
from jeton.errors import UsageError

DataFormat = Literal[
    "megatron", "numpy", "parquet", "arrow", "mds", "litdata", "datatrove", "nanochat"
]
"""File formats that a training program reads."""

FORMAT_NAMES: tuple[DataFormat, ...] = get_args(DataFormat)

DatasetColumn = Literal["attention_mask", "labels"]
"""Columns beside ``input_ids``."""

RECORD_COLUMNS = (
    "source", "record", "fields", "input_ids", "attention_mask", "labels",
)  # fmt: skip
"""Columns of a set that tells of records; ``fields``: all fields, as JSON."""

DIGESTS = ("crc32", "sha256")


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    """Settings on which the bytes of a data set depend, beside inputs and tokenizer.

    Attributes:
        format: The format of the files.
        append_eos: Every document ends with the tokenizer's end token, once.
        prepend_bos: Every document begins with the tokenizer's beginning token, once.
        use_template: Put the special tokens of the tokenizer's own template around documents.
        eos_token: The end token, where the tokenizer's own is not meant.
        bos_token: The beginning token, where the tokenizer's own is not meant.
        shard_tokens: Most tokens in a shard; a longer document has a shard of its own. 0: the
            format's default.
        columns: Parquet and Arrow: columns beside ``input_ids``.
        label_mask: NumPy: write which tokens are labels, one byte each, beside each shard.
        shuffle_seed: Order of the documents, drawn by this number; None: the order of the inputs.
        digest: Digest of each file in the manifest: ``crc32`` or ``sha256``.
        field: Field that holds the text of records.
        documents: Document of a text file: the whole file, or each line.
        input_format: Format of the inputs; empty: their names tell.
        strict: Bytes that are not UTF-8 are an error.
        on_bad_record: ``"stop"`` or ``"skip"`` at records that cannot be used.
        guard: Policy of the guard for each document, as ``Policy.to_json`` writes it; empty: none.
        keep: Fields of records that are written beside their ids.
        keep_all: All fields but the text are.
    """

    format: DataFormat = "megatron"
    append_eos: bool = False
    prepend_bos: bool = False
    use_template: bool = True
    eos_token: str = ""
    bos_token: str = ""
    shard_tokens: int = 0
    columns: tuple[DatasetColumn, ...] = ()
    label_mask: bool = False
    shuffle_seed: int | None = None
    digest: str = "crc32"
    field: str = "text"
    documents: Literal["file", "line"] = "file"
    input_format: str = ""
    strict: bool = False
    on_bad_record: OnBadRecord = "stop"
    guard: str = ""
    keep: tuple[str, ...] = ()
    keep_all: bool = False

    @property
    def keeps_records(self) -> bool:
        """True if something tells of each document's record."""
        return bool(self.keep) or self.keep_all

    def check(self) -> None:
        """Refuse settings that contradict one another.

        Raises:
            UsageError: They do; the message names them.
        """
        if self.format not in FORMAT_NAMES:
            raise UsageError(
                f"the format is {self.format!r}; expected one of {', '.join(FORMAT_NAMES)}"
            )
        if self.shard_tokens < 0:
            raise UsageError(f"shard_tokens is {self.shard_tokens:,}; expected at least 1")
        if self.documents not in ("file", "line"):
            raise UsageError(f"documents is {self.documents!r}; expected 'file' or 'line'")
        if self.digest not in DIGESTS:
            raise UsageError(f"the digest is {self.digest!r}; expected {' or '.join(DIGESTS)}")
        unknown = [name for name in self.columns if name not in ("attention_mask", "labels")]
        if unknown:
            raise UsageError(
                f"there is no column {unknown[0]!r}; expected attention_mask or labels "
                "(input_ids is always written)"
            )
        kind = FORMATS[self.format]
        if self.columns and not kind.takes_columns:
            raise UsageError(
                f"columns are for the formats parquet and arrow; the format is {self.format}"
            )
        if self.keeps_records and kind.holds_text:
            raise UsageError(
                "files for nanochat hold text alone; fields of records cannot be kept\n"
                "hint: leave keep out, or choose another format"
            )
        if taken := {*self.keep} & {*RECORD_COLUMNS}:
            raise UsageError(f"a column {taken.pop()!r} is written already; keep another field")
        if self.label_mask and not kind.takes_label_mask:
            raise UsageError(f"a label mask is for the format numpy; the format is {self.format}")

    def to_dict(self) -> dict[str, Any]:
        """The settings by name, as a manifest has them."""
        told = {**asdict(self), "columns": list(self.columns), "keep": list(self.keep)}
        if not self.keeps_records:
            # A run without them has the manifest that it always had.
            del told["keep"], told["keep_all"]
        return told

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> DatasetOptions:
        """The settings of a manifest."""
        lists = {name: tuple(fields.get(name, ())) for name in ("columns", "keep")}
        return cls(**{**fields, **lists})
