"""Analyses of texts against their definitions, and hostile texts."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.auditing.analyses import (
    cut_text,
    encoded_blobs,
    escaped_text,
    layout,
    markup,
    minified_json,
    plain_content,
    repetition,
)
from jeton.auditing.analyses.lengths import batch_padding, chunk_overlap
from jeton.auditing.analyses.rewriting import Rewrite
from jeton.auditing.checks import usage
from jeton.metrics import LengthCounts

REWRITES: dict[str, Rewrite] = {
    "without_blobs": encoded_blobs.without_blobs,
    "without_unicode_escapes": encoded_blobs.without_unicode_escapes,
    "without_entities": encoded_blobs.without_entities,
    "without_percent_escapes": encoded_blobs.without_percent_escapes,
    "without_nested_quotes": encoded_blobs.without_nested_quotes,
    "with_short_separators": layout.with_short_separators,
    "with_plain_line_ends": layout.with_plain_line_ends,
    "with_narrow_indentation": layout.with_narrow_indentation,
    "with_usual_spacing": layout.with_usual_spacing,
    "with_joined_lines": layout.with_joined_lines,
    "with_lower_case": layout.with_lower_case,
    "without_letter_spacing": cut_text.without_letter_spacing,
    "without_punctuation_spacing": cut_text.without_punctuation_spacing,
    "decoded_text": escaped_text.decoded_text,
    "unescaped_text": escaped_text.unescaped_text,
    "without_all_markup": plain_content.without_all_markup,
    "without_json_keys": plain_content.without_json_keys,
    "without_chat_markers": plain_content.without_chat_markers,
    "without_line_labels": plain_content.without_line_labels,
    "with_literals_as_json": plain_content.with_literals_as_json,
    "without_markdown": plain_content.without_markdown,
    "without_doubled_words": cut_text.without_doubled_words,
    "with_plain_letters": cut_text.with_plain_letters,
    "without_markup": markup.without_markup,
    "without_markup_noise": markup.without_markup_noise,
    "without_json_layout": minified_json.without_json_layout,
    "without_repeated_keys": minified_json.without_repeated_keys,
    "without_repeated_passages": repetition.without_repeated_passages,
    "composed": layout.composed,
    "without_invisible_characters": layout.without_invisible_characters,
    "without_compatibility_characters": layout.without_compatibility_characters,
    "without_mojibake": layout.without_mojibake,
    "with_rounded_numbers": layout.with_rounded_numbers,
    "with_aliases": layout.with_aliases,
    "with_short_urls": layout.with_short_urls,
    "without_politeness": usage.without_politeness,
}

awkward = st.text(
    alphabet=st.sampled_from("aAé\u0301\u00ad 1.,-=\n\r\t<>/\"'\\&%{}[]:;#u0Ãâ€"), max_size=80
)


@pytest.mark.parametrize("name", REWRITES)
@given(text=awkward)
def test_a_rewrite_says_how_much_it_touched(name: str, text: str) -> None:
    new, n_bytes = REWRITES[name](text)
    assert (n_bytes > 0) >= (new != text)
    assert new.encode() is not None


N = 20_000
HOSTILE = {
    "spaces": " " * N,
    "tags": "<a " * N,
    "open comments": "<!--" * N + "</p></p></p></p>" * N,
    "open scripts": "<script>" * (N // 4) + "</p>" * (N // 4),
    "braces": "{\n" * N,
    "brackets": "[" * N,
    "broken records": '{"a": [1, 2\n' * (N // 8),
    "quotes": '\\"' * N,
    "escapes": "\\u00e9" * N,
    "references": "&a" * N + "&amp" * N,
    "percent": "%A" * N,
    "base64": "Ab1/" * N,
    "almost base64": ("Ab1/" * 9 + " ") * (N // 8),
    "hex": "a1" * N,
    "digits": "1" * N + "." + "2" * N,
    "decimals": "1.2345678" * N,
    "capitals": "AB-" * N,
    "capital words": "AB CD " * N,
    "letters apart": "a b " * N,
    "hyphens": "a-\n" * N,
    "signs": "-" * N + "= " * N,
    "dots": ". " * N,
    "urls": "https://" * N,
    "commas": " ," * N,
    "line ends": "\r\n" * N,
    "marks": "e" + "\u0301" * N,
    "mojibake": "\u00c3\u00a9" * N,
    "leads": "\u00c3" * N,
    "wide": "\uff11\u3000" * N,
    "indentation": "\n" + "    \n" * N,
    "phrases": "let me know if " * N,
    "blank phrases": "Sure! " + " \n" * N,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.timeout(20)
def test_hostile_texts_do_not_hang(name: str) -> None:
    # A quadratic step on 20,000 repetitions would take minutes in any of these.
    for rewrite in REWRITES.values():
        rewrite(HOSTILE[name])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values, st.sampled_from([None, 1, 4, "\t"]))
def test_json_without_layout_is_the_same_value(value: object, indent: int | str | None) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=False)
    new, _ = minified_json.without_json_layout("before\n" + written + "\nafter")
    compact = new.removeprefix("before\n").removesuffix("\nafter")
    assert json.loads(compact) == value
    if new != "before\n" + written + "\nafter":
        assert compact == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


records = st.lists(
    st.fixed_dictionaries({"name": st.text(max_size=8), "n": st.integers(), "x": json_values}),
    min_size=3,
    max_size=6,
)


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ('Order: {"id": 7, "name": "a b"} and more', True),
        ('Here\'s the customer\'s record: [{"id": 7, "name": "a b"}]', True),
        ('x = {"id": 7, "name": "a b"}', False),
        ('send({"id": 7, "name": "a b"})', False),
        ('\'row\': {"id": 7, "name": "a b"}', False),
        ("See [1, 2, 3, 4, 5, 6, 7, 8]", False),
    ],
)
def test_json_behind_prose_is_found_and_code_is_left(text: str, is_found: bool) -> None:
    new, _ = minified_json.without_json_layout(text)
    assert (new != text) == is_found
    assert not is_found or '"id":7,"name":"a b"' in new


@given(records)
def test_records_come_back_from_their_table(rows: list[dict[str, object]]) -> None:
    new, n_bytes = minified_json.without_repeated_keys(json.dumps(rows))
    assert n_bytes > 0
    table = json.loads(new)
    if not any(isinstance(row["x"], list | dict) for row in rows):
        assert [dict(zip(table["keys"], row, strict=True)) for row in table["rows"]] == rows


@pytest.mark.parametrize("batch_size", [1, 2, 3, 5, 9])
def test_batch_padding_is_the_mean_over_all_batches(batch_size: int) -> None:
    lengths = [3, 3, 5, 8, 13, 13, 40]
    found = batch_padding(LengthCounts.from_lengths(lengths), batch_size=batch_size)
    size = min(batch_size, len(lengths))
    batches = list(itertools.combinations(lengths, size))
    expected = sum(map(max, batches)) / len(batches) * len(lengths)
    assert found.n_positions == pytest.approx(expected)
    in_order = sorted(lengths)
    parts = [in_order[start : start + size] for start in range(0, len(lengths), size)]
    assert found.n_positions_sorted == sum(max(part) * len(part) for part in parts)
    assert found.n_tokens == sum(lengths)


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(1, 20), st.integers(0, 19))
def test_chunk_overlap_counts_pieces(lengths: list[int], chunk: int, overlap: int) -> None:
    overlap = min(overlap, chunk - 1)
    found = chunk_overlap(
        LengthCounts.from_lengths(lengths), chunk_tokens=chunk, overlap_tokens=overlap
    )
    n_chunks = n_tokens = 0
    for length in lengths:
        start = 0
        while True:
            n_chunks += 1
            n_tokens += min(chunk, length - start)
            if start + chunk >= length:
                break
            start += chunk - overlap
    assert found.n_chunks == n_chunks
    assert found.n_repeated_tokens == n_tokens - sum(lengths)


def naive_overlaps(texts: list[str]) -> dict[int, int]:
    """The longest end of any other document that each document begins with."""
    found = {}
    heads = [text.encode()[:32] for text in texts]
    for index, text in enumerate(texts):
        data = text.encode()
        if len(data) <= 32 or heads.count(data[:32]) > 1:
            continue
        lengths = [
            n
            for other, before in enumerate(texts)
            if other != index
            for n in range(32, min(len(data), len(before.encode())))
            if before.encode().endswith(data[:n])
        ]
        if lengths:
            found[index] = max(lengths)
    return found


def test_overlaps_are_found_at_their_length() -> None:
    words = [f"word{i}" for i in range(200)]
    texts = [" ".join(words[start : start + 40]) for start in range(0, 160, 25)]
    texts += ["of its own " * 9, texts[0][:20], "word3 é" * 12]
    expected = naive_overlaps(texts)
    assert {o.following: o.n_bytes for o in repetition.overlaps(texts)} == expected
    assert len(expected) == 6


def test_overlaps_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{i}" for i in range(200)]
    texts = [" ".join(words[start : start + 40]) for start in range(0, 160, 25)]
    expected = repetition.overlaps(texts)
    for size in (33, 64, 100):
        monkeypatch.setattr(repetition, "BLOCK_BYTES", size)
        assert repetition.overlaps(texts) == expected


@given(st.lists(st.text(alphabet="ab", min_size=30, max_size=70), max_size=6))
def test_overlaps_of_repetitive_texts_are_real(texts: list[str]) -> None:
    expected = naive_overlaps(texts)
    for overlap in repetition.overlaps(texts):
        tail = texts[overlap.document].encode()[-overlap.n_bytes :]
        assert texts[overlap.following].encode().startswith(tail)
        assert overlap.n_bytes == expected[overlap.following]


@pytest.mark.timeout(20)
def test_overlaps_of_one_sign_do_not_hang() -> None:
    assert repetition.overlaps(["a" * 300_000, "b" * 10, "a" * 40 + "b" * 9, "c" * 60]) == []


def jaccard(first: str, second: str) -> float:
    def shingles(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return set(zip(*(words[i:] for i in range(5)), strict=False))

    a, b = shingles(first), shingles(second)
    return len(a & b) / len(a | b)


def test_near_duplicates_are_those_of_the_definition() -> None:
    words = [f"w{i % 97}x{i % 13}" for i in range(400)]
    texts = []
    for n_changed in (0, 2, 5, 9, 14, 22, 40):
        changed = list(words)
        for index in range(n_changed):
            changed[index * 9 + 5] = f"other{n_changed}"
        texts.append(" ".join(changed))
    found = {d.document: d for d in repetition.near_duplicates(texts, min_resemblance=0.8)}
    for index in range(1, len(texts)):
        best = max(jaccard(texts[index], texts[other]) for other in range(index))
        assert (index in found) == (best >= 0.8)
        if index in found:
            pair = found[index]
            assert pair.resemblance == pytest.approx(jaccard(texts[index], texts[pair.original]))


def test_boilerplate_counts_documents_not_lines() -> None:
    footer = "this line stands at the end of every message that is sent"
    texts = [f"text {i}\n{footer}\n{footer}" for i in range(4)] + ["nothing"]
    assert repetition.boilerplate_lines(texts, min_documents=4) == {footer: 4}
    assert repetition.boilerplate_lines(texts, min_documents=5) == {}
    assert repetition.boilerplate_lines(["=" * 70] * 9, min_documents=2) == {}
    assert repetition.without_lines(f"a\n {footer}\nb", {footer})[0] == "a\nb"
    assert (
        repetition.without_lines(f"{footer}\nb", {footer}, start=len(footer))[0] == f"{footer}\nb"
    )


@pytest.mark.parametrize("draw", range(20))
def test_random_data_is_data_and_words_are_not(draw: int) -> None:
    import base64
    import random

    random_bytes = random.Random(draw)
    encoded = base64.b64encode(random_bytes.randbytes(random_bytes.randint(48, 400))).decode()
    digits = random_bytes.randbytes(random_bytes.randint(40, 200)).hex()
    for data, kind in ((encoded, "base64"), (digits, "hex"), (digits.upper(), "hex")):
        (blob,) = encoded_blobs.find_blobs(f"before {data} after")
        assert (blob.kind, f"before {data} after"[blob.start : blob.end]) == (kind, data)
    uri = f"data:image/png;base64,{encoded}"
    (blob,) = encoded_blobs.find_blobs(f'<img src="{uri}">')
    assert blob.kind == "data-uri"
    wrapped = "\n".join(encoded[i : i + 64] for i in range(0, len(encoded), 64))
    assert encoded_blobs.find_blobs(wrapped)
    names = ["request", "Handler", "factory", "Bean", "v2", "utils", "HTTP"]
    words = "".join(random_bytes.choice(names) for _ in range(30))
    path = "/".join(random_bytes.choice(names) for _ in range(30))
    assert encoded_blobs.find_blobs(f"{words} {path} {'ACGT' * 40} {'0' * 200}") == []


def test_output_lengths_take_nearest_ranks() -> None:
    tokens = np.array([-1, 10, 20, 30, 40, 1000, -1])
    found = usage.output_lengths(tokens, times_median=4)
    assert found is not None
    assert (found.n_requests, found.n_tokens, found.p50, found.p95) == (5, 1100, 30, 1000)
    assert (found.limit, found.n_tokens_beyond) == (120, 880)
    assert usage.output_lengths(np.array([-1, -1]), times_median=4) is None


def test_log_normal_answers_are_below_the_thresholds() -> None:
    # What the thresholds of output-long say of themselves (sigma 0.8).
    sigma, limit = 0.8, math.log(4)
    beyond = 0.5 * math.erfc(limit / sigma / math.sqrt(2))
    assert beyond == pytest.approx(0.04, abs=0.005)
    mean = math.exp(sigma**2 / 2)
    above = mean * 0.5 * math.erfc((limit / sigma - sigma) / math.sqrt(2)) - 4 * beyond
    assert above / mean == pytest.approx(0.05, abs=0.01)


def unchanged(rewrite: Callable[[str], tuple[str, int]], text: str) -> bool:
    return rewrite(text) == (text, 0)


def test_templates_and_components_are_not_pages() -> None:
    page = "<div class='a'><p>one</p><p>two</p><b>three</b></div>"
    assert not unchanged(markup.without_markup_noise, page)
    for program in (
        page.replace("class='a'", "className='a'"),
        page.replace("one", "{{ one }}"),
        page.replace("class='a'", "class={a}"),
        page.replace("one", "{% if one %}"),
    ):
        assert unchanged(markup.without_markup_noise, program)
