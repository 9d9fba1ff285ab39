"""Static reservation, pages as they come and predicted lengths, on real traffic replayed."""

from __future__ import annotations

from jeton.catalog import gpu, model
from jeton.corpus.traces import read_trace
from jeton.economics.traffic import POLICIES, Policy, Server, simulate_traffic
from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "KIND", "SERVERS", "TRACES", "measure"]

ABOUT = "Tokens per second and memory in use of a GPU that is never short of work, by policy"
KIND = "long"

SERVERS = {
    "llama-3-8b.h100": ("llama-3-8b", "h100"),
    "llama-3-8b.l4": ("llama-3-8b", "l4"),
    "llama-2-7b.a100-40gb": ("llama-2-7b", "a100-40gb"),
}
"""Memory enough, little of it, and a model with a large cache."""

TRACES = {
    "conversation": "AzureLLMInferenceTrace_conv.csv",
    "code": "AzureLLMInferenceTrace_code.csv",
}

_SECONDS = 1200.0
"""Seconds of each trace; the rest says the same."""

_AT_ONCE = 1e6
"""Density of traffic at which all of it has come before the first answer is done."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group. There is one trace each, so there are no intervals."""
    figures: dict[str, Figure] = {}
    for trace_name, file in TRACES.items():
        trace = read_trace(data.folder / "traces" / file)
        trace = trace.part(seconds=_SECONDS).part(rate_factor=_AT_ONCE)
        for key, (model_name, gpu_name) in SERVERS.items():
            server = Server(model(model_name), gpu(gpu_name))
            rates: dict[str, float] = {}
            for name in POLICIES:
                run = simulate_traffic(trace, server, policy=Policy(name))
                rates[name] = run.tokens_per_second
                at = f"{trace_name}.{key}.{name}"
                n = run.n_answered
                figures[f"tokens-per-second.{at}"] = Figure(rates[name], "tokens per second", n=n)
                figures[f"held.{at}"] = Figure(run.mean_held_share, "share", n=n)
                figures[f"preempted.{at}"] = Figure(run.n_preempted_requests / n, "share", n=n)
            for other in ("static", "dynamic"):
                figures[f"lift-over-{other}.{trace_name}.{key}"] = Figure(
                    rates["prediction"] / rates[other] - 1, "share", n=len(trace)
                )
    return figures
