"""History in a store: windows and alerts as rows of SQLite, DuckDB or Postgres, and as Parquet."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Any, Final, Self

from jeton._plain import strict_json
from jeton.errors import MissingExtraError, UsageError
from jeton.watch.alerts import Alert
from jeton.watch.windows import AMOUNTS, WatchSums

_WINDOW_COLUMNS: Final = ("first_request", "last_request", "ended_at", "route", "source", "script")
_ALERT_COLUMNS: Final = ("request", "at_seconds", "kind", "signal", "route", "cause", "detail")

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS jeton_windows (first_request BIGINT, last_request BIGINT, "
    "ended_at DOUBLE PRECISION, route TEXT, source TEXT, script TEXT, "
    + ", ".join(f"{name} BIGINT" for name in AMOUNTS)
    + ")",
    "CREATE TABLE IF NOT EXISTS jeton_alerts (request BIGINT, at_seconds DOUBLE PRECISION, "
    "kind TEXT, signal TEXT, route TEXT, cause TEXT, detail TEXT)",
)


class WatchStore:
    """Rows of windows and alerts; no text of a request is among them.

    A connection that failed is opened anew by the next call.

    Args:
        connect: Opens a connection of a database module (PEP 249) that begins no transaction.
        mark: Sign of the module for a parameter: ``?`` or ``%s``.
        error: The module's base class of errors.
        name: The address without a password, for messages.

    Raises:
        OSError: The database cannot be opened.
    """

    def __init__(
        self, connect: Callable[[], Any], *, mark: str, error: type[Exception], name: str
    ) -> None:
        self._connect, self._mark, self._error, self._name = connect, mark, error, name
        self._open: Any = None
        with self._cursor() as cursor:
            for table in _TABLES:
                cursor.execute(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open is not None:
            self._open.close()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        """A cursor whose work is committed at the end, or undone."""
        try:
            if self._open is None:
                self._open = self._connect()
            with closing(self._open.cursor()) as cursor:
                cursor.execute("BEGIN")
                yield cursor
                cursor.execute("COMMIT")
        except Exception as error:
            failed, self._open = self._open, None
            if failed is not None:
                # Closing undoes the rows that are not committed.
                with suppress(self._error):
                    failed.close()
            if not isinstance(error, self._error | OverflowError):
                raise
            raise OSError(f"--store {self._name} failed: {error}") from None

    def add_window(
        self, window: WatchSums, *, first_request: int, last_request: int, ended_at: float | None
    ) -> None:
        """Add a window, a row for each group; all of them or none."""
        rows = [
            (first_request, last_request, ended_at, *group, *(getattr(sums, n) for n in AMOUNTS))
            for group, sums in sorted(window.groups.items())
        ]
        self._insert("jeton_windows", (*_WINDOW_COLUMNS, *AMOUNTS), rows)

    def add_alert(self, alert: Alert) -> None:
        """Add an alert; ``detail`` has all of it as JSON."""
        row = (
            alert.n_requests, alert.at_seconds, alert.kind, alert.signal, alert.route,
            alert.cause, strict_json(alert.to_dict()),
        )  # fmt: skip
        self._insert("jeton_alerts", _ALERT_COLUMNS, [row])

    def windows(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the names of the columns and the rows of all windows, in their order."""
        columns = (*_WINDOW_COLUMNS, *AMOUNTS)
        with self._cursor() as cursor:
            cursor.execute(
                f"SELECT {', '.join(columns)} FROM jeton_windows "
                "ORDER BY first_request, route, source, script"
            )
            return columns, [tuple(row) for row in cursor.fetchall()]

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the windows as Parquet, whole or not at all.

        Raises:
            MissingExtraError: pyarrow is not installed.
        """
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("Parquet", extra="parquet") from None
        from jeton._files import write_whole

        names, rows = self.windows()
        columns = list(zip(*rows, strict=True)) or [() for _ in names]
        kinds = [
            pa.float64()
            if n == "ended_at"
            else pa.string()
            if n in _WINDOW_COLUMNS[3:]
            else pa.int64()
            for n in names
        ]
        arrays = [pa.array(c, type=k) for c, k in zip(columns, kinds, strict=True)]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(dict(zip(names, arrays, strict=True))), sink)
        write_whole(path, sink.getvalue().to_pybytes())

    def _insert(self, table: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
        if not rows:
            return
        marks = ", ".join([self._mark] * len(columns))
        with self._cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)


def open_store(address: str) -> WatchStore:
    """Open ``sqlite:F``, ``duckdb:F`` or ``postgresql://...``; tables are made where missing.

    Raises:
        UsageError: It is no such address.
        MissingExtraError: The module of the database is not installed.
        OSError: The file cannot be opened as a database.

    Example:
        >>> with open_store("sqlite::memory:") as store:
        ...     len(store.windows()[1])
        0
    """
    scheme, colon, rest = address.partition(":")
    if not colon or not rest or scheme not in ("sqlite", "duckdb", "postgresql", "postgres"):
        raise UsageError(
            f"--store {address} names no store\n"
            "hint: sqlite:history.db, duckdb:history.db or postgresql://user@host/database"
        )
    module_name = {"sqlite": "sqlite3", "duckdb": "duckdb"}.get(scheme, "psycopg")
    try:
        module = import_module(module_name)
    except ImportError:
        raise MissingExtraError(f"--store {scheme}", extra="store") from None
    # Transactions begin where the store says so.
    connect = {
        "sqlite3": partial(module.connect, rest, check_same_thread=False, isolation_level=None),
        "duckdb": partial(module.connect, rest),
        "psycopg": partial(module.connect, address, autocommit=True),
    }[module_name]
    mark = "%s" if module_name == "psycopg" else "?"
    name = re.sub(r"//[^/@]*@", "//...@", address)
    return WatchStore(connect, mark=mark, error=module.Error, name=name)
