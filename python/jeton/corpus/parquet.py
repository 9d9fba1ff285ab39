"""Documents of a Parquet file, through pyarrow (the extra ``parquet``).

Only the wanted column is read, row group by row group. The column goes to the core through the
Arrow C data interface, without becoming Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jeton._core import TextBatch, decompress
from jeton.corpus.lookup import first_keys, value_at
from jeton.corpus.places import (
    ID_COLUMNS,
    KeptFields,
    LeftOutRecord,
    OnLeftOut,
    RecordPlaces,
    record_id,
)
from jeton.errors import MissingExtraError, RecordError

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS_PER_READ = 1_024
"""Rows taken from pyarrow at a time. The file's index states sizes before dictionaries are
resolved, where a long text that repeats counts once; so rows are read in small steps and joined
until a batch is full, and a batch cannot be many times larger than asked for."""

DEFAULT_MAX_DECOMPRESSED_BYTES = 1 << 30
"""1 GiB: a Parquet file inside zstd or gzip has to be decompressed whole, because its index is at
its end."""

_MAGIC = b"PAR1"


class ParquetDocuments:
    """Iterates over ``(batch, n_nulls)``; rows without a text are left out and counted."""

    def __init__(
        self,
        path: str,
        *,
        field: str,
        domain_field: str = "",
        strict: bool,
        batch_bytes: int,
        max_decompressed_bytes: int | None = None,
        with_places: bool = False,
        keep: KeptFields | None = None,
        on_left_out: OnLeftOut | None = None,
        row_groups: Sequence[int] | None = None,
    ) -> None:
        """Open the file and find the column; with ``domain_field`` that of the domains too.

        ``with_places`` reads the columns that name a record, for ``batch_places``, and ``keep``
        those that are kept. ``on_left_out``: called with each row without a text. ``row_groups``:
        only these are read.

        Raises:
            MissingExtraError: pyarrow is not installed.
            RecordError: Not a Parquet file, no such column, or not one of strings.
            OSError: The file cannot be read.
        """
        try:
            import pyarrow.parquet as pq
        except ImportError as error:
            raise MissingExtraError("reading Parquet", extra="parquet") from error
        self._path = path
        self._strict = strict
        self._field = field
        source, self._n_stored_bytes = _open(path, max_decompressed_bytes)
        with _explained(path):
            self._file = pq.ParquetFile(source, pre_buffer=False)
            schema = self._file.schema_arrow
        # A column whose name has a dot in it goes before a field of a struct.
        self._keys = [field] if field in schema.names else field.split(".")
        # Lists, and keys with dots inside of a struct, are looked into row by row.
        self._by_rows = self._is_by_rows(schema)
        if not self._by_rows:
            self._check(schema)
        is_column = domain_field in schema.names
        self._domain_keys = [domain_field] if is_column else domain_field.split(".")
        self._has_domains = bool(domain_field) and _leads_somewhere(schema, self._domain_keys)
        self._has_domain_field = bool(domain_field)
        self.batch_domains: list[str | None] = []
        """The domains of the texts of the batch handed out last, if a field was named."""
        self._id_columns = (
            [name for name in ID_COLUMNS if name in schema.names] if with_places else []
        )
        self._keep = keep or KeptFields()
        self._kept_columns = self._keep.columns(schema.names, field)
        self._on_left_out = on_left_out
        self._has_places = with_places or bool(self._keep) or on_left_out is not None
        self.batch_places: RecordPlaces | None = None
        """Rows and ids of the texts of the batch handed out last, if they were asked for."""
        self._batch_bytes = batch_bytes
        self._rows_per_read = self._rows_for(batch_bytes)
        self._n_rows_read = 0
        self._row_groups = row_groups
        self._first_row = 0
        if row_groups:
            metadata = self._file.metadata
            self._first_row = sum(metadata.row_group(i).num_rows for i in range(row_groups[0]))

    @property
    def n_bytes_read(self) -> int:
        """The share of the stored bytes that the rows read so far make up: for a progress bar."""
        n_rows = max(1, int(self._file.metadata.num_rows))
        return self._n_stored_bytes * self._n_rows_read // n_rows

    def __iter__(self) -> Iterator[tuple[TextBatch, int]]:
        """The batches in the order of the file.

        Raises:
            RecordError: The file is damaged.
            InvalidTextError: Under strict reading, a text is not UTF-8.
        """
        columns = [".".join(self._keys)]
        if self._has_domains:
            columns.append(".".join(self._domain_keys))
        more = (*self._id_columns, *self._kept_columns)
        columns += [name for name in dict.fromkeys(more) if name not in columns]
        reads = self._file.iter_batches(
            batch_size=self._rows_per_read, columns=columns, row_groups=self._row_groups
        )
        parts: list[Any] = []
        domains: list[str | None] = []
        places = RecordPlaces([], [], [], [])
        n_bytes = n_nulls = 0
        while True:
            with _explained(self._path):
                rows = next(reads, None)
                if rows is None:
                    break
                part, n_nulls_of_part = self._column(rows)
                if self._has_domain_field:
                    domains += self._domains(rows)
                if self._has_places:
                    places = self._places(rows, places)
            parts.append(part)
            n_nulls += n_nulls_of_part
            n_bytes += part.nbytes
            self._n_rows_read += rows.num_rows
            if n_bytes >= self._batch_bytes:
                self._set_batch(domains, places)
                yield self._batch(parts), n_nulls
                parts, domains, n_bytes, n_nulls = [], [], 0, 0
                places = RecordPlaces([], [], [], [])
        if parts:
            self._set_batch(domains, places)
            yield self._batch(parts), n_nulls

    def _set_batch(self, domains: list[str | None], places: RecordPlaces) -> None:
        self.batch_domains = domains
        if self._has_places:
            self.batch_places = places

    def _places(self, rows: pa.RecordBatch, before: RecordPlaces) -> RecordPlaces:
        """Places, with those of the rows that have a text behind those before."""
        has_text = self._values(rows).is_valid().to_pylist()
        records = rows.select(self._id_columns).to_pylist() if self._id_columns else []
        ids = [record_id(record) for record in records] or [""] * rows.num_rows
        first = self._first_row + self._n_rows_read
        found = [i for i, has in enumerate(has_text) if has]
        if self._on_left_out is not None:
            for i in range(rows.num_rows):
                if not has_text[i]:
                    number = first + i
                    reason = "the text is null"
                    self._on_left_out(LeftOutRecord(self._path, number, number + 1, reason))
        kept: list[Mapping[str, Any]] = []
        if self._keep:
            names = rows.schema.names if self._keep.every else self._kept_columns
            values = rows.select([n for n in names if n in rows.schema.names]).to_pylist()
            whole = values or [{}] * rows.num_rows
            kept = [self._keep.of(whole[i], self._field) for i in found]
        return RecordPlaces(
            [*before.lines, *(first + 1 + i for i in found)],
            [*before.ids, *(ids[i] for i in found)],
            [*before.numbers, *(first + i for i in found)],
            [*before.kept, *kept],
        )

    def _is_by_rows(self, schema: pa.Schema) -> bool:
        """True if the text lies in a list, or under a key with dots in it."""
        import pyarrow as pa

        column = next((key for key in first_keys(self._field) if key in schema.names), "")
        if not column or column == self._field:
            return False
        if "[]" not in self._field:
            if column == self._keys[0] and _leads_somewhere(schema, self._keys):
                return False
            kind = schema.field(column).type
            if pa.types.is_struct(kind):
                inside = {field.name for field in kind}
                if inside.isdisjoint(first_keys(self._field.removeprefix(f"{column}."))):
                    return False
            elif not (pa.types.is_map(kind) or _is_string(kind)):
                return False
        self._keys = [column]
        return True

    def _values(self, rows: pa.RecordBatch) -> Any:
        """The texts, or what is to become them, with nulls."""
        import pyarrow as pa

        if not self._by_rows:
            return _at(rows, self._keys)
        texts = []
        records = rows.select(self._keys).to_pylist(maps_as_pydicts="lossy")
        for i, record in enumerate(records):
            is_there, value = value_at(record, self._field)
            if value is not None and not isinstance(value, str):
                is_there = False
            if not is_there and record[self._keys[0]] is not None:
                row = self._first_row + self._n_rows_read + i + 1
                raise RecordError(
                    f"{self._path}, row {row}: no string in {self._field!r}\n"
                    "hint: name the column of the text with field= (--field)",
                    path=self._path,
                    line=row,
                )
            texts.append(value)
        return pa.array(texts, pa.large_string())

    def _batch(self, parts: list[Any]) -> TextBatch:
        import pyarrow as pa

        column = pa.concat_arrays(parts)
        # Bytes that may not be UTF-8 cannot pass as a string array.
        texts = column.to_pylist() if pa.types.is_large_binary(column.type) else column
        return TextBatch.from_texts(texts, strict=self._strict)

    def _domains(self, rows: pa.RecordBatch) -> list[str | None]:
        """The domains of the rows that have a text; None where the row or the file has none."""
        has_text = self._values(rows).is_valid()
        if not self._has_domains:
            return [None] * has_text.true_count
        found = _at(rows, self._domain_keys).filter(has_text).to_pylist()
        return [value if value is None or isinstance(value, str) else str(value) for value in found]

    def _column(self, rows: pa.RecordBatch) -> tuple[Any, int]:
        """The texts as one large (64-bit) array without nulls, and how many nulls there were."""
        import pyarrow as pa

        column = self._values(rows)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        # Offsets of 64 bits, so that joined parts cannot overflow them.
        column = column.cast(pa.large_binary() if _is_binary(column.type) else pa.large_string())
        return column.drop_null(), column.null_count

    def _check(self, schema: pa.Schema) -> None:
        """Follow the keys through the schema; each error says what there is."""
        import pyarrow as pa

        names = list(schema.names)
        found: Any = None
        for depth, key in enumerate(self._keys):
            if key not in names:
                where = f" in {'.'.join(self._keys[:depth])!r}" if depth else ""
                there = ", ".join(repr(name) for name in names)
                raise RecordError(
                    f"{self._path}: no column {self._field!r}; the columns there{where} are "
                    f"{there or 'none'}\nhint: name one with field= (--field)",
                    path=self._path,
                )
            found = schema.field(key).type if depth == 0 else found.field(key).type
            names = [child.name for child in found] if pa.types.is_struct(found) else []
        values = found.value_type if pa.types.is_dictionary(found) else found
        if pa.types.is_null(values):
            return  # a shard whose texts are all missing
        if not (_is_string(values) or _is_binary(values)):
            inner = f"; its fields are {', '.join(map(repr, names))}" if names else ""
            raise RecordError(
                f"{self._path}: the column {self._field!r} is of type {found}; "
                f"expected strings{inner}",
                path=self._path,
            )

    def _rows_for(self, batch_bytes: int) -> int:
        """Rows that make at most about one batch, from the sizes that the file's index states."""
        metadata = self._file.metadata
        path = ".".join(self._keys)
        n_bytes: int = 0
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            columns = (group.column(j) for j in range(group.num_columns))
            n_bytes += sum(
                column.total_uncompressed_size
                for column in columns
                if column.path_in_schema == path
            )
        bytes_per_row = max(1, n_bytes // max(1, int(metadata.num_rows)))
        return max(1, min(MAX_ROWS_PER_READ, batch_bytes // bytes_per_row))


def _leads_somewhere(schema: pa.Schema, keys: list[str]) -> bool:
    """True if the keys name a column, or a field inside a column of structs."""
    import pyarrow as pa

    names: Any = schema.names
    found: Any = None
    for depth, key in enumerate(keys):
        if key not in names:
            return False
        found = schema.field(key).type if depth == 0 else found.field(key).type
        names = [child.name for child in found] if pa.types.is_struct(found) else []
    return True


def _at(rows: pa.RecordBatch, keys: list[str]) -> Any:
    """A column, or a field inside a column of structs."""
    import pyarrow.compute as pc

    column: Any = rows.column(keys[0])
    # Unlike `StructArray.field`, this keeps a null of the struct a null of its field.
    return pc.struct_field(column, keys[1:]) if len(keys) > 1 else column


def _open(path: str, max_decompressed_bytes: int | None) -> tuple[Any, int]:
    """Open the source for pyarrow; return also the stored size in bytes."""
    import pyarrow as pa

    file = Path(path)
    n_bytes = file.stat().st_size
    with file.open("rb") as stream:
        magic = stream.read(len(_MAGIC))
    if magic == _MAGIC:
        return path, n_bytes
    limit = (
        DEFAULT_MAX_DECOMPRESSED_BYTES if max_decompressed_bytes is None else max_decompressed_bytes
    )
    data = file.read_bytes() if _is_compressed(magic) else b""
    data = decompress(data, max_bytes=limit, path=path)
    if not data.startswith(_MAGIC):
        raise RecordError(
            f"{path}: not a Parquet file: it should start with {_MAGIC.decode()}\n"
            "hint: write it again, or name the format that it has (--format)",
            path=path,
        )
    return pa.BufferReader(data), n_bytes


def _is_compressed(magic: bytes) -> bool:
    return magic.startswith((b"\x28\xb5\x2f\xfd", b"\x1f\x8b"))


def _is_string(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_binary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    )


class _explained:
    """pyarrow's complaints about a file become ``RecordError`` with the path."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        import pyarrow as pa

        # A damaged page comes as a plain OSError without a number; a failing disk has one.
        damaged = isinstance(error, OSError) and error.errno is None
        if isinstance(error, pa.ArrowException) or damaged:
            first_line = (str(error).splitlines() or ["unknown"])[0]
            raise RecordError(
                f"{self._path}: not a readable Parquet file: {first_line}\n"
                "hint: fetch or write the file again",
                path=self._path,
            ) from error


def parquet_rows(
    path: str,
    *,
    is_wanted: Callable[[str], bool],
    max_bytes: int,
    max_decompressed_bytes: int | None = None,
    on_bytes: Callable[[int], None],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """``(row, record)`` for each row of a Parquet file, rows counted from 1.

    Args:
        path: The file.
        is_wanted: True if a top-level column matters; those that do are read, all if none does. A
            vector of an embedding beside a prompt is thus not touched.
        max_bytes: About how many bytes are read at a time.
        max_decompressed_bytes: As for documents.
        on_bytes: Called with the share of the stored bytes that the rows read so far make up.

    Raises:
        MissingExtraError: pyarrow is not installed.
        RecordError: Not a readable Parquet file.
        OSError: The file cannot be read.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", extra="parquet") from error
    source, n_stored_bytes = _open(path, max_decompressed_bytes)
    with _explained(path):
        file = pq.ParquetFile(source, pre_buffer=False)
        names = [name for name in file.schema_arrow.names if is_wanted(name)]
        metadata = file.metadata
        n_rows = max(1, int(metadata.num_rows))
        n_bytes = sum(
            int(metadata.row_group(i).total_byte_size) for i in range(metadata.num_row_groups)
        )
        rows_per_read = max(1, min(MAX_ROWS_PER_READ, max_bytes * n_rows // max(1, n_bytes)))
        reads = file.iter_batches(batch_size=rows_per_read, columns=names or None)
    row = 0
    while True:
        with _explained(path):
            read = next(reads, None)
            if read is None:
                return
            records = read.to_pylist(maps_as_pydicts="lossy")
        for record in records:
            row += 1
            yield row, record
        on_bytes(n_stored_bytes * row // n_rows)


def row_group_bytes(path: str) -> list[int] | None:
    """Return the size of each row group of a Parquet file, uncompressed, from its index.

    None: the file is compressed as a whole, so that its parts cannot be read by themselves.

    Raises:
        MissingExtraError: pyarrow is not installed.
        RecordError: Not a readable Parquet file.
        OSError: The file cannot be read.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", extra="parquet") from error
    with Path(path).open("rb") as stream:
        if _is_compressed(stream.read(len(_MAGIC))):
            return None
    with _explained(path):
        metadata = pq.read_metadata(path)
        return [int(metadata.row_group(i).total_byte_size) for i in range(metadata.num_row_groups)]
