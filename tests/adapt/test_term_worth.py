"""Worth of slots: sums are the tokens that the text needs less, and intervals are by document."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton import catalog
from jeton.adapt.extending import extend
from jeton.adapt.reading import Reading
from jeton.adapt.slot_worth import SlotCounter, free_slots
from jeton.adapt.term_worth import term_worth
from jeton.errors import UsageError
from tests.adapt.test_extending import BASES, DOMAIN, GENERAL

TEXTS = [*DOMAIN, *GENERAL]


@pytest.mark.parametrize("name", ["bpe", "sentencepiece-bpe"])
def test_worth_of_all_slots_is_what_the_text_needs_less(name: str) -> None:
    base = BASES[name]
    found = term_worth(iter(TEXTS), base=base, terms=["hepatocyte", "fibrosis"], n_slots=20)
    by_hand = sum(map(base.count, TEXTS))
    assert found.n_tokens_before == by_hand
    assert sum(slot.n_saved for slot in found.slots) == by_hand - found.n_tokens_after
    assert found.slots[-1].n_saved_together == by_hand - found.n_tokens_after
    assert found.n_tokens_after == sum(
        map(
            extend(
                iter(TEXTS),
                base=base,
                n_tokens=20,
                terms=["fibrosis", "hepatocyte"],
                reading=Reading(hold_out=0),
            ).tokenizer.count,
            TEXTS,
        )
    )


def test_each_slot_counts_what_those_before_it_leave() -> None:
    base = BASES["bpe"]
    found = extend(iter(DOMAIN), base=base, n_tokens=8, reading=Reading(hold_out=0))
    for n in (1, 4, 8):
        part = extend(iter(DOMAIN), base=base, n_tokens=n, reading=Reading(hold_out=0))
        counter = SlotCounter(base, found.tokenizer, found.new_tokens)
        counter.add(jeton.TextBatch.from_texts(DOMAIN))
        less = sum(map(base.count, DOMAIN)) - sum(map(part.tokenizer.count, DOMAIN))
        assert int(counter.saved[:n].sum()) == less
        # What continued training said when it chose the token is the same figure.
        assert counter.saved.tolist() == [new.n_saved for new in found.new_tokens]


def test_intervals_are_by_document() -> None:
    base = BASES["bpe"]
    even = term_worth(iter(["a zebra here"] * 40), base=base, terms=["zebra"])
    uneven = term_worth(iter(["a zebra here" * 40, *["here"] * 39]), base=base, terms=["zebra"])
    last = even.slots[-1]
    assert (last.half_width, last.n_documents) == (0.0, 40)
    slot = uneven.slots[-1]
    # One document of 40 has all 40: the total's standard deviation is 40 * sqrt(40 / 40) = 40.
    assert slot.n_saved == 40
    assert slot.half_width == pytest.approx(1.959964 * np.sqrt((1600 - 40) * 40 / 39), rel=1e-6)
    assert slot.n_documents == 1


def test_terms_come_by_use_and_absent_ones_are_told() -> None:
    text = ["a zebra and a quagga", "a zebra", "an okapi"]
    found = term_worth(iter(text), base=BASES["bpe"], terms=["quagga", "zebra", "dodo"])
    made = [slot.token.token_bytes for slot in found.slots if slot.token.origin == "term"]
    assert made == [b" zebra", b" quagga"]
    assert dict(found.left_out_terms) == {"dodo": "does not occur in this text"}


def test_stop_rule_needs_model_and_gpu_and_has_money() -> None:
    found = term_worth(
        iter(DOMAIN),
        base=BASES["bpe"],
        n_slots=8,
        model=catalog.model("llama-3.2-1b"),
        gpu=catalog.gpu("h100-sxm"),
        requests_per_day=1_000_000,
    )
    stop = found.stop
    assert stop is not None
    assert stop.n_slots == 8
    assert stop.is_at_an_end
    assert stop.row_bytes == 4096  # 2,048 wide, one table for input and output, 2 bytes each
    assert stop.usd_per_month is not None
    per_request = stop.usd_per_request_before - stop.usd_per_request_after
    assert float(stop.usd_per_month) == pytest.approx(float(per_request) * 1e6 * 30.4375)
    with pytest.raises(UsageError, match="a model needs a GPU"):
        term_worth(iter(DOMAIN), base=BASES["bpe"], model=catalog.model("llama-3.2-1b"))


def test_standard_input_cannot_be_read_twice() -> None:
    with pytest.raises(UsageError, match="standard input can be read once"):
        term_worth(["-"], base=BASES["bpe"])


def test_free_slots_of_a_tokenizer() -> None:
    special = ["<|end|>", "<|reserved_special_token_0|>"]
    base = jeton.train(iter(GENERAL), vocab_size=280, special_tokens=special)
    free = free_slots(base)
    assert free.reserved == (base.special_tokens["<|reserved_special_token_0|>"],)
    assert (free.holes, free.unreachable, free.undertrained, free.padding_rows) == ((), (), (), 0)
    assert free.n_ready == 1


def test_rows_of_a_model_tell_what_was_never_trained(tmp_path: Path) -> None:
    base = BASES["bpe"]
    rows = np.ones((base.vocab_size + 8, 4), dtype=np.float32)
    rows[[300 % base.vocab_size, 7]] = 0.0
    rows[11] *= 0.1
    entry = {"dtype": "F32", "shape": list(rows.shape), "data_offsets": [0, rows.nbytes]}
    header = json.dumps({"model.embed_tokens.weight": entry}).encode()
    data = len(header).to_bytes(8, "little") + header + rows.tobytes()
    (tmp_path / "model.safetensors").write_bytes(data)
    (tmp_path / "config.json").write_text("{}")
    free = free_slots(base, tmp_path)
    special = set(base.special_tokens.values())
    assert free.padding_rows == 8
    assert set(free.undertrained) == {300 % base.vocab_size, 7, 11} - special
