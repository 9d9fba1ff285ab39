"""Weights and settings of a model follow a change of its vocabulary, straight on the files.

No model is loaded: rows of tables are moved from file to file, new rows are computed from a few old
ones at a time, and everything else is copied. This code also reads a plan back and proves it.

    from jeton.adapt.weights import apply, verify

    apply("my-model/", "my-tokenizer/", output="my-model-extended/")
    verify("my-model-extended/", base="my-model/")
"""

from __future__ import annotations

from jeton._lazy import lazy_names

__all__ = ["METHODS", "Applied", "Verification", "apply", "verify"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "METHODS": "jeton.adapt.weights.methods",
        "Applied": "jeton.adapt.weights.applying",
        "Verification": "jeton.adapt.weights.verifying",
        "apply": "jeton.adapt.weights.applying",
        "verify": "jeton.adapt.weights.verifying",
    },
)
