"""Ties between embeddings and output layers, told by bytes and not by a flag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jeton.adapt.weights.matrices import OpenFiles
from jeton.checkpoint.configuration import ModelConfiguration
from jeton.checkpoint.copying import BLOCK_BYTES, read_exactly
from jeton.checkpoint.safetensors import Tensor
from jeton.checkpoint.vocabulary_tensors import Role


def are_equal(one: Tensor, other: Tensor, files: OpenFiles) -> bool:
    """True if two tensors have the same type, shape and bytes."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    for at in range(0, one.n_bytes, BLOCK_BYTES):
        n = min(BLOCK_BYTES, one.n_bytes - at)
        first = read_exactly(files[one.file], one.offset + at, n)
        if first != read_exactly(files[other.file], other.offset + at, n):
            return False
    return True


def tied_names(
    tensors: Mapping[str, Tensor], inputs: Sequence[str], heads: Sequence[str], files: OpenFiles
) -> frozenset[str]:
    """Returns the output layers whose bytes are those of some embeddings."""
    return frozenset(
        head
        for head in heads
        if any(are_equal(tensors[head], tensors[name], files) for name in inputs)
    )


def tie_to_state(
    configuration: ModelConfiguration | None,
    names: Mapping[Role, Sequence[str]],
    tied: frozenset[str],
) -> tuple[bool | None, list[str]]:
    """Returns what ``tie_word_embeddings`` has to become, None where it is right, and notes."""
    heads, inputs = names[Role.HEAD], names[Role.INPUT]
    if configuration is None or not inputs:
        return None, []
    stated = configuration.ties_embeddings
    if not heads:
        if (
            stated is False
            and configuration.architecture is not None
            and (configuration.architecture.endswith(("ForCausalLM", "LMHeadModel")))
        ):
            return None, ["tie_word_embeddings is false and there is no output layer; both stay so"]
        return None, []
    main = min(heads, key=len)
    is_tied = main in tied
    if stated is None or stated is is_tied:
        return None, []
    if is_tied:
        return True, [
            f"tie_word_embeddings was false; {main} has the bytes of {inputs[0]}: now true"
        ]
    return False, [f"tie_word_embeddings was true; {main} differs from {inputs[0]}: now false"]
