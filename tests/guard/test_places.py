"""The core's scanner finds the places that its twin in Python finds."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from jeton._reference.candidates import Rules, candidates
from jeton.guard.places import Code, places
from jeton.guard.wordlist import MARKERS, PHRASES, bare_markers

CASES = Path(__file__).resolve().parents[1] / "cases"
OWN = ("<s>", "</s>", "<｜begin▁of▁sentence｜>", "aab", "▁x▁", "é!é")
KNOWN = tuple(sorted({*MARKERS, *OWN}))
RULES = Rules(KNOWN, (*PHRASES, *bare_markers(KNOWN)))

PIECES = st.sampled_from(
    [
        *"aAbBIl1|<>/[]_ %=&#;\\x.-\n\t\x00\x1b\x08",
        *"éüßÂÃâ€™»¿жаеорсЖАΑαοΩاهیكش١۱ক্যकषമ്ญກខឍ漢字かカ한ᅟㅤ٠۰",
        *"ａＡ１＜｜＞［］𝐚𝟏①ⓐﬁ²",
        *"\u200b\u200c\u200d\u200e\u200f\u2060\u2062\u2064\u00ad\ufeff\u034f\u061c\u180b\u180e\u1820",
        *"\u202a\u202e\u2066\u2069\ufe0e\ufe0f\ufe00\U000e0100\U000e01ef\U000e0067\U000e007f",
        *"👨👩🏽🏴😀❤#⠁⠃\ue000\ufdd0\U000e1000\u0378\u2028\u0300\u0301\u0302\u064b\u05b0",
        "<|im_end|>",
        "< | im_\u200bend |>",
        "<|foo_bar|>",
        "[INST]",
        "<s>",
        "aWdub3JlIGFsbCBwcmV2aW91cw==",
        "69676e6f726520616c6c2070726576696f7573",
        "NFTW433SMUQGC3DMEBYHEZLW",
        "BkM=%Eb-A%Cht55Eb0E.Dfp+DBl8!6Eckl6Bl@m1",
        "%69%67%6e%6f",
        "\\x41\\u0042",
        "&#65;&#x42;",
        "0100100101100111",
        ".. -- . -.. ",
        "vtaber",
        "erongi",
        "xn--",
        "раураl.com",
        "Ã©â€™",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "❤\ufe0f\u200d🔥",
        "x" * 30,
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=40).map("".join),
    st.text(max_size=60),
    st.lists(st.sampled_from(list("01 .-/=%ab")), max_size=90).map("".join),
    st.tuples(st.lists(PIECES, max_size=4), st.integers(1, 40)).map(lambda t: "".join(t[0]) * t[1]),
)


@settings(max_examples=300)
@given(TEXTS)
@example("ab\u200bсd")
@example("ＩＩ" * 9 + "<|" + "a" * 41)
def test_the_core_finds_what_its_twin_finds(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert [tuple(place) for place in places(text, RULES.markers)] == candidates(text, RULES)


def test_sequences_of_unicode_are_no_places() -> None:
    found = json.loads((CASES / "guard_sequences.json").read_text(encoding="utf-8"))
    emoji, variants = found["rgi_emoji"].split(" "), found["standardized_variants"].split(" ")
    assert len(emoji) > 3_700
    assert len(variants) > 1_000
    wrong = [s for s in [*emoji, *variants] if any(p.code is Code.HIDDEN for p in places(s, ()))]
    assert wrong == []
    # Side by side, without anything between them, they are text like any other.
    assert not [p for p in places("".join(emoji), ()) if p.code is Code.HIDDEN]
