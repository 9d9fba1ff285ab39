"""Tiny networks of transformers with random weights, biases included, for many families."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FAMILIES: dict[str, tuple[str, ...]] = {
    "AutoModelForCausalLM": (
        "llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "phi", "phi3", "gpt2",
        "gpt_neo", "gptj", "gpt_neox", "gpt_bigcode", "opt", "bloom", "falcon", "mamba",
        "olmo2", "granite", "cohere", "starcoder2", "stablelm", "mpt", "codegen", "xglm", "biogpt",
    ),
    "AutoModelForMaskedLM": (
        "bert", "roberta", "xlm-roberta", "camembert", "mpnet", "deberta", "deberta-v2", "albert",
        "electra", "distilbert", "modernbert", "mobilebert", "squeezebert", "nystromformer",
        "data2vec-text", "rembert", "yoso", "xlm", "flaubert", "fnet", "longformer", "roformer",
    ),
    "AutoModelForSeq2SeqLM": (
        "t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "blenderbot", "led",
    ),
}  # fmt: skip
"""Values of ``model_type`` by the class of transformers that loads them."""

_SMALL = {
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "emb_dim": 32,
    "embedding_size": 16, "word_embed_proj_dim": 16, "intermediate_size": 48, "ffn_dim": 48,
    "hidden_dim": 48, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "d_ff": 48, "n_inner": 48,
    "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "encoder_layers": 1,
    "decoder_layers": 1, "num_decoder_layers": 1, "num_attention_heads": 4, "n_head": 4,
    "n_heads": 4, "num_heads": 4, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "d_kv": 8, "max_position_embeddings": 128,
    "n_positions": 128, "n_ctx": 128, "rotary_dim": 4, "num_local_experts": 4, "num_experts": 4,
    "output_embedding_size": 24, "input_embedding_size": 16, "true_hidden_size": 32,
    "intra_bottleneck_size": 32,
}  # fmt: skip
_IDS = {
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
    "cls_token_id": 1, "sep_token_id": 2, "mask_token_id": 4, "unk_token_id": 3,
    "forced_eos_token_id": 2,
}  # fmt: skip
_LISTED: dict[str, dict[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "longformer": {"attention_window": 4},
    "led": {"attention_window": 4},
    "xlm": {"pad_index": 0, "bos_index": 1, "eos_index": 2, "unk_index": 3, "mask_index": 4},
    "flaubert": {"pad_index": 0, "bos_index": 1, "eos_index": 2, "unk_index": 3, "mask_index": 4},
    "mobilebert": {"embedding_size": 16, "hidden_size": 32},
    "squeezebert": {"embedding_size": 32},
    "falcon": {"num_kv_heads": 4},
    "t5": {"decoder_start_token_id": 0},
}


@dataclass(frozen=True)
class Loaded:
    """A network, and what transformers found strange in its files."""

    network: Any
    strange: dict[str, set[str]] = field(default_factory=dict)


def configuration(model_type: str, n_rows: int) -> Any:
    """Returns the configuration of a network of a few thousand weights."""
    from transformers import CONFIG_MAPPING

    made = CONFIG_MAPPING[model_type]
    known = made()
    values = {
        name: value
        for name, value in _SMALL.items()
        if isinstance(getattr(known, name, None), int) and name not in _properties(made)
    }
    ids = {name: value for name, value in _IDS.items() if getattr(known, name, None) is not None}
    return made(**values | ids | {"vocab_size": n_rows} | _LISTED.get(model_type, {}))


def write_network(loader: str, model_type: str, n_rows: int, folder: Path) -> None:
    """Writes a network with random weights, in the files of transformers."""
    import torch
    import transformers

    torch.manual_seed(len(model_type))
    network = getattr(transformers, loader).from_config(configuration(model_type, n_rows)).float()
    with torch.no_grad():
        # Biases begin as zeros, which would hide a wrong row.
        for values in network.parameters():
            values.add_(torch.randn_like(values) * 0.05)
    network.save_pretrained(folder)


def load_network(loader: str, folder: Path) -> Loaded:
    """Loads a network as a user would, and what keys were missing, left over or misshapen."""
    import transformers

    network, strange = getattr(transformers, loader).from_pretrained(
        folder, output_loading_info=True
    )
    return Loaded(network.eval(), {key: set(map(str, names)) for key, names in strange.items()})


def logits(network: Any, ids: list[int]) -> Any:
    """Returns the logits of each place, (n_tokens, n_rows)."""
    import torch

    tokens = torch.tensor([ids])
    more = {"decoder_input_ids": tokens} if network.config.is_encoder_decoder else {}
    with torch.no_grad():
        return network(input_ids=tokens, **more).logits[0].float().numpy()


def is_tied(network: Any) -> bool:
    """True if the output layer is the table of embeddings."""
    head = network.get_output_embeddings()
    return (
        head is not None
        and head.weight.data_ptr() == network.get_input_embeddings().weight.data_ptr()
    )


def _properties(made: Any) -> set[str]:
    return {name for name in _SMALL if isinstance(getattr(made, name, None), property)}
