"""A small model directory that is healthy, and ways to make it ill."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton import Tokenizer
from jeton._core import from_hf_json
from tests.formats import small

N_BASE = 265
SPECIAL = {"<pad>": 265, "<s>": 266, "</s>": 267, "<|im_start|>": 268, "<|im_end|>": 269}
PAD, BOS, EOS, TURN, TURN_END = SPECIAL.values()
N_TOKENS = 270
N_ROWS = 320
HIDDEN = 8
CONTEXT = 64

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer_json(
    *,
    special: Mapping[str, int] = SPECIAL,
    bos: bool = False,
    normalizer: Mapping[str, Any] | None = None,
    merges: Sequence[str] | None = None,
) -> dict[str, Any]:
    """A byte-level BPE as tokenizer.json."""
    pairs = [" ".join(p) for p in _PAIRS] if merges is None else list(merges)
    vocab = {token: i for i, token in enumerate(small.spelled())}
    single: list[dict[str, Any]] = [{"Sequence": {"id": "A", "type_id": 0}}]
    if bos:
        single.insert(0, {"SpecialToken": {"id": "<s>", "type_id": 0}})
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": i,
                "content": text,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for text, i in special.items()
        ],
        "normalizer": normalizer,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [BOS], "tokens": ["<s>"]}}
            if bos
            else {},
        },
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": True,
            "trim_offsets": True,
            "use_regex": True,
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": pairs,
        },
    }


_PAIRS = [line.split() for line in small.merges_txt(head="").decode().splitlines()]


def tokenizer(**changes: Any) -> Tokenizer:
    """Return the tokenizer without a folder."""
    return from_hf_json(json.dumps(tokenizer_json(**changes)).encode(), name="ward")


CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": N_ROWS,
    "hidden_size": HIDDEN,
    "max_position_embeddings": CONTEXT,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "bos_token_id": BOS,
    "eos_token_id": TURN_END,
    "pad_token_id": PAD,
}
GENERATION: dict[str, Any] = {
    "bos_token_id": BOS,
    "eos_token_id": [TURN_END, EOS],
    "pad_token_id": PAD,
}
TOKENIZER_CONFIG: dict[str, Any] = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "padding_side": "left",
    "model_max_length": CONTEXT,
    "bos_token": "<s>",
    "eos_token": "<|im_end|>",
    "pad_token": "<pad>",
    "clean_up_tokenization_spaces": False,
    "chat_template": CHATML,
}


def matrix(n_rows: int = N_ROWS, *, seed: int = 1) -> NDArray[np.float32]:
    """Rows as trained ones are: none near zero, none alike."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, HIDDEN)).astype(np.float32) + np.float32(0.5)


def safetensors(
    tensors: Mapping[str, NDArray[Any]],
    *,
    dtypes: Mapping[str, str] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """A file of these tensors; float32 unless another type is named."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt", **(metadata or {})}}
    data = b""
    for name, array in tensors.items():
        dtype = (dtypes or {}).get(name) or _DTYPES[array.dtype.name]
        raw = array.tobytes()
        if dtype == "BF16":
            raw = (array.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


_DTYPES = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "int32": "I32"}

REMOVE = object()


def model_dir(
    path: Path,
    *,
    config: Mapping[str, Any] | None = None,
    generation: Mapping[str, Any] | None = None,
    tokenizer_config: Mapping[str, Any] | None = None,
    tokens: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes | object] | None = None,
) -> Path:
    """Write a healthy model directory with changes; ``REMOVE`` takes an entry out."""
    path.mkdir(parents=True, exist_ok=True)
    weights = {"model.embed_tokens.weight": matrix(seed=1), "lm_head.weight": matrix(seed=2)}
    content: dict[str, bytes | object] = {
        "config.json": _json(_changed(CONFIG, config)),
        "generation_config.json": _json(_changed(GENERATION, generation)),
        "tokenizer_config.json": _json(_changed(TOKENIZER_CONFIG, tokenizer_config)),
        "tokenizer.json": _json(tokenizer_json(**(tokens or {}))),
        "model.safetensors": safetensors(
            _changed(weights, tensors), dtypes={"model.embed_tokens.weight": "BF16"}
        ),
    }
    for name, data in _changed(content, files).items():
        (path / name).write_bytes(data)
    return path


def _changed(values: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    merged = {**values, **(changes or {})}
    return {name: value for name, value in merged.items() if value is not REMOVE}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def padded(
    rows: Sequence[Sequence[int]],
    *,
    side: str = "left",
    labels: bool = False,
    mask: bool = True,
    pad: int = PAD,
) -> dict[str, NDArray[np.int64]]:
    """A batch as a tokenizer makes it: padded, with mask and labels."""
    width = max(len(row) for row in rows)
    ids, masks, marks = [], [], []
    for row in rows:
        n = width - len(row)
        fill, zeros, ignored = [pad] * n, [0] * n, [-100] * n
        ones = [1] * len(row)
        left = side == "left"
        ids.append([*fill, *row] if left else [*row, *fill])
        masks.append([*zeros, *ones] if left else [*ones, *zeros])
        marks.append([*ignored, *row] if left else [*row, *ignored])
    batch = {"input_ids": np.asarray(ids)}
    if mask:
        batch["attention_mask"] = np.asarray(masks)
    if labels:
        batch["labels"] = np.asarray(marks)
    return batch


def gguf(
    *,
    n_rows: int = N_BASE,
    eos: int = 2,
    pre: str | None = "gpt-2",
    add_bos: bool | None = None,
    template: str | None = None,
    n_tokens: int = N_BASE,
) -> bytes:
    """The beginning of a GGUF file."""

    def text(value: str) -> bytes:
        data = value.encode()
        return struct.pack("<Q", len(data)) + data

    def texts(values: Sequence[str]) -> bytes:
        return struct.pack("<IQ", 8, len(values)) + b"".join(text(v) for v in values)

    spelled = [*small.spelled(), *(f"[extra{i}]" for i in range(100))][:n_tokens]
    pairs = [
        ("general.architecture", 8, text("llama")),
        ("llama.context_length", 4, struct.pack("<I", 128)),
        ("tokenizer.ggml.model", 8, text("gpt2")),
        ("tokenizer.ggml.tokens", 9, texts(spelled)),
        (
            "tokenizer.ggml.token_type",
            9,
            struct.pack("<IQ", 5, len(spelled)) + struct.pack("<i", 1) * len(spelled),
        ),
        ("tokenizer.ggml.merges", 9, texts([" ".join(pair) for pair in _PAIRS])),
        ("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 1)),
        ("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", eos)),
    ]
    if pre is not None:
        pairs.append(("tokenizer.ggml.pre", 8, text(pre)))
    if add_bos is not None:
        pairs.append(("tokenizer.ggml.add_bos_token", 7, struct.pack("<?", add_bos)))
    if template is not None:
        pairs.append(("tokenizer.chat_template", 8, text(template)))
    data = b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs))
    data += b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in pairs)
    data += text("token_embd.weight") + struct.pack("<IQQIQ", 2, HIDDEN, n_rows, 0, 0)
    return data
