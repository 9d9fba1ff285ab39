"""A rank file is told by its first line: by hand, as a pattern would tell it."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from jeton.formats.detection import FileFormat, detect

PATTERN = rb"\s*[A-Za-z0-9+/]*={0,2} [0-9]+\s*(?:\n|\r|$)"
"""Pattern that the beginning of a file had to match before."""

PIECES = st.sampled_from([b"IQ", b"0", b"17", b"=", b"==", b" ", b"\n", b"\r", b"\t", b"+/", b"-"])


@given(pieces=st.lists(PIECES, max_size=8))
@example(pieces=[b" ", b"17"])
@example(pieces=[b"\n", b" ", b"0", b"\r"])
@example(pieces=[b"IQ", b"==", b" ", b"0", b" ", b"17", b"\n"])
@example(pieces=[b"IQ", b"==", b"=", b" ", b"0"])
def test_as_the_pattern_says(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    is_rank_file = detect(data) is FileFormat.TIKTOKEN
    assert is_rank_file == bool(re.match(PATTERN, data))
