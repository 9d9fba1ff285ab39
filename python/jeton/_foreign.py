"""Files that strangers wrote, parsed: every failure is a ``ValueError`` that says what is wrong.

The parsers of Python raise other things too: ``RecursionError`` where brackets nest deeply, an
error of a tokenizer where the header of an array is damaged. Numbers beyond 64 bits pass, and break
the arithmetic that meets them. All JSON, TOML and arrays of others come through here; a test walks
over the package and names each place that goes around it.
"""

from __future__ import annotations

import json
import os
import tomllib
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LIMIT = 1 << 64
_MAX_DIGITS = 20
"""Digits of the largest 64-bit number, and a sign."""

_MAX_QUOTED = 200
"""Characters of a foreign value that a message quotes."""


def json_of(text: str | bytes, *, any_integer: bool = False, **options: Any) -> Any:
    """Parse JSON as ``json.loads`` does; the same options.

    Args:
        text: JSON; bytes in UTF-8.
        options: As ``json.loads`` takes them.
        any_integer: True for documents, whose numbers nobody reckons with: integers may be beyond
            64 bits.

    Raises:
        json.JSONDecodeError: It is no JSON, or nests too deeply.
        ValueError: It is not UTF-8, or has an integer beyond 64 bits.

    Example:
        >>> json_of('{"a": 1}')
        {'a': 1}
    """
    if not any_integer:
        options["parse_int"] = _integer
    try:
        return json.loads(text, **options)
    except RecursionError:
        shown = text if isinstance(text, str) else ""
        raise json.JSONDecodeError("nested too deeply", shown, 0) from None


def toml_of(text: str, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse TOML as ``tomllib.loads`` does.

    Raises:
        tomllib.TOMLDecodeError: It is no TOML, nests too deeply, or has an integer beyond 64 bits.

    Example:
        >>> toml_of("a = 1")
        {'a': 1}
    """
    try:
        tree = tomllib.loads(text, parse_float=parse_float)
        huge = _has_huge(tree)
    except RecursionError:
        raise tomllib.TOMLDecodeError("nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # Python reads no integer of more than 4,300 digits
        raise tomllib.TOMLDecodeError(str(error)) from None
    if huge:
        raise tomllib.TOMLDecodeError("an integer is beyond 64 bits")
    return tree


def array_of(path: str | os.PathLike[str], *, mapped: bool = False) -> NDArray[Any]:
    """Read an array as ``numpy.load`` does; nothing in it is run.

    The file is mapped first, so that a header which claims more than there is costs nothing.

    Args:
        path: A ``.npy`` file.
        mapped: True to leave the array in its file.

    Raises:
        ValueError: It is no array, or not all of one.
        OSError: It cannot be read.
    """
    import numpy as np

    with _as_value_errors():
        found = np.load(path, allow_pickle=False, mmap_mode="r")
        if not isinstance(found, np.ndarray):
            found.close()
            raise ValueError("it holds several arrays")
        return found if mapped else np.array(found)


def arrays_of(
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None = None,
    wanted: Collection[str] | None = None,
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file.

    Args:
        path: The file.
        max_bytes: Bytes that they may have unpacked; None: any.
        wanted: Names; None: all.

    Raises:
        OverflowError: They have more bytes.
        ValueError: It is no such file, or a damaged one.
        OSError: It cannot be read.
    """
    import numpy as np

    with _as_value_errors(), zipfile.ZipFile(path) as archive:
        n_bytes = sum(entry.file_size for entry in archive.infolist())
        if max_bytes is not None and n_bytes > max_bytes:
            raise OverflowError(f"{n_bytes:,} bytes")
        with np.load(path, allow_pickle=False) as stored:
            names = [name for name in stored.files if wanted is None or name in wanted]
            return {name: stored[name] for name in names}


@contextmanager
def _as_value_errors() -> Iterator[None]:
    """NumPy runs Python's own tokenizer over damaged headers, and raises what that raises."""
    try:
        yield
    except (OSError, OverflowError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(quoted(str(error)) or type(error).__name__) from None


def safe_path(path: str) -> str:
    """Return a path that a file names.

    Raises:
        ValueError: It holds a NUL, which no path has.
    """
    if "\0" in path:
        raise ValueError(f"the path {quoted(path)!r} holds a NUL")
    return path


def quoted(text: str) -> str:
    """Cut a foreign value for a message: 200 characters at most.

    Example:
        >>> len(quoted("a" * 5000))
        201
    """
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}\u2026"


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS or not -_LIMIT < (number := int(digits)) < _LIMIT:
        raise ValueError(f"the integer {digits[:_MAX_DIGITS]}... is beyond 64 bits")
    return number


def _has_huge(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_huge, value.values()))
    if isinstance(value, list):
        return any(map(_has_huge, value))
    return isinstance(value, int) and not -_LIMIT < value < _LIMIT
