"""Memory as engines have it, case by case: ``memory/*.json``.

Each case says where it comes from and how its right value is worked out. Published logs are in
`test_published_logs`.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from jeton import economics
from jeton.catalog import GpuFacts, ModelFacts, gpu, model, model_from_config
from jeton.economics.serving import memory
from jeton.economics.serving.capacity import longest_context
from jeton.economics.serving.memory_plan import changed_plan
from jeton.errors import ModelConfigError

FOLDER = Path(__file__).with_name("memory")
CASES = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in FOLDER.glob("*.json")}

# What a configuration does not tell.
_UNTOLD = {
    "folder",
    "name",
    "aliases",
    "n_parameters",
    "n_active_parameters",
    "tokenizer",
    "license",
    "source",
    "date",
    "weights_source",
    "extra_parts",  # A vision tower, where the case has the text's configuration alone.
    "model_type",
    "quantization",  # Rules that name other tensors and come to the same bytes.
}


def cases(*kinds: str) -> list[Any]:
    return [
        pytest.param(case, id=name) for name, case in sorted(CASES.items()) if case["kind"] in kinds
    ]


def agrees(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and "at_least" in expected:
        return bool(expected["at_least"] <= found <= expected["at_most"])
    return bool(found == expected)


def card(name: str | dict[str, float]) -> GpuFacts:
    """A GPU of the catalog, or one with so many GB of 10^9 bytes."""
    if isinstance(name, str):
        return gpu(name)
    return dataclasses.replace(gpu("l4"), name="card", memory_bytes=int(name["memory_gb"] * 10**9))


def value(function: str, facts: ModelFacts, arguments: dict[str, Any]) -> Any:
    given = dict(arguments)
    device = card(given.pop("gpu")) if "gpu" in given else None
    if function == "weight_bytes":
        return economics.weight_bytes(facts, **given).total
    if function == "fit":
        assert device is not None
        length = given.pop("request_tokens", 1)
        plan = changed_plan(**given)
        return economics.fit_on(facts, device, plan, request_tokens=length).to_dict()
    if function == "capacity":
        assert device is not None
        workload = economics.RequestLengths.of([given.pop("prompt_tokens")])
        found = economics.workload_capacity(facts, device, workload, **given)
        tokens = found.n_requests_mean * workload.prompt_tokens_mean
        return {"n_tokens": found.n_tokens, "tokens_of_mean": tokens}
    if function == "longest_context":
        assert device is not None
        return longest_context(facts, device, **given)
    if "kv_dtype" in given:
        plan = economics.MemoryPlan(kv_dtype=given.pop("kv_dtype"))
        given["dtype_bytes"] = plan.element(facts)
    return getattr(memory, function)(facts, **given)


@pytest.mark.parametrize("case", cases("figures"))
def test_figures(case: dict[str, Any]) -> None:
    for check in case["checks"]:
        found = value(check["function"], model(check["model"]), check["arguments"])
        expected = check["expected"]
        if isinstance(found, dict):
            for name, wanted in expected.items():
                assert agrees(found[name], wanted), (check, name, found[name])
        else:
            assert agrees(found, expected), (check, found)


def written(config: dict[str, Any], folder: Path) -> Path:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.mark.parametrize("case", cases("config"))
def test_a_configuration_is_read_as_the_catalog_has_it(
    case: dict[str, Any], tmp_path: Path
) -> None:
    found, known = model_from_config(written(case["config"], tmp_path)), model(case["same_as"])
    for field in dataclasses.fields(known):
        if field.name not in _UNTOLD:
            assert getattr(found, field.name) == getattr(known, field.name), field.name
    if found.extra_parts == known.extra_parts:
        assert economics.weight_bytes(found).total == economics.weight_bytes(known).total
    assert model(str(tmp_path)) == found
    assert model(str(tmp_path / "config.json")) == found


@pytest.mark.parametrize("case", cases("config-figures"))
def test_a_configuration_of_ones_own(case: dict[str, Any], tmp_path: Path) -> None:
    facts = model_from_config(written(case["config"], tmp_path))
    for name, expected in case["expected"].items():
        if name == "kv_bytes_at":
            assert economics.kv_bytes(facts, expected[0]) == expected[1]
            continue
        room = memory if hasattr(memory, name) else economics
        found = getattr(room, name)(facts)
        assert agrees(getattr(found, "total", found), expected), (name, found)


@pytest.mark.parametrize("case", cases("refused-config"))
def test_what_is_not_known_is_refused_by_name(case: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ModelConfigError) as caught:
        model_from_config(written(case["config"], tmp_path))
    assert caught.value.field == case["field"]
    for words in (*case["says"], "hint: "):
        assert words in str(caught.value)
