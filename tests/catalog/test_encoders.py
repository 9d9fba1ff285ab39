"""Encoders, and models that read one text and write another: parameters, caches, refusals."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from jeton.catalog import gpu, model
from jeton.catalog.encoders import ENCODERS
from jeton.catalog.model_config import facts_of
from jeton.catalog.model_facts import ModelFacts
from jeton.economics import kv_bytes_per_token
from jeton.economics.serving.compute import attention_flops, prefill_flops
from jeton.economics.serving.memory_fit import fit_on
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.serving.parameters import count_parameters
from jeton.economics.traffic.step_times import StepTimes
from jeton.errors import ModelConfigError, UsageError

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("encoders.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Published configurations, and the parameters of the class that each names.

Counted with transformers 5.24 on no device, but for mT5 and ByT5: their files hold an output head
(1.2 GB in fp32 for mT5 small), which that class ties to the input table."""

DAY = datetime.date(2026, 11, 29)


def facts(config: dict[str, Any]) -> ModelFacts:
    return facts_of(config, name="mine", where="config.json", day=DAY)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["config"]["architectures"][0])
def test_parameters_are_those_of_the_class(row: dict[str, Any]) -> None:
    found = facts(row["config"])
    assert count_parameters(found).total == row["n_parameters"]
    assert (
        sum(part.n_parameters for part in MemoryPlan().weight_bytes(found).parts)
        == (row["n_parameters"])
    )


def test_every_class_but_four_has_a_row() -> None:
    rows = {row["config"]["model_type"] for row in ROWS}
    assert set(ENCODERS) - rows == {"camembert", "mpnet", "plbart", "umt5"}


def test_an_encoder_caches_nothing_and_attends_both_ways() -> None:
    bert = model("bert-base-uncased")
    assert kv_bytes_per_token(bert) == 0
    assert attention_flops(bert, 512) == 12 * 4 * 768 * 512**2
    assert attention_flops(model("longformer-base-4096"), 4096) == 12 * 4 * 768 * 4096 * 512


def test_layers_that_share_tensors_work_each_time() -> None:
    albert, bert = model("albert-base-v2"), model("bert-base-uncased")
    assert count_parameters(albert).total * 9 < count_parameters(bert).total
    # One projection from the narrow table is all that differs.
    extra = prefill_flops(albert, 1).linear - prefill_flops(bert, 1).linear
    tables = 2 * 128 * 768 + 2 * (30_000 * 128 - 30_522 * 768)
    assert extra == tables


def test_a_token_is_read_or_written_and_has_one_entry() -> None:
    # Six layers that write keep keys and values of 512 elements in 16 bits.
    assert kv_bytes_per_token(model("t5-small")) == 6 * 2 * 512 * 2


def test_a_batch_takes_activations_alone() -> None:
    bert = model("bert-base-uncased")
    fit = fit_on(bert, gpu("l4"), MemoryPlan(), request_tokens=512)
    assert fit.batch_tokens
    assert fit.n_requests == fit.batch_tokens // 512
    # The residual stream three times and the MLP's two inner widths, in 16 bits.
    room = fit.budget.kv_bytes + fit.budget.activation_bytes
    assert fit.batch_tokens == room // ((3 * 768 + 2 * 3072) * 2)


def test_traffic_of_an_encoder_is_not_replayed() -> None:
    for name in ("bert-base-uncased", "t5-small"):
        with pytest.raises(UsageError, match="reads a text whole"):
            StepTimes.of(model(name), gpu("l4"))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "fnet", "architectures": ["FNetModel"]}, "'fnet' are not known"),
        ({"model_type": "pegasus_x", "is_encoder_decoder": True}, "reads one text and writes"),
        ({**ROWS[0]["config"], "num_attention_heads": 7}, "does not divide the width"),
        ({**ROWS[0]["config"], "num_hidden_layers": 5000}, "at most 4,096"),
        ({**ROWS[0]["config"], "hidden_size": 1 << 60}, "expected a size"),
        ({**ROWS[0]["config"], "vocab_size": "many"}, "expected a whole number"),
    ],
)
def test_other_models_are_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelConfigError, match=words):
        facts(config)
