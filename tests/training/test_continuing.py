"""Continuing a tokenizer: old ids stay, no text needs more tokens, and what the new tokens save."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton._core import from_tiktoken, from_vocab_txt
from jeton.cli.app import app
from jeton.corpus import CorpusCare
from jeton.errors import TrainingError
from jeton.formats import card_path
from jeton.training import (
    ContinueSettings,
    TrainingCard,
    continue_from_counts,
    continue_training,
    count_pretokens,
    read_card,
)

pytestmark = pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")

_GENERAL = ["the low lower lowest of the slow rows, the crows. 1234567!"] * 8
_DOMAIN = ["hydroxychloroquine lowers the slow flow\nof chloroquine (the chloro-rows)"] * 8


def _as_ranks(tokenizer: jeton.Tokenizer) -> jeton.Tokenizer:
    """Write the tokenizer as a file of ranks, where any pair may merge whose bytes are a token."""
    return from_tiktoken(
        tokenizer.to_tiktoken(), pattern="llama3", special_tokens={"<|endoftext|>": 300}
    )


@pytest.fixture(scope="module", params=["list", "ranks", "superwords"])
def base(request: pytest.FixtureRequest) -> jeton.Tokenizer:
    if request.param == "superwords":
        return jeton.train(iter(_GENERAL), algorithm="superbpe", vocab_size=300)
    if request.param == "list":
        return jeton.train(iter(_GENERAL), vocab_size=290)
    return _as_ranks(jeton.train(iter(_GENERAL), vocab_size=290, special_tokens=()))


def test_old_ids_keep_their_meaning(base: jeton.Tokenizer) -> None:
    more = continue_training(iter(_DOMAIN), base=base, vocab_size=base.vocab_size + 12).tokenizer
    assert more.vocab_size == base.vocab_size + 12
    for token, id in ((bytes([byte]), base.bytes_to_id(bytes([byte]))) for byte in range(256)):
        assert more.bytes_to_id(token) == id
    for text in _GENERAL:
        for id in base.encode(text):
            assert more.id_to_bytes(id) == base.id_to_bytes(id)
    assert more.special_tokens == base.special_tokens


def test_no_text_needs_more_tokens(base: jeton.Tokenizer) -> None:
    more = continue_training(iter(_DOMAIN), base=base, vocab_size=base.vocab_size + 30).tokenizer

    @settings(max_examples=80, deadline=None)
    @given(
        st.lists(st.sampled_from(["chloro", "quine", "low", " the", "w", "s", "1", "\n", " ", "r"]))
        | st.lists(st.characters(codec="utf-8"), max_size=20)
    )
    def check(parts: list[str]) -> None:
        text = "".join(parts)
        ids = more.encode(text)
        assert len(ids) <= len(base.encode(text))
        assert more.decode(ids) == text
        # Undoing the new merges gives what the old tokenizer gives.
        assert [id for new in ids for id in _undone(more, base, new)] == base.encode(text)

    check()


def _undone(more: jeton.Tokenizer, base: jeton.Tokenizer, id: int) -> list[int]:
    """The old ids of a new one, by its bytes: as one pretoken, which they are part of."""
    return [id] if id < base.vocab_size else base.encode(more.id_to_bytes(id).decode())


def test_the_report_counts_what_it_says(base: jeton.Tokenizer) -> None:
    found = continue_training(iter(_DOMAIN), base=base, vocab_size=base.vocab_size + 10)
    before = int(base.count_batch(_DOMAIN).sum())
    after = int(found.tokenizer.count_batch(_DOMAIN).sum())
    assert (found.n_tokens_before, found.n_tokens_after) == (before, after)
    # Merges are chosen by what they save, and what all of them save together is the difference.
    saved = [new.n_saved for new in found.new_tokens]
    assert saved == sorted(saved, reverse=True)
    ids = found.tokenizer.encode_batch(_DOMAIN).ids.tolist()
    assert [new.n_uses for new in found.new_tokens] == [ids.count(n.id) for n in found.new_tokens]
    assert sum(new.n_saved_in_use for new in found.new_tokens) == before - after


def test_what_cannot_be_continued_says_why() -> None:
    base = jeton.train(iter(_GENERAL), vocab_size=270)
    with pytest.raises(TrainingError, match="vocab_size is 270, but the tokenizer to continue has"):
        continue_training(iter(_DOMAIN), base=base, vocab_size=270)
    tiny = b"[UNK]\na\n##b\n"
    wordpiece = from_vocab_txt(tiny)
    with pytest.raises(TrainingError, match="only BPE on bytes can be continued"):
        continue_training(iter(_DOMAIN), base=wordpiece, vocab_size=300)


def test_the_command_line(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("\n".join(_DOMAIN), encoding="utf-8")
    base_file = tmp_path / "base.json"
    base = jeton.train(iter(_GENERAL), vocab_size=270)
    base.save(base_file)
    words = ["train", str(notes), "--base", str(base_file), "--vocab-size", "275"]
    output = tmp_path / "more.json"
    found = CliRunner().invoke(app, [*words, "-o", str(output), "--json"])
    assert found.exit_code == 0, found.output
    facts = json.loads(found.stdout)
    assert [new["id"] for new in facts["new_tokens"]] == [270, 271, 272, 273, 274]
    assert facts["n_tokens_after"] < facts["n_tokens_before"]
    text = notes.read_text(encoding="utf-8")
    assert len(jeton.load(str(output)).encode(text)) == facts["n_tokens_after"]
    told = CliRunner().invoke(app, [*words, "-o", str(output)])
    assert "275 ids, 5 of them new" in told.stderr
    refused = CliRunner().invoke(app, [*words, "-o", str(output), "--pattern", "gpt2"])
    assert refused.exit_code == 2
    assert "--pattern cannot be given with --base" in refused.stderr


def test_the_card_tells_of_the_base_and_counts_serve_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("\n".join(_DOMAIN), encoding="utf-8")
    base_file = tmp_path / "base.json"
    base = jeton.train(iter(_GENERAL), vocab_size=270)
    base.save(base_file)
    run = CliRunner()
    words = ["--base", str(base_file), "--vocab-size", "275", "-q"]
    done = run.invoke(app, ["train", str(notes), *words, "-o", str(tmp_path / "more")])
    assert done.exit_code == 0, done.output
    more = jeton.load(str(tmp_path / "more"))
    path = card_path(tmp_path / "more")
    assert str(path) in done.stdout
    card = read_card(path)
    assert card.fingerprint == more.fingerprint
    assert isinstance(card.settings, ContinueSettings)
    assert (card.settings.vocab_size, card.settings.min_frequency) == (275, 1)
    assert card.base is not None
    assert (card.base.fingerprint, card.base.vocab_size) == (
        jeton.load(str(base_file)).fingerprint,
        270,
    )
    assert card.learned["n_new_tokens"] == 5
    assert card.n_bytes == notes.stat().st_size
    assert TrainingCard.from_dict(card.to_dict()) == card
    none = run.invoke(
        app, ["train", str(notes), *words, "--no-card", "-o", str(tmp_path / "n.json")]
    )
    assert none.exit_code == 0
    assert not card_path(tmp_path / "n.json").exists()

    counts = tmp_path / "notes.counts"
    counted = run.invoke(
        app, ["count-pretokens", str(notes), "--base", str(base_file), "-q", "-o", str(counts)]
    )
    assert counted.exit_code == 0, counted.output
    limited = ("--from-counts", "--max-memory", "16MiB", "-o", str(tmp_path / "again"))
    again = run.invoke(app, ["train", str(counts), *words, *limited])
    assert again.exit_code == 0, again.output
    assert jeton.load(str(tmp_path / "again")).fingerprint == more.fingerprint
    plain = tmp_path / "plain.counts"
    assert (
        run.invoke(
            app, ["count-pretokens", str(notes), "--pattern", "qwen", "-o", str(plain)]
        ).exit_code
        == 0
    )
    refused = run.invoke(
        app, ["train", str(plain), *words, "--from-counts", "-o", str(tmp_path / "no")]
    )
    assert refused.exit_code == 2
    assert "not cut as the tokenizer to continue" in refused.stderr


def test_weights_count_in_documents_of_weight_one() -> None:
    base = jeton.train(iter(_GENERAL), vocab_size=270)
    plain = count_pretokens(iter(_DOMAIN), base=base)
    thirds = CorpusCare(weights={"<texts>": Fraction(1, 3)})
    weighted = count_pretokens(iter(_DOMAIN * 3), base=base, care=thirds)
    settings = ContinueSettings(vocab_size=276, min_frequency=3)
    one = continue_from_counts(plain, base=base, settings=settings)
    other = continue_from_counts(weighted, base=base, settings=settings)
    assert one.tokenizer.fingerprint == other.tokenizer.fingerprint
    assert (one.n_tokens_before, one.new_tokens) == (other.n_tokens_before, other.new_tokens)
