"""Arrow streams instead of JSON: one column of texts or ids in, one column out.

The column's name is the request's field (``texts`` or ``ids_batch``); other fields stand in the
stream's metadata under ``jeton``, as JSON. Answers keep the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from jeton.errors import MissingExtraError, UsageError

__all__ = ["ARROW_TYPE", "ArrowForm", "read_stream", "write_stream"]

ARROW_TYPE = "application/vnd.apache.arrow.stream"
"""Media type of Arrow's stream format (IANA)."""

_METADATA = b"jeton"


@dataclass(frozen=True, slots=True)
class ArrowForm:
    """Columns of a route.

    Attributes:
        column: Field of the request that is the column.
        answers: Fields of the answer that become columns; dots descend into lists of objects.
    """

    column: str
    answers: tuple[str, ...]


def read_stream(data: bytes, form: ArrowForm, request: Any) -> Any:
    """Return the request that a stream holds.

    Raises:
        UsageError: The bytes are no stream, or lack the column.
        MissingExtraError: pyarrow is not installed.
    """
    pa = _pyarrow()
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        metadata = (table.schema.metadata or {}).get(_METADATA, b"{}")
        fields = msgspec.json.decode(metadata, type=dict[str, Any])
        if table.column_names.count(form.column) != 1:
            raise UsageError(f"the stream has no column {form.column!r}")
        fields[form.column] = table.column(form.column).to_pylist()
        return msgspec.convert(fields, request)
    except (pa.ArrowException, msgspec.DecodeError, RecursionError, OSError) as error:
        raise UsageError(f"the body is no Arrow stream: {str(error)[:200]}") from None


def write_stream(answer: Any, form: ArrowForm) -> bytes:
    """Return an answer as a stream, its other fields as metadata."""
    pa = _pyarrow()
    # By way of JSON: an answer may hold parts that are written already.
    plain = msgspec.json.decode(msgspec.json.encode(answer))
    columns = {}
    for path in form.answers:
        name, _, inner = path.partition(".")
        values = plain.pop(name)
        columns[inner or name] = [row[inner] for row in values] if inner else values
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    table = table.replace_schema_metadata({_METADATA: msgspec.json.encode(plain)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError:
        raise MissingExtraError("reading Arrow streams", extra="parquet") from None
    return pa
