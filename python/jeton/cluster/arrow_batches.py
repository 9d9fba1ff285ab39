"""An adapter for Ray Data: a column of texts becomes a column of ids, one Arrow table at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jeton.datasets.boundaries import find_boundaries
from jeton.datasets.options import DatasetOptions
from jeton.errors import CorpusError, MissingExtraError, UsageError
from jeton.registry import TokenizerLike, resolve

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowTokenizer:
    """A function for ``map_batches`` of Ray Data, with ``batch_format="pyarrow"``.

    As a class it is made once in each actor, which then has its own tokenizer. A null text gives
    null; an empty one gives its special tokens alone, so that rows stay rows.

    Args:
        tokenizer: A name, a path or a tokenizer. A path must be one that all nodes can read.
        column: Column of the texts.
        output: Column of the ids, lists of int32; one of that name is replaced.
        append_eos: End each document with the end token, once.
        prepend_bos: Begin each document with the beginning token, once.
        use_template: Put the special tokens of the tokenizer's own template around documents.
        eos_token: The end token, where the tokenizer's own is not meant.
        bos_token: The beginning token, where the tokenizer's own is not meant.
        num_threads: Threads of each call; ``num_cpus`` of ``map_batches`` should be the same.

    Raises:
        UsageError: The tokenizer lacks a token that was asked for.
        MissingExtraError: pyarrow is not installed.

    Example:
        >>> import pyarrow as pa
        >>> to_ids = ArrowTokenizer("jeton-general-32k", append_eos=True)
        >>> to_ids(pa.table({"text": ["Hello there", None]})).column_names
        ['text', 'input_ids']
        >>> # ray.data.read_parquet(...).map_batches(
        >>> #     ArrowTokenizer, fn_constructor_args=["jeton-general-32k"],
        >>> #     batch_format="pyarrow", compute=ray.data.ActorPoolStrategy(size=8))
    """

    def __init__(
        self,
        tokenizer: TokenizerLike,
        *,
        column: str = "text",
        output: str = "input_ids",
        append_eos: bool = False,
        prepend_bos: bool = False,
        use_template: bool = True,
        eos_token: str = "",
        bos_token: str = "",
        num_threads: int = 1,
    ) -> None:
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtraError("Ray Data", extra="parquet") from error
        if num_threads < 1:
            raise UsageError(f"num_threads is {num_threads}; expected at least 1")
        self._pa = pa
        found = resolve(tokenizer)
        options = DatasetOptions(
            append_eos=append_eos,
            prepend_bos=prepend_bos,
            use_template=use_template,
            eos_token=eos_token,
            bos_token=bos_token,
        )
        self._tokenizer = find_boundaries(found, options).frame(found)
        self._column, self._output, self._num_threads = column, output, num_threads

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the table with a column of ids.

        Raises:
            CorpusError: There is no such column, or it holds no texts.
        """
        texts = self._texts(table)
        is_null = texts.is_null().to_numpy(zero_copy_only=False)
        filled = texts.fill_null("") if texts.null_count else texts
        tokens = self._tokenizer.encode_batch(
            filled, add_special_tokens=True, num_threads=self._num_threads
        )
        ids, offsets = tokens.ids, tokens.offsets
        if is_null.any():
            lengths = np.diff(offsets)
            ids = ids[np.repeat(~is_null, lengths)]
            offsets = np.concatenate([[0], np.cumsum(np.where(is_null, 0, lengths))])
        lists = self._lists(ids.astype(np.int32), offsets, is_null)
        if self._output in table.column_names:
            return table.set_column(table.column_names.index(self._output), self._output, lists)
        return table.append_column(self._output, lists)

    def _texts(self, table: Any) -> Any:
        pa = self._pa
        if self._column not in table.column_names:
            raise CorpusError(
                f"the table has no column {self._column!r}; it has "
                f"{', '.join(table.column_names) or 'none'}\nhint: column names that of the texts"
            )
        column = table.column(self._column)
        kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
        if not any(is_kind(column.type) for is_kind in kinds):
            raise CorpusError(f"the column {self._column!r} holds {column.type}, not strings")
        # Large offsets, for the chunks together may have more than two gigabytes.
        return pa.chunked_array(column.chunks, column.type).cast(pa.large_string()).combine_chunks()

    def _lists(self, ids: Any, offsets: Any, is_null: Any) -> Any:
        pa = self._pa
        is_large = len(ids) > np.iinfo(np.int32).max
        kind, width = (pa.LargeListArray, np.int64) if is_large else (pa.ListArray, np.int32)
        mask = pa.array(is_null) if is_null.any() else None
        return kind.from_arrays(pa.array(offsets.astype(width)), pa.array(ids), mask=mask)
