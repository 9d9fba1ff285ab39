"""Short cuts of analyses change nothing: equal to the slow rule on texts made for it."""

from __future__ import annotations

import json
import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from jeton.auditing.analyses.layout import with_aliases, with_joined_lines, with_lower_case
from jeton.auditing.analyses.minified_json import MIN_JSON_CHARS, find_json
from jeton.auditing.analyses.prefixes import mask_values
from jeton.auditing.checks.terms import _RUN, _WORD, _words

HEX = st.text("0123456789abcdefABCDEF", min_size=1, max_size=66)
UUID = st.uuids().map(str)
PIECES = st.lists(HEX | UUID | st.sampled_from([" ", "-", "x", "é", "٣", "_"]), max_size=8)


@given(st.lists(st.sampled_from(["-", "¬", "\u00ad", "a", "é", "я", "A", " ", "\t", "\n", "\r\n"])))
def test_hyphens_at_line_ends(parts: list[str]) -> None:
    text = "".join(parts)
    slow = re.compile(r"(?<=[a-zà-ÿа-я])(?:-|\u00ad|¬)[ \t]*\r?\n[ \t]*(?=[a-zà-ÿа-я])")
    # Fewer than six letters with spaces between them, so that the other rewrite has nothing to do.
    if not re.search(r"(?: [^\W\d_]){5}", text):
        assert with_joined_lines(text)[0] == slow.sub("", text)


@given(st.lists(st.sampled_from(["THE", "AND", "Word", " ", ", ", "\n", "1", "é"]), max_size=30))
def test_capitals(parts: list[str]) -> None:
    text = "".join(parts)
    slow = re.compile(r"\b[A-Z]{2,}+(?![a-z])(?:[^A-Za-z\n]{1,3}+[A-Z]{2,}+(?![a-z])){5,}+")
    assert with_lower_case(text)[0] == slow.sub(lambda match: match.group().capitalize(), text)


@given(PIECES)
def test_identifiers(parts: list[str]) -> None:
    text = "".join(parts)
    uuid = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    sizes = (
        r"[0-9a-f]{64}|[0-9A-F]{64}",
        r"[0-9a-f]{40}|[0-9A-F]{40}",
        r"[0-9a-f]{32}|[0-9A-F]{32}",
    )
    digest = "|".join([*sizes, "[0-9a-f]{24}"])
    both = r"(?=[0-9a-fA-F]{0,12}[a-fA-F])(?=[0-9a-fA-F]{0,12}[0-9])"
    slow = re.compile(rf"(?<![\w-])(?:{uuid}|{both}(?:{digest}))(?![\w-])")
    assert (with_aliases(text)[0] != text) == bool(slow.search(text))


@given(PIECES)
def test_masked_values(parts: list[str]) -> None:
    text = "".join(parts)
    slow = re.compile(
        r"(?<![\w-])(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
        r"|(?=[0-9a-fA-F]{0,12}\d)[0-9a-fA-F]{16,64})(?![\w-])"
    )
    masked = slow.sub(lambda match: "0" * len(match.group()), text)
    assert mask_values(text) == re.sub(r"\d", "0", masked)


@given(st.lists(st.sampled_from(['{"a": 1234567890}', "[1, 2, 3, 4, 5, 6]", "\n", " ", "x", '"'])))
def test_json_begins_at_line_starts(parts: list[str]) -> None:
    text = "".join(parts)
    slow, position = [], 0
    for match in re.finditer(r"(?:\A|(?<=\n))[ \t]*+(?=[{\[])", text):
        if match.end() >= position:
            try:
                value, position = json.JSONDecoder().raw_decode(text, match.end())
            except json.JSONDecodeError:
                continue
            slow.append((match.end(), position, value))
    found = list(find_json(text))
    assert found == [item for item in slow if item[1] - item[0] >= MIN_JSON_CHARS]


@given(
    st.lists(
        st.sampled_from(["ab", "é", "1", "_", "-", "'", "\u2019", "²", " ", "x-y", "٣"]),
        max_size=40,
    )
)
def test_words_are_counted_from_runs(parts: list[str]) -> None:
    text = "".join(parts)
    assert _words(Counter(_RUN.findall(text))) == Counter(_WORD.findall(text))
