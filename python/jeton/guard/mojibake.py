"""Text that was decoded with the wrong encoding, read again as what it was.

UTF-8 that a reader took for a code page of one byte a character: "Ã©" for "é". A run is mended only
if its bytes are valid UTF-8 for other characters. That a text of Western Europe holds such a run by
intention is rare, so every run counts there. The letters of other code pages do follow one another
in ordinary text; there most of what is beyond ASCII must be such runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MAX_ROUNDS = 3
"""Times that text is read anew: some was decoded wrongly more than once."""

MIN_COVERED_SHARE = 0.7
"""Part of the characters beyond ASCII that runs must hold, except for Windows-1252: of ordinary
text they hold hardly any."""

MIN_SEQUENCES = 3
"""Characters that must have been garbled, likewise."""

PROBE_CHARS = 4096
"""Beginning of a text that shows its code page; Windows-1252 is looked for everywhere."""

_FIRST_HIGH = 0x80
_LEADS = (range(0xC2, 0xE0), range(0xE0, 0xF0), range(0xF0, 0xF5))
"""First bytes of sequences of two, three and four bytes (RFC 3629)."""

_CONTINUATIONS = range(0x80, 0xC0)
_LOST = "\ufffd"
"""Character where a code page has none for a byte; the byte itself is unknown."""

_OF_LOST = 0x81
"""The byte that it is taken for: Windows-1252 has no character for it."""


@dataclass(frozen=True, slots=True)
class _CodePage:
    """A code page as a reader uses it, with the way back.

    Attributes:
        byte_of: The byte of each character beyond ASCII.
        run: Sequences as UTF-8 has them, written in the characters of the code page.
        every_run: True if a single run is proof enough.
    """

    byte_of: dict[str, int]
    run: re.Pattern[str]
    every_run: bool

    @classmethod
    def of(cls, name: str, *, every_run: bool = False) -> _CodePage:
        """The code page of Python's codec of that name; bytes that it leaves open are controls."""
        byte_of = {_LOST: _OF_LOST}
        for byte in range(_FIRST_HIGH, 0x100):
            # A lenient reader has the control of the same number where the page has nothing, and
            # Latin-1 has it everywhere.
            if every_run or not _has(name, byte):
                byte_of[chr(byte)] = byte
        for byte in range(_FIRST_HIGH, 0x100):
            if _has(name, byte):
                byte_of[bytes([byte]).decode(name)] = byte
        follow = _characters(byte_of, _CONTINUATIONS)
        sequences = [
            f"[{_characters(byte_of, leads)}][{follow}]{{{n}}}"
            for n, leads in enumerate(_LEADS, start=1)
        ]
        run = re.compile(f"(?:{'|'.join(sequences)})+")
        return cls(byte_of, run, every_run=every_run)

    def mended(self, text: str) -> tuple[str, int]:
        """The text with all runs read again, and their characters; itself where it has none."""
        n_chars = n_sequences = n_visible = 0

        def mend(match: re.Match[str]) -> str:
            nonlocal n_chars, n_sequences, n_visible
            run = match.group()
            data = bytes(self.byte_of[character] for character in run)
            try:
                new = data.decode("utf-8")
            except UnicodeDecodeError:
                return run
            n_visible += not new.isspace()
            n_chars += len(run)
            n_sequences += len(new)
            return new

        new = self.run.sub(mend, text)
        # A no-break space behind a letter is one, unless other letters are garbled too.
        if not n_visible:
            return text, 0
        if not self.every_run:
            n_high = _n_high(text)
            if n_sequences < MIN_SEQUENCES or n_chars < MIN_COVERED_SHARE * n_high:
                return text, 0
        return new, n_chars


def _characters(byte_of: dict[str, int], wanted: range) -> str:
    return "".join(re.escape(c) for c, byte in byte_of.items() if byte in wanted)


def _has(name: str, byte: int) -> bool:
    return bool(bytes([byte]).decode(name, errors="ignore"))


def _n_high(text: str) -> int:
    """Characters beyond ASCII."""
    return len(text) - len(text.encode("ascii", errors="ignore"))


@lru_cache(maxsize=16)
def _page(name: str) -> _CodePage:
    return _CodePage.of(name, every_run=name == _WINDOWS)


_WINDOWS = "cp1252"
_OTHER_CODE_PAGES = (
    "cp1251",
    "mac_roman",
    "cp437",
    "koi8_r",
    "cp866",
    "cp1250",
    "cp850",
    "iso8859_2",
    "cp1253",
)
_WIDE_CODE_PAGES = ("gb18030", "cp932", "cp949", "big5")
"""Two bytes a character: what is left of UTF-8 in them has characters of the page's own script."""

MAX_LOST_SHARE = 0.25
"""Characters that could not be won back, where a reader paired the bytes of different letters."""


def without_mojibake(text: str) -> tuple[str, int]:
    r"""Read UTF-8 that was taken for a code page as UTF-8.

    Returns:
        The text, and how many of its characters were read anew.

    Example:
        >>> without_mojibake("caf\u00c3\u00a9")
        ('café', 2)
    """
    n_chars = 0
    for _ in range(MAX_ROUNDS):
        if text.isascii():
            break
        # If several pages fit some of it, the page that fits most of it wins.
        start = text[:PROBE_CHARS]
        # A sequence has two characters or more.
        is_likely = _n_high(start) >= 2 * MIN_SEQUENCES
        others = map(_page, _OTHER_CODE_PAGES if is_likely else ())
        pages = [_page(_WINDOWS), *(page for page in others if page.mended(start)[1])]
        new, n_more = max((page.mended(text) for page in pages), key=lambda found: found[1])
        if not n_more:
            new, n_more = _mended_from_wide(text)
        if not n_more:
            break
        text = new
        n_chars += n_more
    return text, n_chars


def from_windows_1252(text: str) -> str | None:
    """Return a text whose UTF-8 was read as Windows-1252 or Latin-1 as it was meant, else None."""
    new, n_chars = _page(_WINDOWS).mended(text)
    return new if n_chars else None


def _mended_from_wide(text: str) -> tuple[str, int]:
    """Text whose UTF-8 was read two bytes at a time; genuine text gives hardly any valid UTF-8."""
    n_high = _n_high(text)
    if n_high < MIN_SEQUENCES:
        return text, 0
    start = text[:PROBE_CHARS]
    if len(start) < len(text) and not _mended_from_wide(start)[1]:
        return text, 0
    for page in _WIDE_CODE_PAGES:
        new = text.encode(page, "replace").decode("utf-8", "replace")
        n_lost = new.count(_LOST)
        n_won = _n_high(new) - n_lost
        if n_won >= MIN_SEQUENCES and n_lost <= MAX_LOST_SHARE * (n_won + n_lost):
            return new, n_high
    return text, 0
