"""Special tokens: ids that disagree, ends that are never reached, padding."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jeton.checkpoint import ModelKind
from jeton.checkpoint.configuration import token_ids_of
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient, file_of_setting, file_of_stops
from jeton.findings import Severity

# Special tokens in use, and the places where a model stops.

CONTROL_TEXT = re.compile(
    r"<\|[^|<>\s{}'\"]{1,60}\|>|<\uff5c[^\uff5c<>{}'\"]{1,60}\uff5c>|<(?:start|end)_of_(?:turn|text|role)>"
    r"|</?s>|<[be]os>|\[/?INST\]"
)
"""Control tokens that published chat templates write."""


def written_control_texts(template: str) -> tuple[str, ...]:
    """The control tokens that a chat template writes, each once, in their order."""
    return tuple(dict.fromkeys(CONTROL_TEXT.findall(template)))


def stop_ids(patient: Patient) -> frozenset[int]:
    """The ids at which generation stops: the model's, or without a model the tokenizer's."""
    if patient.model is not None and patient.model.configuration is not None:
        return frozenset(i for i in patient.model.token_ids("eos") if i >= 0)
    if patient.gguf is not None:
        ids = (patient.gguf.token_id(role) for role in ("eos", "eot", "eom"))
        return frozenset(i for i in ids if i is not None)
    end = patient.role_token_id("eos")
    return frozenset() if end is None else frozenset({end})


def used_special_tokens(patient: Patient) -> frozenset[int]:
    """Special tokens that a model really meets: beginning and end, and what templates write.

    Padding is none of them: it is masked, and its row of zeros is healthy.
    """
    used = set(stop_ids(patient)) | set(patient.role_ids("bos")) | set(patient.role_ids("eos"))
    before, behind = patient.added_around
    used |= {*before, *behind}
    for template in patient.chat_templates.values():
        for text in written_control_texts(template):
            token_id = patient.fixed_ids.get(text)
            if token_id is not None:
                used.add(token_id)
    pads = patient.role_ids("pad") - stop_ids(patient)
    unknown = patient.role_ids("unk")
    return frozenset(i for i in used - pads - unknown if i >= 0)


ROLES = ("bos", "eos", "pad", "decoder_start")
"""Roles whose ids configurations name."""


def _configurations(patient: Patient) -> dict[str, Mapping[str, Any]]:
    """The files of a model that state ids, by name."""
    assert patient.model is not None
    sources: dict[str, Mapping[str, Any]] = {
        "generation_config.json": patient.model.generation or {}
    }
    if patient.model.configuration is not None:
        configuration = patient.model.configuration
        sources["config.json"] = {**configuration.values, **configuration.text}
    return sources


@known(
    id="special-id-out-of-range",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.ERROR,
    name="the id of a special token is no id of the model",
    symptom="`IndexError`, `Padding_idx must be within num_embeddings`, or a device-side assert "
    "at the first padded batch",
    cause="the id is negative (`-1` for `none` in old configurations) or lies behind the last row "
    "of the matrix",
    remedy="set it to a real token's id in config.json and generation_config.json, or to null",
    needs=(EvidenceKind.MODEL,),
)
def _out_of_range(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    limit = patient.vocab_limit
    for file, values in _configurations(patient).items():
        for role in ROLES:
            for token_id in token_ids_of(values.get(f"{role}_token_id")):
                if token_id < 0 or (limit is not None and token_id >= limit):
                    end = "" if limit is None else f"; ids are 0 to {limit - 1:,}"
                    yield Seen(
                        what=f"{role}_token_id is {token_id}{end}",
                        where=file,
                        value=token_id,
                        unit="id",
                    )


@known(
    id="special-id-no-number",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.ERROR,
    name="the id of a special token is written as something else than a number",
    symptom="generation never ends, `TypeError` or `ValueError` at the first request, or id 1 "
    "where the file says `true`",
    cause='a configuration was written by hand or by another program: `"300"`, `true`, `300.0` or '
    "the token's text stand where its id belongs, and programs pass them over",
    remedy="write the id as a whole number, or a list of them, in config.json and "
    "generation_config.json",
    needs=(EvidenceKind.MODEL,),
)
def _no_number(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    for file, values in _configurations(patient).items():
        for role in ROLES:
            stated = values.get(f"{role}_token_id")
            for value in stated if isinstance(stated, list) else [stated]:
                if value is None or (isinstance(value, int) and not isinstance(value, bool)):
                    continue
                yield Seen(
                    what=f"{role}_token_id is {_shown(value)}, which is no whole number",
                    where=file,
                    value=1,
                    unit="ids",
                )


@known(
    id="special-ids-disagree",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.WARNING,
    name="tokenizer and model mean different tokens by the same role",
    symptom="generation runs on to max_new_tokens, or padding is read as text",
    cause="the tokenizer's token for the role has another id than config.json and "
    "generation_config.json have: files of two models, or of a base and a chat model",
    remedy="set the ids in config.json and generation_config.json to those of the tokenizer that "
    "the model was trained with",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.MODEL),
)
def _disagree(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    for role in ("eos", "bos", "pad"):
        own = patient.role_token_id(role)
        stated = tuple(i for i in patient.model.token_ids(role) if i >= 0)
        if patient.folder is None or own is None or not stated or own in stated:
            continue
        names = ", ".join(f"{i} ({patient.token_text(i)!r})" for i in stated[:4])
        yield Seen(
            what=f"{role} is {patient.token_text(own)!r} (id {own}) for the tokenizer and "
            f"{names} for the model",
            where="generation_config.json"
            if f"{role}_token_id" in (patient.model.generation or {})
            else "config.json",
            value=own,
            unit="id",
            severity=Severity.WARNING if role == "eos" else Severity.INFO,
            evidence={"tokenizer": own, "model": list(stated)},
        )


@known(
    id="eos-missing",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.WARNING,
    name="nothing says at which token generation ends",
    symptom="every answer is exactly max_new_tokens long and trails off into nonsense",
    cause="neither generation_config.json nor config.json has an eos_token_id",
    remedy="set eos_token_id in generation_config.json to all tokens that end a text or a turn",
    needs=(EvidenceKind.MODEL,),
)
def _eos_missing(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    writes = patient.kind in (ModelKind.DECODER, ModelKind.ENCODER_DECODER)
    if patient.model.configuration is not None and writes and not stop_ids(patient):
        has_generation = patient.model.generation is not None
        yield Seen(
            what="eos_token_id is in neither generation_config.json nor config.json"
            if has_generation
            else "eos_token_id is not in config.json, and there is no generation_config.json",
            where=file_of_stops(patient, otherwise="config.json"),
            value=0,
            unit="end tokens",
        )


@known(
    id="eos-forbidden",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.ERROR,
    name="the end of text may not be generated",
    symptom="answers never end; the bill is that of max_new_tokens for each request",
    cause="the end token is in suppress_tokens, bad_words_ids or a logit bias, or ignore_eos is "
    "set. Forbidding special tokens while sampling is right for PAD, BOS and UNK and wrong for EOS",
    remedy="take the end tokens out of the list; `tok.never_generated_mask()` keeps them allowed",
    needs=(EvidenceKind.MODEL,),
    source="ignore_eos is vLLM's sampling parameter of that name",
)
def _eos_forbidden(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    ends = stop_ids(patient) | patient.role_ids("eos")
    generation = patient.model.generation or {}
    forbidden = set(token_ids_of(generation.get("suppress_tokens")))
    bad_words = generation.get("bad_words_ids")
    for word in bad_words if isinstance(bad_words, list) else ():
        ids = token_ids_of(word)
        if len(ids) == 1:
            forbidden.add(ids[0])
    where = "generation_config.json"
    found = sorted(ends & forbidden)
    if not found and patient.settings is not None:
        where = patient.settings.name
        for name, value in patient.settings.values.items():
            last = name.rpartition(".")[2]
            if last == "ignore_eos" and value is True:
                found = sorted(ends)
            if "logit_bias." in name and last.isdecimal() and int(last) in ends:
                # A bias of -100 is a ban (documented range of the OpenAI API: -100 to 100).
                found += [int(last)] if isinstance(value, int | float) and value <= -50 else []
    # Generation ends all the same if another end token is left.
    if found and not (stop_ids(patient) - set(found)):
        names = ", ".join(f"{patient.token_text(i)!r} (id {i})" for i in found[:4])
        yield Seen(
            what=f"{names} may not be generated, and no other end is left",
            where=where,
            value=len(found),
            unit="end tokens",
        )


@known(
    id="pad-is-eos",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.WARNING,
    name="padding and end of text are one token",
    symptom="after fine-tuning, answers do not end",
    cause="collators leave every padding id out of the loss (DataCollatorForLanguageModeling "
    "does), and with it the real end of each text",
    remedy="give padding a token of its own, a reserved one for instance, so that no row is "
    "added; or mask labels by length instead of by id. Inference alone is safe with a mask",
    needs=(EvidenceKind.FOLDER, EvidenceKind.TOKENIZER),
    source="transformers 5.23.0, data/data_collator.py",
)
def _pad_is_eos(patient: Patient) -> Iterator[Seen]:
    pad, end = patient.role_token_id("pad"), patient.role_token_id("eos")
    if pad is not None and pad == end:
        yield Seen(
            what=f"pad_token and eos_token are both {patient.token_text(pad)!r} (id {pad})",
            where=file_of_setting(patient, "pad_token"),
            value=pad,
            unit="id",
            severity=Severity.WARNING if patient.task == "train" else Severity.INFO,
        )


@known(
    id="pad-missing",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.INFO,
    name="there is no padding token",
    symptom="`Asking to pad but the tokenizer does not have a padding token` at the first batch "
    "of more than one text",
    cause="the model was trained on packed text and never needed one",
    remedy="set pad_token to a reserved special token; pad_token = eos_token serves for inference "
    "with an attention mask, and spoils fine-tuning",
    needs=(EvidenceKind.FOLDER, EvidenceKind.TOKENIZER),
)
def _pad_missing(patient: Patient) -> Iterator[Seen]:
    assert patient.folder is not None
    if "pad" not in patient.folder.roles and not patient.role_ids("pad"):
        yield Seen(
            what="no file names a padding token",
            where=file_of_setting(patient, "pad_token"),
            value=0,
            unit="padding tokens",
        )


@known(
    id="padding-side",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.WARNING,
    name="the tokenizer pads on the wrong side for this kind of model",
    symptom="single prompts work, batches give short, empty or strange answers; embeddings of one "
    "text differ with its neighbours",
    cause="a decoder continues after the last column, so in generation padding belongs on the "
    "LEFT. An encoder reads from its first column, where [CLS] and position 0 are, so its padding "
    "belongs on the RIGHT. (The rule is often told the other way round)",
    remedy="to generate with a decoder-only model: padding_side='left'; to train one, either side "
    "does, right is usual; encoders and the encoder of encoder-decoders: 'right'",
    needs=(EvidenceKind.FOLDER, EvidenceKind.MODEL),
    source="transformers 5.23.0, generation/utils.py (its warning of right-padding)",
)
def _padding_side(patient: Patient) -> Iterator[Seen]:
    stated = patient.tokenizer_config.get("padding_side")
    wanted = {
        ModelKind.DECODER: "left",
        ModelKind.ENCODER: "right",
        ModelKind.ENCODER_DECODER: "right",
    }.get(patient.kind)
    if wanted is None or (patient.kind is ModelKind.DECODER and patient.task in ("train", "embed")):
        return
    if stated in ("left", "right"):
        if stated != wanted:
            yield Seen(
                what=f"padding_side is {stated!r}; {_ARTICLE[patient.kind]} wants {wanted!r}"
                + (" in generation" if patient.kind is ModelKind.DECODER else ""),
                where="tokenizer_config.json",
                value=1,
                unit="settings",
            )
    elif wanted == "left":
        # The default of transformers; LlamaTokenizer and a few others have another.
        if patient.folder is not None and patient.folder.tokenizer_class in _LEFT_BY_CLASS:
            return
        yield Seen(
            what="padding_side is not set and the default is 'right'; a decoder wants 'left' in "
            "generation",
            where=file_of_setting(patient, "padding_side"),
            value=1,
            unit="settings",
            severity=Severity.WARNING if patient.task == "generate" else Severity.INFO,
        )


@known(
    id="prompts-end-with-eos",
    area=Area.SPECIAL_TOKENS,
    severity=Severity.WARNING,
    name="an end of text is put behind every prompt",
    symptom="the model answers nothing, begins a new subject, or repeats itself: its text was "
    "over before it began",
    cause="add_eos_token is true in tokenizer_config.json, or the template of tokenizer.json ends "
    "with the end token: a setting for training or for embeddings",
    remedy="set add_eos_token to false for generation, take the token out of the template, or "
    "encode prompts with add_special_tokens=False; leave it where the model makes embeddings",
    needs=(EvidenceKind.TOKENIZER,),
    source="transformers 5.23.0, add_eos_token of Llama's and Gemma's tokenizers",
)
def _prompts_end(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    if patient.kind in (ModelKind.ENCODER, ModelKind.ENCODER_DECODER) or patient.task in (
        "train",
        "embed",
    ):
        return
    is_set = patient.tokenizer_config.get("add_eos_token") is True
    if patient.kind is not ModelKind.DECODER and not is_set:
        return
    ids = patient.tokenizer.encode("a", add_special_tokens=True)
    plain = patient.tokenizer.encode("a")
    ends = stop_ids(patient) | patient.role_ids("eos")
    has_end = len(ids) > len(plain) and ids[-1] in ends
    if not is_set and not has_end:
        return
    end = repr(patient.token_text(ids[-1])) if has_end else "the end token"
    yield Seen(
        what=("add_eos_token is true" if is_set else "the template ends with the end token")
        + f": every text that is encoded with special tokens ends with {end}",
        where=file_of_setting(patient, "add_eos_token") if is_set else _tokenizer_file(patient),
        value=1,
        unit="settings",
    )


def _tokenizer_file(patient: Patient) -> str:
    file = None if patient.folder is None else patient.folder.tokenizer_file
    return "the tokenizer" if file is None else file.name


_ARTICLE = {
    ModelKind.DECODER: "a decoder",
    ModelKind.ENCODER: "an encoder",
    ModelKind.ENCODER_DECODER: "an encoder-decoder",
}
# Classes of transformers 5.23.0 with padding_side = "left" (models/*/tokenization_*.py).
_LEFT_BY_CLASS = frozenset(
    ("CodeLlamaTokenizer", "CohereTokenizer", "GemmaTokenizer", "LlamaTokenizer", "XLNetTokenizer")
)


def _shown(value: object) -> str:
    try:
        return json.dumps(value, default=str, allow_nan=False)[:60]
    except ValueError:  # NaN and infinity are no JSON
        return repr(value)[:60]
