"""The configuration of LiteLLM: it parses, and holds what the endpoints say."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from jeton.errors import UsageError
from jeton.planning.routing import Router, endpoints, parse_endpoints
from jeton.planning.routing.exporting import EXPORT_PRODUCTS, export_route

FILE = """
[[endpoint]]
name = "Small: one"
model = "openai:gpt-4o-mini"
tokenizer = "jeton-general-32k"
[endpoint.limits]
requests_per_minute = 60
tokens_per_minute = 9000
output_tokens = 4096

[[endpoint]]
name = "small one"
model = "anthropic:claude-haiku-4-5"
tokenizer = "jeton-general-32k"

[[endpoint]]
name = "own"
model = "llama-3-8b"
tokenizer = "jeton-general-32k"
[endpoint.gpu]
name = "h100-sxm"

[policy]
max_seconds = 20
max_ttft_seconds = 2
fallbacks = ["small one"]
"""
SHARES = {"Small: one": 0.335, "small one": 0.0, "own": 0.665}


@pytest.fixture(scope="module")
def router() -> Router:
    # The models' own vocabularies may be at hand or not: exports depend on neither.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(endpoints, "at_hand", lambda family: None)
        return Router(parse_endpoints(FILE))


def test_litellm_has_prices_limits_and_fallbacks(router: Router) -> None:
    found = export_route(router, "litellm", SHARES)
    data = yaml.safe_load(found.text)
    first, second, own, fallback = data["model_list"]
    assert first["litellm_params"] == {
        "model": "openai/gpt-4o-mini",
        "api_key": "os.environ/OPENAI_API_KEY",
        "input_cost_per_token": 1.5e-7,
        "output_cost_per_token": 6e-7,
        "rpm": 60,
        "tpm": 9000,
    }
    assert first["model_info"] == {
        "id": "Small: one", "max_input_tokens": 128_000, "max_output_tokens": 4096,
    }  # fmt: skip
    assert second["litellm_params"]["model"] == "anthropic/claude-haiku-4-5"
    assert own["litellm_params"]["model"] == "hosted_vllm/llama-3-8b"
    assert own["litellm_params"]["api_base"] == "os.environ/OWN_API_BASE"
    assert data["router_settings"] == {
        "routing_strategy": "cost-based-routing",
        "enable_pre_call_checks": True,
        "timeout": 20.0,
        "fallbacks": [{first["model_name"]: [fallback["model_name"]]}],
    }
    assert all(f"# - {loss}" in found.text for loss in found.losses)


def test_weights_of_equal_shares_add_up(router: Router) -> None:
    weighted = replace(router.policy, rule="weighted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(router, "policy", weighted)
        equal, replayed = (
            yaml.safe_load(export_route(router, "litellm", shares).text)["model_list"]
            for shares in (None, SHARES)
        )
    assert [one["litellm_params"].get("weight") for one in equal] == [34, 33, 33, None]
    assert [one["litellm_params"].get("weight") for one in replayed] == [34, 0, 66, None]


def test_a_product_that_is_not_known(router: Router) -> None:
    with pytest.raises(UsageError, match=", ".join(EXPORT_PRODUCTS)):
        export_route(router, "nginx")
