"""Bytes of a checkpoint's tensors by part, from headers of safetensors and GGUF files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jeton._foreign import json_of
from jeton.catalog.layers import Role
from jeton.checkpoint.safetensors import read_header
from jeton.checkpoint.weights import is_lfs_pointer
from jeton.errors import FormatError

_INDEX: Final = "model.safetensors.index.json"
_MAX_INDEX_BYTES: Final = 256 << 20

_ROLES: Final[tuple[tuple[str, Role], ...]] = (
    (r"(?:^|\.)(?:mtp|nextn|eh_proj|enorm|hnorm)(?:\.|$)", "mtp"),
    (
        r"(?:^|\.)(?:visual|vision\w*|vit|audio\w*|speech\w*|multi_modal_projector|mm_projector|"
        r"connector|embed_vision|embed_audio|patch_merger|thinker\.audio_tower|v|mm)\.",
        "vision",
    ),
    (r"(?:^|\.)(?:lm_head|output|embed_out)\.", "head"),
    (
        r"(?:^|\.)(?:embed_tokens\w*|embeddings|wte|wpe|tok_embeddings|token_embd\w*)\.?",
        "embedding",
    ),
    (r"\.(?:experts?\.\d+|experts|w[123])\.|experts\.|_exps\.", "experts"),
    (
        r"\.(?:gate|router)\.(?:weight|bias|e_score|wg|scale)|shared_expert_gate|ffn_gate_inp",
        "gate",
    ),
    (r"norm|layernorm|\bln_", "norms"),
    (r"attn|attention|mamba|mixer|ssm|conv|delta|indexer", "attention"),
    (r"mlp|feed_forward|ffn|shared", "mlp"),
)


@dataclass(frozen=True, slots=True)
class TensorBytes:
    """Bytes of the tensors of a checkpoint.

    Attributes:
        parts: Bytes by part of the model, element type and whether all of it is certain.
        total: All bytes.
        source: The files.
        n_tensors: Tensors; those with unknown sizes included.
    """

    parts: tuple[tuple[Role, str, int], ...]
    total: int
    source: str
    n_tensors: int

    def of(self, *roles: str) -> int:
        """Return the bytes of some parts."""
        return sum(size for role, _, size in self.parts if role in roles)


def role_of_tensor(name: str, n_layers: int | None = None) -> Role:
    """Return the part of the model that a tensor belongs to, by its name.

    Layers beyond the model's own predict further tokens.
    """
    layer = re.search(r"(?:\.layers|^blk)\.(\d+)\.", name)
    if layer is not None and n_layers is not None and int(layer[1]) >= n_layers:
        return "mtp"
    for pattern, role in _ROLES:
        if re.search(pattern, name):
            return role
    return "norms" if name.endswith(("bias", "scale")) else "mlp"


def folder_tensors(folder: Path) -> TensorBytes | None:
    """Return the bytes of a folder's tensors; None without files of weights.

    Headers say each tensor. An index without its files says the sum alone.

    Raises:
        FormatError: A header is damaged.
    """
    index = folder / _INDEX
    names, total = _indexed(index)
    if names is None:
        names = sorted(
            file.name
            for file in folder.glob("*.safetensors")
            if not file.name.startswith(("consolidated", "adapter"))
        )
    files = [folder / name for name in names]
    if not files:
        return None
    if not all(file.is_file() and not is_lfs_pointer(file) for file in files):
        if total is None:
            return None
        return TensorBytes((("mlp", "unknown", total),), total, str(index), 0)
    return summed(
        (
            (tensor.name, tensor.dtype, tensor.n_bytes)
            for file in files
            for tensor in read_header(file).tensors.values()
        ),
        _n_layers(folder),
        f"headers of {len(files):,} safetensors file{'s' if len(files) > 1 else ''} in {folder}",
    )


def summed(
    tensors: Iterable[tuple[str, str, int]], n_layers: int | None, source: str
) -> TensorBytes:
    """Return the bytes of tensors by part: name, element type and bytes of each."""
    found: dict[tuple[Role, str], int] = {}
    n = 0
    for name, dtype, size in tensors:
        n += 1
        key = role_of_tensor(name, n_layers), dtype
        found[key] = found.get(key, 0) + size
    parts = tuple((role, dtype, size) for (role, dtype), size in sorted(found.items()))
    return TensorBytes(parts, sum(found.values()), source, n)


def _indexed(index: Path) -> tuple[list[str] | None, int | None]:
    """Return the files and the sum that an index names; None where there is none."""
    if not index.is_file():
        return None, None
    if index.stat().st_size > _MAX_INDEX_BYTES:
        raise FormatError(f"{index}: larger than an index ({_MAX_INDEX_BYTES:,} bytes)")
    try:
        data = json_of(index.read_text(encoding="utf-8"))
        names = sorted({Path(str(name)).name for name in data["weight_map"].values()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(
            f"{index}: no index of safetensors files: {error}\nhint: fetch the file again"
        ) from error
    total = data.get("metadata", {}) if isinstance(data.get("metadata"), dict) else {}
    size = total.get("total_size")
    if not isinstance(size, int | float) or not 0 < size < 1 << 53:
        return names, None
    return names, int(size)


def _n_layers(folder: Path) -> int | None:
    try:
        config = json_of((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(config, dict):
        return None
    for table in (config.get("text_config"), config):
        n = table.get("num_hidden_layers") if isinstance(table, dict) else None
        if isinstance(n, int):
            return n
    return None
