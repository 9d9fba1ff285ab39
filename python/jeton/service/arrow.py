"""Arrow streams instead of JSON: one column of texts or ids in, one column out.

The column's name is the request's field (``texts`` or ``ids_batch``); other fields stand in the
stream's metadata under ``jeton``, as JSON. Answers keep the order of the rows.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from jeton.errors import MissingExtraError, UsageError
from jeton.service.failures import COMPRESSED, ServiceFailure

if TYPE_CHECKING:
    from jeton.service.state import ServiceState

ARROW_TYPE = "application/vnd.apache.arrow.stream"
"""Media type of Arrow's stream format (IANA)."""

_METADATA = b"jeton"
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # MessageHeader in Message.fbs


@dataclass(frozen=True, slots=True)
class ArrowForm:
    """Columns of a route.

    Attributes:
        column: Field of the request that is the column.
        answers: Fields of the answer that become columns, with their Arrow type; dots descend into
            lists of objects, whose fields are left out where no object has them.
    """

    column: str
    answers: Mapping[str, str]


def read_stream(data: bytes, form: ArrowForm, request: Any, state: ServiceState) -> Any:
    """Return the request that a stream holds.

    Every buffer stays as long as it came: a stream with compressed buffers is refused before one
    is unpacked, and a column whose values share bytes is none that is taken.

    Raises:
        UsageError: The bytes are no stream, or lack the column, or it has another type.
        ServiceFailure: The stream is compressed, or has more than the limits allow.
        MissingExtraError: pyarrow is not installed.
    """
    pa = _pyarrow()
    try:
        messages = pa.ipc.MessageReader.open_stream(pa.py_buffer(data))
        if any(_is_compressed(message.metadata) for message in messages):
            raise ServiceFailure(COMPRESSED)
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        metadata = (table.schema.metadata or {}).get(_METADATA, b"{}")
        fields = msgspec.json.decode(metadata, type=dict[str, Any])
        if table.column_names.count(form.column) != 1:
            raise UsageError(f"the stream has no column {form.column!r}")
        fields[form.column] = _values(pa, table.column(form.column), form.column, state)
    except (pa.ArrowException, msgspec.DecodeError, RecursionError, OSError, struct.error) as error:
        raise UsageError(f"the body is no Arrow stream: {str(error)[:200]}") from None
    try:
        return msgspec.convert(fields, request)
    except msgspec.ValidationError as error:
        raise UsageError(f"the fields of the Arrow stream: {str(error)[:200]}") from None


def _values(pa: Any, column: Any, name: str, state: ServiceState) -> list[Any]:
    """Return a column of texts, or of lists of ids, as plain values.

    Raises:
        UsageError: It has another type, or holes.
        ServiceFailure: It has more rows or ids than the limits allow.
    """
    of, words = column.type, "texts" if name == "texts" else "lists of whole numbers"
    is_list = pa.types.is_list(of) or pa.types.is_large_list(of)
    is_right = (
        pa.types.is_string(of) or pa.types.is_large_string(of)
        if name == "texts"
        else is_list and pa.types.is_integer(of.value_type)
    )
    if not is_right or column.null_count:
        found = "a null" if is_right else f"the type {str(of)[:80]}"
        raise UsageError(f"the column {name!r} has {found}; expected {words}")
    state.check_texts(len(column))
    # Offsets that overlap would make more of the bytes than came.
    column.validate(full=True)
    if is_list:
        state.check_tokens(sum(len(chunk.flatten()) for chunk in column.chunks))
    values: list[Any] = column.to_pylist()
    return values


def _is_compressed(metadata: Any) -> bool:
    """True if a message's batch has compressed buffers (Message.fbs and Schema.fbs of Arrow)."""
    data = memoryview(metadata)
    (root,) = struct.unpack_from("<I", data)
    (kind_at, header_at) = _field(data, root, 1), _field(data, root, 2)
    if not kind_at or not header_at:
        return False
    batch = header_at + struct.unpack_from("<I", data, header_at)[0]
    if data[kind_at] == _DICTIONARY_BATCH:
        inner = _field(data, batch, 1)
        batch = inner + struct.unpack_from("<I", data, inner)[0] if inner else batch
    elif data[kind_at] != _RECORD_BATCH:
        return False
    return bool(_field(data, batch, 3))


def _field(data: memoryview, table: int, number: int) -> int:
    """Return the place of a field of a flatbuffer's table; 0: the table does not have it."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise struct.error("a table without its fields")
    at = 4 + 2 * number
    if at >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset: int = struct.unpack_from("<H", data, vtable + at)[0]
    return table + offset if offset else 0


def write_stream(answer: Any, form: ArrowForm) -> bytes:
    """Return an answer as a stream, its other fields as metadata."""
    pa = _pyarrow()
    # By way of JSON: an answer may hold parts that are written already.
    plain = msgspec.json.decode(msgspec.json.encode(answer))
    columns = {}
    taken: dict[str, Any] = {}
    for path, kind in form.answers.items():
        name, _, inner = path.partition(".")
        values = taken[name] = taken[name] if name in taken else plain.pop(name)
        if inner and path != next(iter(form.answers)) and not any(inner in row for row in values):
            continue
        of = pa.type_for_alias(kind.removesuffix("[]"))
        rows = [row[inner] for row in values] if inner else values
        columns[inner or name] = pa.array(rows, pa.list_(of) if kind.endswith("[]") else of)
    table = pa.table(columns)
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
