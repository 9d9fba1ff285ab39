"""Sizes counted from the shape against published sizes: this is what catches a wrong fact."""

from __future__ import annotations

import pytest

from jeton.catalog import ModelFacts, model, models
from jeton.economics import count_parameters
from jeton.economics.serving.parameters import table_rows
from jeton.errors import UsageError

EXACT_TOTALS = {
    # Tensor sizes of the published checkpoints, as KerasHub's presets and the model pages list
    # them; independent of the shapes in the catalog.
    "gpt2": 124_439_808,
    "llama-2-7b": 6_738_415_616,
    "llama-3-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.2-1b": 1_235_814_400,
    "mistral-7b-v0.1": 7_241_732_096,
    "mixtral-8x7b-v0.1": 46_702_792_704,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-7b": 7_615_616_512,
    "qwen3-8b": 8_190_735_360,
    "qwen3-30b-a3b": 30_532_122_624,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "phi-3-mini-4k": 3_821_079_552,
    "phi-4": 14_659_507_200,
    "smollm2-1.7b": 1_711_376_384,
    "gpt-oss-20b": 20_914_757_184,
    "gpt2-xl": 1_557_611_200,
    "pythia-6.9b": 6_857_302_016,
    "llama-2-13b": 13_015_864_320,
    "codellama-34b": 33_743_970_304,
    "llama-3.2-3b": 3_212_749_824,
    "tinyllama-1.1b": 1_100_048_384,
    "mistral-7b-v0.3": 7_248_023_552,
    "mistral-nemo-12b": 12_247_782_400,
    "mistral-small-24b": 23_572_403_200,
    "mistral-large-2": 122_610_069_504,
    "mixtral-8x22b-v0.1": 140_620_634_112,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-4b": 4_022_468_096,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "qwen3-235b-a22b": 235_093_634_560,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
    "gpt-oss-120b": 116_829_156_672,
    "deepseek-v2": 235_741_434_880,
    "deepseek-v2-lite": 15_706_484_224,
    "olmo-2-13b": 13_716_198_400,
    "smollm2-135m": 134_515_008,
    "smollm2-360m": 361_821_120,
    "smollm3-3b": 3_075_098_624,
    "yi-34b": 34_388_917_248,
    "jamba-v0.1": 51_570_323_328,
}


@pytest.mark.parametrize("facts", models(), ids=lambda m: m.name)
def test_size_from_the_shape_is_the_published_size(facts: ModelFacts) -> None:
    assert count_parameters(facts).total == pytest.approx(facts.n_parameters, rel=0.01)


@pytest.mark.parametrize(("name", "total"), EXACT_TOTALS.items())
def test_size_is_exact_to_the_parameter(name: str, total: int) -> None:
    assert count_parameters(model(name)).total == total


@pytest.mark.parametrize(
    "name",
    [
        "mixtral-8x7b-v0.1",
        "mixtral-8x22b-v0.1",
        "qwen3-30b-a3b",
        "qwen3-235b-a22b",
        "deepseek-v2",
        "deepseek-v3",
        "jamba-v0.1",
    ],
)
def test_active_size_of_experts(name: str) -> None:
    facts = model(name)
    # Published with two digits (3.3B, 37B): 2%.
    assert count_parameters(facts).active == pytest.approx(facts.n_active_parameters, rel=0.02)


@pytest.mark.parametrize(
    ("name", "active"),
    [("gpt-oss-20b", 3.6e9), ("gpt-oss-120b", 5.1e9), ("deepseek-v2-lite", 2.4e9)],
)
def test_active_size_that_is_published_without_the_input_table(name: str, active: float) -> None:
    count = count_parameters(model(name))
    assert count.active - count.input_embedding == pytest.approx(active, rel=0.025)


def test_active_size_of_a_hybrid_is_published_without_both_tables() -> None:
    # "80B in total and 3B activated": one digit.
    count = count_parameters(model("qwen3-next-80b-a3b"))
    assert round((count.active - 2 * count.input_embedding) / 1e9) == 3


def test_every_catalog_model_has_its_published_size() -> None:
    assert len(models()) >= 40
    assert len(EXACT_TOTALS) >= 40


@pytest.mark.parametrize("facts", models(), ids=lambda m: m.name)
def test_dense_models_are_wholly_active_and_sparse_ones_are_not(facts: ModelFacts) -> None:
    count = count_parameters(facts)
    if "albert" in facts.name:  # One set of tensors works in each layer.
        assert count.active > count.total
    else:
        assert (count.active == count.total) == (facts.experts is None)


@pytest.mark.parametrize("name", ["gpt2", "llama-3-8b"])
def test_another_vocabulary_changes_only_the_tables(name: str) -> None:
    facts = model(name)
    own, other = count_parameters(facts), count_parameters(facts, vocab_size=32_000)
    n_tables = 1 if facts.tied_embeddings else 2
    difference = n_tables * (facts.vocab_size - 32_000) * facts.hidden_size
    assert own.total - other.total == difference
    assert own.layer_matrices == other.layer_matrices


@pytest.mark.parametrize(
    ("name", "vocab_size", "rows"),
    [
        ("qwen2.5-7b", 151_643, 152_064),  # its own ids
        ("deepseek-v3", 128_815, 129_280),  # its own ids
        ("gpt-oss-20b", 199_998, 201_088),  # its own ids
        ("llama-3-8b", 128_256, 128_256),
        ("llama-3-8b", 128_257, 128_257),  # one more does not fit
        ("llama-3-8b", 100_277, 100_277),
        ("llama-3-8b", 200_019, 200_019),
    ],
)
def test_padding_of_the_table_is_not_taken_for_another_vocabulary(
    name: str, vocab_size: int, rows: int
) -> None:
    assert table_rows(model(name), vocab_size) == rows


def test_an_empty_vocabulary_is_refused() -> None:
    with pytest.raises(UsageError, match="vocab_size is 0"):
        count_parameters(model("gpt2"), vocab_size=0)


def test_attention_is_a_part_of_the_matrices() -> None:
    # Llama-3-8B: 32 layers of 4,096 x 4,096 queries and outputs, 4,096 x 1,024 keys and values.
    count = count_parameters(model("llama-3-8b"))
    assert count.attention_matrices == 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024)
    assert count.layer_matrices - count.attention_matrices == 32 * 3 * 4096 * 14_336
    for facts in models():
        each = count_parameters(facts)
        assert 0 < each.attention_matrices < each.active_layer_matrices, facts.name
