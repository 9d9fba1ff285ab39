"""Endpoints on GPUs of one's own: the engine's settings, its log, and requests side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from jeton.errors import UsageError
from jeton.planning.routing.endpoint_files import parse_endpoints
from jeton.planning.routing.lanes import Lane, lane_of

OWN = """
[[endpoint]]
name = "own"
model = "llama-3.1-8b"
tokenizer = "jeton-general-32k"
[endpoint.gpu]
name = "l4"
input_tokens = 20000
output_tokens = 2000
"""

LOG = """\
Model loading took 14.99 GiB and 3.2 seconds
Available KV cache memory: 5.59 GiB
GPU KV cache size: 45,792 tokens
"""


def lane(settings: str, folder: Path | None = None) -> Lane:
    found = parse_endpoints(OWN + settings, folder=folder)
    return lane_of(found.endpoints[0], 0)


def test_no_more_side_by_side_than_fit() -> None:
    assert lane("concurrent_requests = 1").rates(0, 0.0).output > 0
    with pytest.raises(UsageError, match="1 of 20,000") as found:
        lane("concurrent_requests = 64")
    assert found.value.exit_code == 1


def test_settings_of_the_engine() -> None:
    assert lane("max_model_len = 24000").context_tokens == 24_000
    with pytest.raises(UsageError, match="endpoint 'own': vllm refuses it"):
        lane("max_model_len = 131072")
    with pytest.raises(UsageError, match="endpoint 'own'"):
        lane("n_gpus = 1\ngpu_memory_utilization = 0.6")


def test_a_log_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "vllm.log").write_text(LOG, encoding="utf-8")
    share = "gpu_memory_utilization = 0.95\nconcurrent_requests = 2\n"
    with pytest.raises(UsageError, match="1 of 20,000"):
        lane(share)
    assert lane(share + 'calibrate = "vllm.log"', tmp_path).rates(0, 0.0).output > 0
