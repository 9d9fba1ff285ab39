"""Morpheme boundaries: layouts by hand, scores by hand, and gold data of the field."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton._core import decompress
from jeton.errors import EmptyCorpusError, UsageError
from jeton.metrics import GoldWord, boundary_scores, morpheme_boundaries, read_gold
from tests.auditing.tiny import train_tiny
from tests.core import makers


@pytest.mark.parametrize(
    ("word", "morphemes", "expected"),
    [
        ("undiscounted", ("un", "discount", "ed"), (2, 10)),
        ("Merchandizes", ("merchandize", "s"), (11,)),
        ("happiness", ("happy", "ness"), (5,)),
        ("screwdriver", ("screw", "drive", "er"), (5, 9)),
        ("cat", ("cat",), ()),
        # The lost vowel is the stem's, though "drive|r" has as few edits.
        ("driver", ("drive", "er"), (4,)),
        # The letter between may belong to either.
        ("aaxaa", ("aa", "b", "aa"), (2, 3)),
        ("abab", ("ba", "ba"), None),
        ("ab", ("a", "b", "c"), None),
        ("x" * 300, ("x" * 299, "xx"), None),
    ],
)
def test_layouts(word: str, morphemes: tuple[str, ...], expected: tuple[int, ...] | None) -> None:
    assert morpheme_boundaries(word, morphemes) == expected


def levenshtein(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        previous, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]


letters = st.text("abc", min_size=1, max_size=4)


@given(word=st.text("abc", min_size=1, max_size=7), parts=st.lists(letters, min_size=2, max_size=3))
def test_a_layout_is_the_one_with_fewest_edits(word: str, parts: list[str]) -> None:
    found = morpheme_boundaries(word, parts)
    ways = {}
    for cuts in itertools.combinations(range(1, len(word)), len(parts) - 1):
        edges = (0, *cuts, len(word))
        pieces = [word[a:b] for a, b in itertools.pairwise(edges)]
        edits = [levenshtein(p, q) for p, q in zip(pieces, parts, strict=True)]
        ways[cuts] = (sum(edits), edits[::-1])
    best = [cuts for cuts, edits in ways.items() if ways and edits == min(ways.values())]
    assert found == (
        best[0] if len(best) == 1 or ("".join(parts) == word and found in best) else None
    )


def test_scores_by_hand() -> None:
    tokenizer = train_tiny(vocab_size=1200)
    words = ["statements", "the", "unparenthesized"]
    pieces = [[tokenizer.decode([i]).strip() for i in tokenizer.encode(f" {w}")] for w in words]
    assert pieces[1] == ["the"]
    token_cuts = [{sum(map(len, parts[:n])) for n in range(1, len(parts))} for parts in pieces]
    gold = [{9}, set(), {2, 14}]
    report = boundary_scores(
        tokenizer,
        [
            GoldWord("statements", ("statement", "s")),
            GoldWord("the", ("the",)),
            GoldWord("unparenthesized", ("un", "parenthesize", "d")),
            GoldWord("abab", ("ba", "ba")),
        ],
    )
    n_both = sum(len(a & b) for a, b in zip(token_cuts, gold, strict=True))
    n_token = sum(map(len, token_cuts))
    every, split = report.all_words, report.split_words
    assert (every.n_words, every.n_gold, every.n_token, every.n_both) == (3, 3, n_token, n_both)
    assert every.precision == (n_both / n_token if n_token else 0)
    assert every.recall == n_both / 3
    assert every.f1 == pytest.approx(2 * n_both / (n_token + 3))
    assert split.n_words == sum(map(bool, token_cuts)) < 3
    assert report.n_one_token_words == 3 - split.n_words
    assert report.n_left_out == 1


def test_both_formats_are_read() -> None:
    lines = ["undone\tun @@do @@ne\t110\n", "", "dog\tdogs\tN|PL\tdog|s", "ox\tox\tN|SG\t-", "a\ta"]
    assert [(gold.word, gold.morphemes) for gold in read_gold(lines)] == [
        ("undone", ("un", "do", "ne")),
        ("dogs", ("dog", "s")),
        ("ox", ("ox",)),
        ("a", ("a",)),
    ]
    with pytest.raises(UsageError, match=r"line 1 of the gold segmentation is 'no tabs here'"):
        list(read_gold(["no tabs here"]))
    with pytest.raises(EmptyCorpusError, match=r"no word is left to compare; 1 could not"):
        boundary_scores(train_tiny(vocab_size=600), [GoldWord("abab", ("ba", "ba"))])


def test_gold_of_sigmorphon(shared: Path) -> None:
    data = (shared / "data" / "morph" / "sigmorphon2022.eng.word.test.gold.tsv.zst").read_bytes()
    gold = list(read_gold(decompress(data).decode().splitlines()))[:1000]
    vocab = shared / "data" / "vocab"
    bpe = boundary_scores(makers.load(vocab / "gpt2.json.zst"), gold)
    bert = boundary_scores(makers.load(vocab / "bert_base_uncased.json.zst"), gold)
    for report in (bpe, bert):
        assert report.n_left_out < 0.2 * len(gold)
        assert report.split_words.recall >= report.all_words.recall
        interval = report.all_words.f1_interval
        assert interval is not None
        assert interval.low < report.all_words.f1 < interval.high
    # WordPiece takes the longest beginning, which is often a stem: it finds more of English
    # morphology.
    assert bert.all_words.f1 > bpe.all_words.f1
