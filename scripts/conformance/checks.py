"""One golden set against one tokenizer: ids, counts, threads, places and text of every case."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton import Tokenizer
from jeton._core import Encoding
from jeton.errors import JetonError
from scripts.conformance.known import KnownDifference
from scripts.conformance.references import Reference
from scripts.conformance.sets import COLUMNS, N_CASES, GoldenSet

__all__ = ["Fault", "SetResult", "batch_faults", "check_set", "offset_fault", "text_faults"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One case that is not as expected."""

    case: int
    what: str


@dataclass(frozen=True, slots=True)
class SetResult:
    """Result of a set. ``n_equal + n_different == n_cases`` unless it did not load."""

    name: str
    files: str
    reference: str
    version: str
    n_cases: int
    n_different: int
    n_special_cases: int
    """Cases that were also compared where special tokens count."""
    n_known: int
    """Different cases that are listed with a reason and are as listed."""
    faults: tuple[Fault, ...]
    reasons: tuple[str, ...]
    """Reasons of the listed differences."""
    text_compared_with: str
    """Text that decoded text was compared with."""
    not_loaded: str | None = None

    @property
    def n_equal(self) -> int:
        """Cases in which all that was compared is the reference's."""
        return self.n_cases - self.n_different

    @property
    def ok(self) -> bool:
        """True if nothing unexpected was found."""
        return self.not_loaded is None and not self.faults


def check_set(
    golden: GoldenSet,
    *,
    threads: Sequence[int],
    reference: Reference | None,
    known: Sequence[KnownDifference] = (),
) -> SetResult:
    """Compare everything that a set tells; a set that does not load is a result too."""
    faults: list[Fault] = []
    not_loaded = None
    text_from = "nothing"
    try:
        tokenizer = golden.tokenizer()
    except (JetonError, OSError, TypeError) as error:
        # TypeError: `load` does not know an argument that the set needs.
        not_loaded = str(error).split("\n", 1)[0]
    else:
        for column in COLUMNS:
            faults += _ids_faults(golden, tokenizer, column, threads=threads, known=known)
        text_from, of_text = text_faults(golden, tokenizer, reference)
        faults += of_text
    different = {fault.case for fault in faults} | {listed.case for listed in known}
    return SetResult(
        name=golden.name,
        files=golden.files,
        reference=str(golden.header["library"]),
        version=golden.version,
        n_cases=len(golden.cases),
        n_different=len(golden.cases) if not_loaded else len(different),
        n_special_cases=sum(case.ids_special_on is not None for case in golden.cases),
        n_known=len({listed.case for listed in known} - {fault.case for fault in faults}),
        faults=tuple(faults),
        reasons=tuple(dict.fromkeys(listed.reason for listed in known)),
        text_compared_with=text_from,
        not_loaded=not_loaded,
    )


def _ids_faults(
    golden: GoldenSet,
    tokenizer: Tokenizer,
    column: str,
    *,
    threads: Sequence[int],
    known: Sequence[KnownDifference],
) -> Iterator[Fault]:
    allow = golden.allow_special(column)
    listed = {each.case: each.ids for each in known if each.column == column}
    numbers: list[int] = []
    expected: list[list[int]] = []
    for number, case in enumerate(golden.cases):
        theirs = case.expected(column)
        if theirs is None:
            if number in listed:
                yield Fault(number, f"listed as a known difference in {column}, which it lacks")
            continue
        if listed.get(number) == theirs:
            yield Fault(number, "listed as a known difference with the reference's own ids")
        numbers.append(number)
        expected.append(listed.get(number, theirs))
    for number, ids in zip(numbers, expected, strict=True):
        case = golden.cases[number]
        found = tokenizer.encode(case.text, allow_special=allow)
        if found != ids:
            now = " (a listed difference)" if number in listed else ""
            if number in listed and found == case.expected(column):
                now = ": equal now, though listed as a known difference"
            yield Fault(number, f"{column}{now}: {first_difference(found, ids)}")
        if tokenizer.count(case.text, allow_special=allow) != len(found):
            yield Fault(number, f"{column}: count is not the number of ids")
        places = tokenizer.encode_with_offsets(case.text, allow_special=allow, trim_offsets=False)
        wrong = (
            "ids with offsets differ from ids"
            if places.ids.tolist() != found
            else offset_fault(golden, tokenizer, case.text, places)
        )
        if wrong:
            yield Fault(number, f"{column}: {wrong}")
    yield from batch_faults(golden, tokenizer, column, numbers, expected, threads=threads)


def batch_faults(
    golden: GoldenSet,
    tokenizer: Tokenizer,
    column: str,
    numbers: Sequence[int],
    expected: Sequence[list[int]],
    *,
    threads: Sequence[int],
) -> Iterator[Fault]:
    """Encode and count the cases as one batch, with each number of threads."""
    allow = golden.allow_special(column)
    texts = [golden.cases[number].text for number in numbers]
    for n in threads:
        batch = tokenizer.encode_batch(texts, num_threads=n, allow_special=allow).to_lists()
        counts = tokenizer.count_batch(texts, num_threads=n, allow_special=allow).tolist()
        for number, found, count, ids in zip(numbers, batch, counts, expected, strict=True):
            if found != ids:
                what = first_difference(found, ids)
                yield Fault(number, f"{column}, batch, {n} threads: {what}")
            if count != len(found):
                yield Fault(number, f"{column}, batch, {n} threads: count is not that of ids")


def first_difference(found: Sequence[int], expected: Sequence[int]) -> str:
    """Where two lists of ids part, in words."""
    pairs = zip(found, expected, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(found), len(expected)))
    return f"from token {at} found {found[at : at + 8]}, expected {expected[at : at + 8]}"


def offset_fault(golden: GoldenSet, tokenizer: Tokenizer, text: str, found: Encoding) -> str | None:
    """Return the fault in the places of a text's tokens, or None."""
    data = text.encode()
    starts, ends = found.starts_bytes, found.ends_bytes
    if not len(starts):
        return None
    if starts[0] < 0 or ends[-1] > len(data) or (starts > ends).any():
        return "a token lies outside the text"
    if (np.diff(starts) < 0).any() or (np.diff(ends) < 0).any():
        return "places go backwards"
    chars = _characters_of_bytes(text)
    holds_something = ends > starts
    first, last = starts[holds_something], ends[holds_something] - 1
    if (found.starts[holds_something] != chars[first]).any() or (
        found.ends[holds_something] != chars[last] + 1
    ).any():
        return "places in characters are not those in bytes"
    if not golden.is_byte_level or tokenizer.normalize(text) != text:
        return None
    if tokenizer.decode(found.ids) != text:
        return None  # a byte without a token, or an added token that decodes otherwise
    if starts[0] != 0 or ends[-1] != len(data) or (starts[1:] != ends[:-1]).any():
        return "tokens do not tile the text"
    pieces = [data[a:b] for a, b in zip(starts, ends, strict=True)]
    if pieces != [tokenizer.id_to_bytes(int(i)) for i in found.ids]:
        return "a token's bytes are not those at its place"
    return None


@functools.lru_cache(maxsize=2 * N_CASES)
def _characters_of_bytes(text: str) -> NDArray[np.int64]:
    """The number of the character that each byte lies in; most sets have the same texts."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    widths = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    return np.repeat(np.arange(len(text)), widths)


def text_faults(
    golden: GoldenSet, tokenizer: Tokenizer, reference: Reference | None
) -> tuple[str, list[Fault]]:
    """Decode the reference's ids and compare with its text, or else with the text itself.

    Returns:
        What the text was compared with, and the cases that differ.
    """
    faults: list[Fault] = []
    if reference is not None:
        for number, case in enumerate(golden.cases):
            for ids in [i for i in (case.ids, case.ids_special_on) if i is not None]:
                for skip in (False, True):
                    ours = tokenizer.decode(ids, skip_special_tokens=skip)
                    theirs = reference.decode(ids, skip_special=skip)
                    if ours != theirs:
                        what = f"decoded {ours[:60]!r}, expected {theirs[:60]!r}"
                        faults.append(Fault(number, f"text, skip={skip}: {what}"))
        return f"{golden.library}'s text", faults
    if not golden.is_byte_level:
        return "nothing: its reference is not installed", []
    for number, case in enumerate(golden.cases):
        if tokenizer.decode(case.ids) != tokenizer.normalize(case.text):
            faults.append(Fault(number, "text: decoding does not give the normalized text back"))
    return "the text encoded", faults
