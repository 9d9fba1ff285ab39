"""Contexts: longer than the model's, not limited at all, no room for the answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient, file_of_setting
from jeton.findings import Severity


@known(
    id="model-max-length-too-large",
    area=Area.CONTEXT,
    severity=Severity.WARNING,
    name="the tokenizer lets through more tokens than the model has positions",
    symptom="long texts end in `index out of range in self` (learned positions), or in fluent "
    "nonsense (rotary ones)",
    cause="model_max_length is larger than the positions of the model. RoBERTa and its relatives "
    "keep two of their 514 positions for padding: 512 remain",
    remedy="set model_max_length in tokenizer_config.json to the figure named here",
    needs=(EvidenceKind.FOLDER, EvidenceKind.MODEL),
    source="transformers 5.23.0, modeling_roberta.py (create_position_ids_from_input_ids)",
)
def _too_large(patient: Patient) -> Iterator[Seen]:
    assert patient.folder is not None
    assert patient.model is not None
    configuration, stated = patient.model.configuration, patient.folder.model_max_length
    if configuration is None or configuration.context_tokens is None or stated is None:
        return
    if stated > configuration.context_tokens:
        learned = configuration.positions == "learned"
        yield Seen(
            what=f"model_max_length is {stated:,}, the model has positions for "
            f"{configuration.context_tokens:,} tokens",
            where=file_of_setting(patient, "model_max_length"),
            value=stated - configuration.context_tokens,
            unit="tokens",
            formula=f"{stated:,} - {configuration.context_tokens:,}",
            severity=Severity.ERROR if learned else Severity.WARNING,
        )


@known(
    id="model-max-length-missing",
    area=Area.CONTEXT,
    severity=Severity.INFO,
    name="truncation=True cuts nothing",
    symptom="`Token indices sequence length is longer than ...` or nothing, and then an index "
    "error or an out-of-memory error at the first long text",
    cause="tokenizer_config.json has no model_max_length (or 1e30): `truncation=True` without "
    "max_length has no limit to cut to",
    remedy="set model_max_length in tokenizer_config.json, or always give max_length",
    needs=(EvidenceKind.FOLDER, EvidenceKind.MODEL),
)
def _missing(patient: Patient) -> Iterator[Seen]:
    assert patient.folder is not None
    assert patient.model is not None
    configuration = patient.model.configuration
    if configuration is None or configuration.context_tokens is None:
        return
    if patient.folder.model_max_length is None:
        learned = configuration.positions == "learned"
        yield Seen(
            what="no model_max_length; the model has positions for "
            f"{configuration.context_tokens:,} tokens",
            where=file_of_setting(patient, "model_max_length"),
            value=configuration.context_tokens,
            unit="tokens",
            severity=Severity.WARNING if learned else Severity.INFO,
        )


@known(
    id="context-overflow",
    area=Area.CONTEXT,
    severity=Severity.ERROR,
    name="texts are longer than the context",
    symptom="400 `maximum context length is ...`, an index error, or the beginning of the prompt, "
    "the instructions, is cut off without a word",
    cause="texts with their special tokens and the room for the answer take more tokens than the "
    "context has",
    remedy="count before sending (`tok.fits(text, limit)`), split with overlap, or cut from the "
    "side that matters least. A cheap guess of 4 characters a token is wrong by a factor of two "
    "or more for other languages",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.TEXTS),
)
def _overflow(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    context = patient.context_tokens
    if context is None:
        return
    before, behind = patient.added_around
    reserved = len(before) + len(behind) + (patient.max_output_tokens or 0)
    counts = patient.tokenizer.count_batch(list(patient.texts)) + reserved
    over = np.flatnonzero(counts > context)
    if len(over):
        longest = int(counts.max())
        yield Seen(
            what=f"{len(over):,} of {len(counts):,} texts need more than {context:,} tokens, the "
            f"longest {longest:,}",
            where=f"text {int(over[0]) + 1} is the first",
            value=len(over),
            unit="texts",
            formula=f"tokens of a text + {reserved:,} (special tokens, answer) > {context:,}",
            evidence={"texts": (over[:50] + 1).tolist(), "longest_tokens": longest},
        )


@known(
    id="no-room-for-the-answer",
    area=Area.CONTEXT,
    severity=Severity.WARNING,
    name="the answer may take the whole context",
    symptom="requests are refused, or prompts are cut, although they are short",
    cause="max_new_tokens is as large as the context, or larger; engines reserve it",
    remedy="set max_new_tokens to the need of answers (p99 of generated ones), not to the context",
    needs=(EvidenceKind.MODEL,),
)
def _no_room(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    context = patient.context_tokens
    stated = (patient.model.generation or {}).get("max_new_tokens")
    wanted = patient.max_output_tokens
    where = "the option"
    if wanted is None and isinstance(stated, int) and not isinstance(stated, bool):
        wanted, where = stated, "generation_config.json"
    if context is not None and wanted is not None and wanted >= context:
        yield Seen(
            what=f"{wanted:,} tokens for the answer, a context of {context:,}",
            where=where,
            value=wanted,
            unit="tokens",
        )
