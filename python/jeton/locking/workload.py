"""The workload of a lock: what text costs under each tokenizer, counted and kept as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from jeton._core import Tokenizer
from jeton.catalog import price as find_price
from jeton.corpus import open_documents
from jeton.errors import FormatError, UsageError

DAYS_PER_YEAR = 365
"""Days of a year in every yearly figure, as in an audit."""

_TOKENS_PER_MTOK = 1_000_000


@dataclass(frozen=True, slots=True)
class Traffic:
    """Price of tokens, and requests in a day.

    Attributes:
        price_name: The name of the price.
        usd_per_mtok_input: USD per million input tokens.
        price_date: How new the price is (ISO date).
        requests_per_day: Requests like the documents of the workload.
    """

    price_name: str
    usd_per_mtok_input: Decimal
    price_date: str
    requests_per_day: Decimal

    @classmethod
    def find(cls, price_model: str, *, requests_per_day: float) -> Traffic:
        """Look up a price.

        Raises:
            UnknownPriceError: There is none of that name.
            UsageError: The traffic is not above 0.
        """
        requests = Decimal(str(requests_per_day))
        if not requests.is_finite() or requests <= 0:
            raise UsageError(f"requests_per_day is {requests_per_day}; expected a number above 0")
        price = find_price(price_model)
        return cls(price.name, price.usd_per_mtok_input, price.price_date.isoformat(), requests)

    def usd_per_year(self, tokens_per_request: Decimal) -> Decimal:
        """USD a year for so many input tokens a request, to the cent."""
        usd = (
            tokens_per_request
            * self.requests_per_day
            * DAYS_PER_YEAR
            * self.usd_per_mtok_input
            / _TOKENS_PER_MTOK
        )
        return usd.quantize(Decimal("0.01"))

    def formula(self, tokens_per_request: Decimal) -> str:
        """How `usd_per_year` computed it, with the numbers put in."""
        return (
            f"{tokens_per_request:+,.4f} tokens a request x {self.requests_per_day:,} requests a "
            f"day x {DAYS_PER_YEAR} days x {self.usd_per_mtok_input} USD / 1,000,000 tokens "
            f"({self.price_name}, {self.price_date})"
        )


@dataclass(frozen=True, slots=True)
class LockedWorkload:
    """Counts of some inputs under the tokenizers.

    Attributes:
        inputs: Paths, as they were given.
        field: Field of the text in JSONL and Parquet.
        documents: ``file`` or ``line``: a plain text file is one document, or one a line.
        n_documents: Documents; one stands for one request.
        n_bytes: Bytes of their text.
        text_digest: Digest of all documents in any order.
        n_tokens: Tokens of each tokenizer, by the name that was asked for.
        traffic: Price and requests; None: tokens only.
    """

    inputs: tuple[str, ...]
    field: str
    documents: str
    n_documents: int
    n_bytes: int
    text_digest: str
    n_tokens: Mapping[str, int]
    traffic: Traffic | None = None

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        traffic = None
        if self.traffic is not None:
            traffic = {
                "price": self.traffic.price_name,
                "usd_per_mtok_input": format(self.traffic.usd_per_mtok_input, "f"),
                "price_date": self.traffic.price_date,
                "requests_per_day": format(self.traffic.requests_per_day, "f"),
            }
        return {
            "inputs": list(self.inputs),
            "field": self.field,
            "documents": self.documents,
            "n_documents": self.n_documents,
            "n_bytes": self.n_bytes,
            "text_digest": self.text_digest,
            "n_tokens": dict(sorted(self.n_tokens.items())),
            "traffic": traffic,
        }

    @classmethod
    def from_plain(cls, plain: Any) -> LockedWorkload:
        """From JSON values.

        Raises:
            FormatError: They are none.
        """
        try:
            traffic = None
            if plain["traffic"] is not None:
                traffic = Traffic(
                    str(plain["traffic"]["price"]),
                    Decimal(plain["traffic"]["usd_per_mtok_input"]),
                    str(plain["traffic"]["price_date"]),
                    Decimal(plain["traffic"]["requests_per_day"]),
                )
            counts = {str(name): _count(n) for name, n in plain["n_tokens"].items()}
            if plain["documents"] not in ("file", "line") or not isinstance(plain["inputs"], list):
                raise FormatError("the workload in the lock is damaged")
            return cls(
                inputs=tuple(str(path) for path in plain["inputs"]),
                field=str(plain["field"]),
                documents=plain["documents"],
                n_documents=max(1, _count(plain["n_documents"])),
                n_bytes=_count(plain["n_bytes"]),
                text_digest=str(plain["text_digest"]),
                n_tokens=counts,
                traffic=traffic,
            )
        except FormatError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, InvalidOperation) as error:
            raise FormatError(f"the workload in the lock is damaged: {error!r}") from None


def measure_workload(
    inputs: Sequence[str],
    tokenizers: Mapping[str, Tokenizer],
    *,
    field: str = "text",
    documents: str = "file",
    traffic: Traffic | None = None,
    num_threads: int | None = None,
) -> LockedWorkload:
    """Count the tokens of some inputs under each tokenizer, in one pass.

    Raises:
        EmptyCorpusError: The inputs hold no text.
        CorpusError: A record cannot be read.
        OSError: A file cannot be read.
    """
    if documents not in ("file", "line"):
        raise UsageError(f"documents is {documents!r}; expected 'file' or 'line'")
    stream = open_documents(
        list(inputs), field=field, documents="line" if documents == "line" else "file"
    )
    totals = dict.fromkeys(tokenizers, 0)
    digest = 0
    for _, batch in stream:
        data = batch.data.data
        for start, end in pairwise(batch.offsets.tolist()):
            one = blake2b(data[start:end], digest_size=16).digest()
            digest = (digest + int.from_bytes(one, "big")) % (1 << 128)
        for name, tokenizer in tokenizers.items():
            totals[name] += int(tokenizer.count_batch(batch, num_threads=num_threads).sum())
    stream.require_text()
    return LockedWorkload(
        inputs=tuple(inputs),
        field=field,
        documents=documents,
        n_documents=stream.n_documents,
        n_bytes=stream.n_bytes,
        text_digest=f"{digest:032x}",
        n_tokens=totals,
        traffic=traffic,
    )


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise FormatError(f"the lock holds {value!r} where a count should be")
    return int(value)
