"""Rules beside a split pattern: what each cuts out, alone and together, here and in tokenizers."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton.cli.app import app
from jeton.cli.options import RULES as CLI_RULES
from jeton.errors import UsageError
from jeton.pretokenizing.rules import (
    APART_RULES,
    NUMBER_RULES,
    RULES,
    WHOLE_RULES,
    pattern_and_rules,
    pretokenizer_steps,
)
from jeton.training import TrainSettings, count_pretokens, load_counts, save_counts
from jeton.training.count_files import settings_of_counts

TEXT = (
    "See (https://www.foo.com/a?b=1#x), or www.bar.org. Mail bob.smith+x@ex-am.co.uk! #hash_tag "
    "#123 @you 1234567 and 12.5 'a // b' \"c # 1234\" `d` // e 'f\n/* g 'h' */ <!-- i -- j --> k"
)
PATTERNS = ("llama3", "gpt2", "cl100k_base", "o200k_base", "code")


def cut(text: str, *rules: str, pattern: str = "llama3") -> list[str]:
    steps = pretokenizer_steps(pattern, rules)
    counts = _core.PretokenCounts.cut_by(
        json.dumps({"type": "steps", "normalizer": [], "pretokenizer": steps})
    )
    counts.add(_core.TextBatch.from_texts(["a"]))
    return _core.train_bpe(counts, vocab_size=256).pretokenize(text)


def test_urls() -> None:
    found = cut("(https://a.b/c?d=1,2), see www.x.org/y. http://z", "urls")
    assert found == ["(", "https://a.b/c?d=1,2", "),", " see", " www.x.org/y", ".", " http://z"]


def test_emails() -> None:
    found = cut("<a.b+c@d-e.co.uk>, x@y", "emails")
    assert found == ["<", "a.b+c@d-e.co.uk", ">,", " x", "@y"]


def test_hashtags_and_mentions() -> None:
    found = cut("so #nice_1 #123 @me", "hashtags", "mentions")
    assert found == ["so", " #nice_1", " #", "123", " @me"]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        ("numbers-whole", ["1234567"]),
        ("numbers-digits", list("1234567")),
        ("numbers-groups-left", ["123", "456", "7"]),
        ("numbers-groups-right", ["1", "234", "567"]),
    ],
)
def test_numbers(pattern: str, rule: str, parts: list[str]) -> None:
    found = cut("a1234567 and 1234567", rule, pattern=pattern)
    assert found == ["a", *parts, " and", " ", *parts]
    # A number that a rule for whole things has is left alone.
    assert "https://a.b/1234567" in cut("https://a.b/1234567", rule, "urls", pattern=pattern)


def test_groups_from_the_right_are_those_of_thousands() -> None:
    for n in range(1, 40):
        digits = "1234567890" * 4
        found = cut(digits[:n], "numbers-groups-right")
        assert found == f"{int(digits[:n]):,}".split(",")


def test_comments_and_strings_are_apart() -> None:
    assert cut('f("a b")', "strings") == ["f", "(", '"a', " b", '"', ")"]
    assert cut('f("a b")') == ["f", '("', "a", " b", '")']
    assert cut(");// x", "comments") == [");", "//", " x"]
    # An address is no comment.
    assert cut("https://a.b/c", "comments", "urls") == ["https://a.b/c"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_all_together_lose_nothing_and_come_back(pattern: str) -> None:
    for number in (None, *NUMBER_RULES):
        for n in (0, 1, 2, 6):
            for chosen in combinations([r for r in RULES if r not in NUMBER_RULES], n):
                rules = tuple(r for r in RULES if r in chosen or r == number)
                steps = pretokenizer_steps(pattern, rules)
                assert pattern_and_rules(steps) == (_core.published_patterns()[pattern], rules)
    assert "".join(cut(TEXT, *APART_RULES, "urls", "numbers-digits", pattern=pattern)) == TEXT


_MADE: dict[str, tuple[_core.Tokenizer, object]] = {}
_SETS = (
    ("urls", "emails", "hashtags", "mentions", "numbers-groups-right", "comments", "strings"),
    ("urls", "numbers-digits"),
    ("emails", "numbers-groups-left", "strings"),
    ("numbers-whole", "comments"),
)


def _both(pattern: str, rules: tuple[str, ...]) -> tuple[_core.Tokenizer, object]:
    tokenizers = pytest.importorskip("tokenizers")
    key = f"{pattern} {rules}"
    if key not in _MADE:
        ours = jeton.train(iter([TEXT] * 3), pattern=pattern, vocab_size=300, rules=rules)
        theirs = tokenizers.Tokenizer.from_str(ours.to_hf_json().decode())
        _MADE[key] = ours, theirs
    return _MADE[key]


@given(
    pattern=st.sampled_from(PATTERNS),
    rules=st.sampled_from(_SETS),
    text=st.lists(
        st.sampled_from(
            [*TEXT, "https://", "www.", "a@b.c", "1234", "\\", "*/", '"""', " ", "١٢٣٤"]
        )
    ).map("".join)
    | st.text(max_size=30),
)
def test_tokenizers_gives_equal_ids(pattern: str, rules: tuple[str, ...], text: str) -> None:
    ours, theirs = _both(pattern, rules)
    ids = ours.encode(text)
    assert theirs.encode(text, add_special_tokens=False).ids == ids  # type: ignore[attr-defined]
    assert ours.decode(ids) == text
    assert "".join(ours.pretokenize(text)) == text


@given(st.text(alphabet="aB1@#./:'\"\\*<!-h w", max_size=40))
def test_a_rule_finds_what_a_search_finds(text: str) -> None:
    """The naive twin: what Python's own search finds for a rule is a pretoken of its own."""
    import re

    cut_email = re.compile(r" ?[\w.%+-]{1,64}@[^\W_]+(?:\.[^\W_]+)+")
    alphabet_only = text.replace("_", "").replace("-", "")
    wanted = [match.group() for match in cut_email.finditer(alphabet_only)]
    found = cut(alphabet_only, "emails")
    places = iter(found)
    assert all(any(part == want for part in places) for want in wanted)


def test_hostile_text_takes_no_longer_than_other_text() -> None:
    """Nothing is quadratic: 400,000 characters would take hours if a rule were."""
    rules = [r for r in RULES if r not in NUMBER_RULES or r == "numbers-groups-right"]
    for unit in ("a", "a@", "#1", "http://", "/*", "'\\", "1", "<!-", "a@b", "www."):
        text = unit * (400_000 // len(unit))
        assert "".join(cut(text, *rules)) == text


def test_bad_rules() -> None:
    with pytest.raises(UsageError, match=r"unknown rule 'url'.*urls"):
        TrainSettings(rules=["url"]).check()
    with pytest.raises(UsageError, match="contradict"):
        TrainSettings(rules=["numbers-whole", "numbers-digits"]).check()
    with pytest.raises(UsageError, match="twice"):
        TrainSettings(rules=["urls", "urls"]).check()
    with pytest.raises(UsageError, match=r"rules=\['urls'\]"):
        TrainSettings(rules="urls").check()
    with pytest.raises(UsageError, match="does not take it"):
        TrainSettings(algorithm="unigram", rules=["urls"]).check()


def test_the_order_of_rules_does_not_matter() -> None:
    one = TrainSettings(rules=["numbers-digits", "urls"])
    two = TrainSettings(rules=("urls", "numbers-digits"))
    assert one == two
    assert one.to_dict()["rules"] == ["urls", "numbers-digits"]
    assert "rules" not in TrainSettings().to_dict()


def test_counts_in_files_know_their_rules(tmp_path: Path) -> None:
    settings = TrainSettings(rules=["urls", "numbers-groups-right"], pattern="code")
    corpus = count_pretokens(iter([TEXT]), settings=settings)
    save_counts(tmp_path / "a.counts", corpus)
    loaded = load_counts(tmp_path / "a.counts")
    found = settings_of_counts(loaded.counts, TrainSettings())
    assert found.rules == settings.rules
    assert found.pattern == "code"


def test_the_command_line_has_the_same_rules(tmp_path: Path) -> None:
    assert CLI_RULES == RULES
    assert set(WHOLE_RULES) | set(APART_RULES) == set(RULES)
    source = tmp_path / "a.txt"
    source.write_text(TEXT * 3, encoding="utf-8")
    out = tmp_path / "out"
    run = CliRunner().invoke(
        app,
        [
            *("train", str(source), "--vocab-size", "300", "-o", str(out), "--pattern", "gpt2"),
            *("-q", "--rule", "urls", "--rule", "numbers-digits"),
        ],
    )
    assert run.exit_code == 0, run.output
    tokenizer = jeton.load(str(out))
    assert "https://www.foo.com/a?b=1#x" in tokenizer.pretokenize(TEXT)
    (card,) = tmp_path.rglob("*card.json")
    assert json.loads(card.read_text())["settings"]["rules"] == ["urls", "numbers-digits"]
    settings = jeton.training.read_card(card).settings
    assert isinstance(settings, jeton.training.TrainSettings)
    assert settings.rules == ("urls", "numbers-digits")
