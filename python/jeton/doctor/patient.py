"""Everything that is at hand about one case: what the checks look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from jeton._core import Tokenizer
from jeton.checkpoint import GgufModel, ModelDirectory, ModelKind, RowStatistics, row_statistics
from jeton.checkpoint.rows import can_read_rows
from jeton.doctor.dumps import InputBatch, Output
from jeton.doctor.failures import EvidenceKind
from jeton.doctor.retrieval import RetrievalFit, retrieval_fit
from jeton.doctor.settings import Settings
from jeton.errors import JetonError
from jeton.formats import PretrainedFolder
from jeton.formats.reading import read_object

Task = Literal["generate", "train", "embed"]


@dataclass(frozen=True, slots=True)
class Embedder:
    """An embedding model beside the model that reads what it finds.

    Attributes:
        tokenizer: Its tokenizer.
        max_tokens: Tokens that it reads of a text, its special tokens included; the rest is cut
            without a word.
        prefix: Text before each text (``"passage: "``).
    """

    tokenizer: Tokenizer
    max_tokens: int
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class GgufPair:
    """A GGUF file and the folder that it was made from.

    Attributes:
        gguf: The metadata of the file.
        gguf_tokenizer: Its tokenizer.
        tokenizer: The folder's tokenizer, or another one that should be the same.
        folder: Facts of the folder; None: there is the tokenizer alone.
        model: The folder as a model directory; None likewise.
    """

    gguf: GgufModel
    gguf_tokenizer: Tokenizer
    tokenizer: Tokenizer
    folder: PretrainedFolder | None = None
    model: ModelDirectory | None = None


@dataclass(frozen=True)
class Patient:
    """Facts about one case; anything may be missing.

    Attributes:
        name: The user's name for it.
        load_error: Why its tokenizer could not be loaded; empty where it could.
        tokenizer: The tokenizer.
        folder: Facts of its folder (roles of special tokens, chat template ...).
        tokenizer_config: tokenizer_config.json as it is.
        model: The model directory.
        gguf: The metadata of a GGUF file.
        batches: Dumps of model inputs.
        outputs: Texts that a model generated.
        texts: Texts as they are sent.
        training_texts: Texts as they were at training.
        settings: The settings of this side, for a comparison.
        other: The settings of the other side.
        other_tokenizer: The tokenizer of the other side.
        gguf_pairs: GGUF files, each with the folder that it was made from.
        embedder: The embedding model of a retrieval system.
        task: Use of the batches; None: not told.
        stated_context_tokens: The context as the user says it.
        max_output_tokens: Tokens that are kept for the answer.
        chunk_tokens: Size of the chunks of a retrieval system, in tokens of ``tokenizer``.
    """

    name: str
    load_error: str = ""
    tokenizer: Tokenizer | None = None
    folder: PretrainedFolder | None = None
    tokenizer_config: Mapping[str, Any] = field(default_factory=dict)
    model: ModelDirectory | None = None
    gguf: GgufModel | None = None
    batches: Sequence[InputBatch] = ()
    outputs: Sequence[Output] = ()
    texts: Sequence[str] = ()
    training_texts: Sequence[str] = ()
    settings: Settings | None = None
    other: Settings | None = None
    other_tokenizer: Tokenizer | None = None
    gguf_pairs: Sequence[GgufPair] = ()
    embedder: Embedder | None = None
    task: Task | None = None
    stated_context_tokens: int | None = None
    max_output_tokens: int | None = None
    chunk_tokens: int | None = None

    @cached_property
    def evidence(self) -> frozenset[EvidenceKind]:
        """Evidence at hand."""
        has_model = self.model is not None and (
            self.model.configuration is not None or bool(self.model.weights.files)
        )
        there = {
            EvidenceKind.TOKENIZER: self.tokenizer is not None,
            EvidenceKind.FOLDER: self.folder is not None,
            EvidenceKind.FILES: self.place is not None,
            EvidenceKind.MODEL: has_model,
            EvidenceKind.WEIGHTS: self.model is not None
            and self.model.weights.embedding is not None,
            EvidenceKind.GGUF: self.gguf is not None,
            EvidenceKind.GGUF_PAIR: bool(self.gguf_pairs),
            EvidenceKind.BATCH: bool(self.batches),
            EvidenceKind.OUTPUTS: bool(self.outputs),
            EvidenceKind.TEXTS: bool(self.texts),
            EvidenceKind.TRAINING_TEXTS: bool(self.training_texts),
            EvidenceKind.OTHER: self.other is not None,
            EvidenceKind.EMBEDDER: self.embedder is not None,
        }
        return frozenset(kind for kind, is_there in there.items() if is_there)

    @cached_property
    def kind(self) -> ModelKind:
        """Task of the model, as far as it is known."""
        if self.model is not None and self.model.configuration is not None:
            return self.model.configuration.kind
        return ModelKind.DECODER if self.gguf is not None else ModelKind.UNKNOWN

    @cached_property
    def n_rows(self) -> int | None:
        """Rows of the embedding matrix."""
        if self.model is not None and self.model.n_rows is not None:
            return self.model.n_rows
        return None if self.gguf is None else self.gguf.n_rows

    @cached_property
    def vocab_limit(self) -> int | None:
        """The first id that the model cannot look up: of its matrix, or else of the tokenizer."""
        if self.n_rows is not None:
            return self.n_rows
        return None if self.tokenizer is None else self.tokenizer.vocab_size

    @cached_property
    def context_tokens(self) -> int | None:
        """The context: as the user says it, or as the model does."""
        if self.stated_context_tokens is not None:
            return self.stated_context_tokens
        if self.model is not None and self.model.configuration is not None:
            return self.model.configuration.context_tokens
        if self.gguf is not None:
            return self.gguf.context_tokens
        return None if self.folder is None else self.folder.model_max_length

    def role_ids(self, role: str) -> frozenset[int]:
        """Ids of a role (``"eos"``) by the tokenizer's folder and the model's configurations."""
        ids = set()
        token = self.role_token_id(role)
        if token is not None:
            ids.add(token)
        if self.model is not None:
            ids.update(self.model.token_ids(role))
            if self.model.configuration is not None:
                ids.update(self.model.configuration.token_ids.get(role, ()))
        if self.gguf is not None and (stated := self.gguf.token_id(role)) is not None:
            ids.add(stated)
        return frozenset(i for i in ids if i >= 0)

    def role_token_id(self, role: str) -> int | None:
        """The id that the tokenizer gives to the token of a role; None where there is none."""
        if self.tokenizer is None:
            return None
        known = self.fixed_ids
        if self.folder is not None:
            text = self.folder.roles.get(role)
            return None if text is None else self.token_id(text)
        # A file alone says no roles: go by the texts that leave no doubt.
        return next((known[text] for text in _USUAL.get(role, ()) if text in known), None)

    @cached_property
    def fixed_ids(self) -> dict[str, int]:
        """Special and added tokens by text."""
        if self.tokenizer is None:
            return {}
        return {token.content: token.id for token in self.tokenizer.fixed_tokens()} | dict(
            self.tokenizer.special_tokens
        )

    def token_id(self, text: str) -> int | None:
        """The id of a token by its text, special or not."""
        if self.tokenizer is None:
            return None
        found = self.fixed_ids.get(text)
        return self.tokenizer.token_to_id(text) if found is None else found

    def token_text(self, token_id: int) -> str:
        """The text of an id, to be shown."""
        if self.tokenizer is None or not 0 <= token_id < self.tokenizer.vocab_size:
            return f"id {token_id}"
        texts = {number: text for text, number in self.fixed_ids.items()}
        if token_id in texts:
            return texts[token_id]
        try:
            return self.tokenizer.id_to_bytes(token_id).decode("utf-8", "backslashreplace")
        except ValueError:
            return f"id {token_id}"

    @cached_property
    def added_around(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ids that the tokenizer puts before and behind a text with ``add_special_tokens``."""
        if self.tokenizer is None:
            return (), ()
        bare = self.tokenizer.encode(_PROBE)
        full = self.tokenizer.encode(_PROBE, add_special_tokens=True)
        for start in range(len(full) - len(bare) + 1):
            if full[start : start + len(bare)] == bare:
                return tuple(full[:start]), tuple(full[start + len(bare) :])
        return (), ()

    @cached_property
    def embedding_statistics(self) -> RowStatistics | None:
        """Lengths of the rows of the embedding matrix; None where they cannot be read."""
        tensor = None if self.model is None else self.model.weights.embedding
        return row_statistics(tensor) if tensor is not None and can_read_rows(tensor) else None

    @cached_property
    def head_statistics(self) -> RowStatistics | None:
        """Lengths of the rows of the output matrix, where the model has one of its own."""
        tensor = None if self.model is None else self.model.weights.head
        return row_statistics(tensor) if tensor is not None and can_read_rows(tensor) else None

    @cached_property
    def retrieval(self) -> RetrievalFit | None:
        """The tokenizers of reader and embedding model on the texts; None without them."""
        embedder = self.embedder
        if embedder is None or self.tokenizer is None:
            return None
        if not any(self.texts):
            return None
        return retrieval_fit(
            self.texts,
            reader=self.tokenizer,
            embedder=embedder.tokenizer,
            embedder_max_tokens=embedder.max_tokens,
            chunk_tokens=self.chunk_tokens,
            prefix=embedder.prefix,
        )

    @cached_property
    def chat_templates(self) -> dict[str, str]:
        """The chat templates by the file or key that they come from."""
        found: dict[str, str] = {}
        if self.folder is not None:
            if self.folder.chat_template is not None:
                file = self.folder.chat_template_file
                found["the chat template" if file is None else file.name] = (
                    self.folder.chat_template
                )
            found |= {f"template {n!r}": t for n, t in self.folder.other_chat_templates.items()}
        elif self.gguf is not None:
            text = self.gguf.metadata.get("tokenizer.chat_template")
            if isinstance(text, str):
                found["tokenizer.chat_template"] = text
        return found

    @property
    def place(self) -> Path | None:
        """The model directory, or the folder of the tokenizer."""
        if self.model is not None:
            return self.model.path
        return None if self.folder is None else self.folder.path


_PROBE = "a"
"""Text whose ids stand between what is put around a text."""

_USUAL = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "[CLS]"),
    "eos": ("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>", "<|im_end|>", "[SEP]"),
    "pad": ("<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>"),
    "unk": ("<unk>", "[UNK]"),
}


# File of a model that holds a setting, or would hold it.

_CONFIG = "tokenizer_config.json"
_MAP = "special_tokens_map.json"


def file_of_stops(patient: Patient, *, otherwise: str) -> str:
    """The file that says where generation stops, or should say it."""
    if patient.model is None:
        return otherwise
    if patient.model.generation is not None:
        return "generation_config.json"
    return "config.json" if patient.model.configuration is not None else otherwise


def file_of_setting(patient: Patient, name: str) -> str:
    """The file of the tokenizer's folder that has a setting (``"pad_token"``), or should have it.

    A folder without tokenizer_config.json is named by the file that its tokenizer is made from.
    """
    if patient.folder is None or name in patient.tokenizer_config:
        return _CONFIG
    files = {file.name: file for file in patient.folder.files}
    if _MAP in files and name in _entries(patient):
        return _MAP
    if _CONFIG in files or patient.folder.tokenizer_file is None:
        return _CONFIG
    return patient.folder.tokenizer_file.name


def _entries(patient: Patient) -> frozenset[str]:
    assert patient.folder is not None
    try:
        return frozenset(read_object(patient.folder.path / _MAP) or ())
    except (JetonError, OSError):
        return frozenset()
