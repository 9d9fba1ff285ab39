"""The golden sets: which there are, the vocabulary of each, how it is loaded, its cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jeton
from jeton import Tokenizer

__all__ = ["COLUMNS", "N_CASES", "SETS", "Case", "GoldenSet", "read_set", "stored"]

N_CASES = 985
"""Cases of every set, as each header says."""

SETS = (
    "albert_30k-clean_spm",
    "bert_base_cased_hf",
    "bert_base_cased_wordpiece",
    "bert_base_uncased_hf",
    "bert_base_uncased_wordpiece",
    "bert_chinese_wordpiece",
    "bert_multi_cased_wordpiece",
    "bigbird_gpt2_spm",
    "bpemb_en_100k_spm",
    "chatglm_hf",
    "chatglm_ice_text_spm",
    "cl100k_base",
    "claude",
    "clip_base_hf",
    "clip_openai",
    "deepseek-coder_recon_hf",
    "deepseek-llm_recon_hf",
    "deepseek_v3_recon_hf",
    "envit5_hf",
    "falcon_hf",
    "focus_ar_xlmr_unigram_50k_hf",
    "focus_de_bpe_50k_hf",
    "gpt2_hf",
    "gpt2_vocab_merges",
    "gpt_neox_20b_hf",
    "kimi_k2",
    "laser_100k_spm",
    "llama2_hf",
    "llama2_spm",
    "llama3",
    "llama4",
    "mistral01_hf",
    "mistral03_hf",
    "mistral_v1_spm",
    "mistral_v3_spm",
    "modernbert_hf",
    "nai-t5_spm",
    "nerdstash_spm",
    "nmt_joint_spm",
    "o200k_base",
    "p50k_base",
    "pegasus_hf",
    "pegasus_spm",
    "phi-2_hf",
    "phi-3-mini_hf",
    "qwen",
    "r50k_base",
    "refact_recon_hf",
    "roberta-base_hf",
    "roberta_vocab_merges",
    "rwkv_world",
    "scibert_scivocab_uncased_wordpiece",
    "starcoder_recon_hf",
    "t5-small_hf",
    "tekken_240718",
    "uri100k_spm",
    "whisper_multilingual",
    "xlm_roberta_recon_spm",
    "xlnet_base_cased_hf",
    "xlnet_base_cased_spm",
)
"""All sets of ../shared/data/golden; that none is missing here is tested."""

COLUMNS = ("ids", "ids_special_on")
"""Columns of a case: the ids, and the ids where special tokens in the text count."""


@dataclass(frozen=True, slots=True)
class Case:
    """One text and its ids."""

    text: str
    ids: list[int]
    ids_special_on: list[int] | None
    kind: str

    def expected(self, column: str) -> list[int] | None:
        """The reference's ids of one of ``COLUMNS``; None where the set does not tell."""
        return self.ids if column == "ids" else self.ids_special_on


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """The cases of one vocabulary, and what their header says of it."""

    name: str
    vocabulary_paths: tuple[Path, ...]
    header: Mapping[str, Any]
    cases: tuple[Case, ...]

    @property
    def library(self) -> str:
        """The reference in one or two words: ``tiktoken``, ``openai/CLIP`` ..."""
        return str(self.header["library"]).split(" ", 1)[0]

    @property
    def version(self) -> str:
        """The version of the reference that gave the ids."""
        return str(self.header["version"])

    @property
    def files(self) -> str:
        """The vocabulary file or files, as the header names them."""
        return str(self.header["vocab_file"])

    @property
    def is_byte_level(self) -> bool:
        """True if each token stands for bytes of the text, so that tokens tile the text."""
        if self.library in ("tiktoken", "BlinkDL/ChatRWKV", "mistral_common"):
            return True
        model = self.header.get("model", {})
        return (
            model.get("type") == "BPE"
            and not model.get("end_of_word_suffix")
            and "ByteLevel" in json.dumps(self.header["pre_tokenizer"])
        )

    def allow_special(self, column: str) -> Literal["all"] | None:
        """``allow_special`` of our ``encode`` that means what the reference did for a column."""
        if column == "ids_special_on" or self.library == "openai/CLIP":
            return "all"  # CLIP's own code knows no other way
        return None

    def load_arguments(self) -> dict[str, Any]:
        """Arguments of ``jeton.load`` that the vocabulary file does not hold."""
        if self.files.endswith(".vocab.txt"):
            normalizer = self.header["normalizer"]
            # BERT's defaults; a set with others needs an argument here.
            assert normalizer["clean_text"] is True, self.name
            assert normalizer["handle_chinese_chars"] is True, self.name
            assert normalizer["strip_accents"] is None, self.name
            return {"lowercase": normalizer["lowercase"]}
        return {}

    def tokenizer(self) -> Tokenizer:
        """The vocabulary, loaded as a user loads it.

        A vocab.json stands first in its set's files, and its merges.txt is found beside it.

        Raises:
            JetonError: It does not load.
            OSError: A file cannot be read.
        """
        return jeton.load(self.vocabulary_paths[0], **self.load_arguments())


def read_set(shared: Path, name: str) -> GoldenSet:
    """Read the set of this name.

    Raises:
        OSError: The shared data is not there.
        ValueError: It is damaged.
    """
    folder = shared / "data" / "golden"
    header = json.loads((folder / f"{name}.header.json").read_text(encoding="utf-8"))
    cases = []
    # Not splitlines(): the texts hold other line ends than \n.
    for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").split("\n"):
        if line:
            record = json.loads(line)
            cases.append(
                Case(
                    text=record["text"],
                    ids=record["ids"],
                    ids_special_on=record.get("ids_special_on"),
                    kind=record["kind"],
                )
            )
    return GoldenSet(
        name=name,
        vocabulary_paths=tuple(stored(shared, file) for file in header["vocab_file"].split(" + ")),
        header=header,
        cases=tuple(cases),
    )


def stored(shared: Path, file: str) -> Path:
    """Where a vocabulary file lies: as it is, or compressed."""
    path = shared / "data" / "vocab" / file
    return path if path.exists() else path.with_name(f"{path.name}.zst")
