"""Chat templates: missing, in a file that is not read, unfit for training."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jeton.chat import ChatTemplate
from jeton.checkpoint import ModelKind
from jeton.doctor.chat_rendering import default_template, rendered_chat, template_names
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.doctor.special import stop_ids
from jeton.errors import JetonError
from jeton.findings import Severity

# A token that begins a turn and one that ends it, by family; both in a vocabulary mean chats.
_TURNS = (
    ("<|im_start|>", "<|im_end|>"),
    ("<start_of_turn>", "<end_of_turn>"),
    ("<|turn>", "<turn|>"),
    ("<|start_header_id|>", "<|eot_id|>"),
    ("<|header_start|>", "<|eot|>"),
    ("<|start|>", "<|end|>"),
    ("<|user|>", "<|end|>"),
    ("<|user|>", "<|assistant|>"),
    ("<|User|>", "<|Assistant|>"),
    ("<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>"),
    ("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
    ("<|start_of_role|>", "<|end_of_role|>"),
    ("[INST]", "[/INST]"),
)
# Base models have the other families' tokens, too; these a vocabulary gets for chats.
_ONLY_FOR_CHATS = ("<|im_start|>",)
_CHAT_NAME = re.compile(r"(?i)(?:^|[^a-z])(?:chat|instruct|it|sft|dpo|rlhf|assistant)(?:[^a-z]|$)")


@known(
    id="chat-template-missing",
    area=Area.CHAT,
    severity=Severity.WARNING,
    name="a chat model has no chat template",
    symptom="`Cannot use chat template functions because tokenizer.chat_template is not set`; or "
    "a server guesses a format, and answers get worse",
    cause="the tokens of turns are in the vocabulary, and no file says how chats are written. The "
    "template was not saved with the model, or only the weights were merged",
    remedy="copy chat_template.jinja (or chat_template in tokenizer_config.json) from the model "
    "that the chats of training were rendered with, and save it with this one",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.FOLDER),
)
def _missing(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    assert patient.folder is not None
    reads_only = patient.kind in (ModelKind.ENCODER, ModelKind.ENCODER_DECODER)
    if patient.chat_templates or reads_only:
        return
    ids = patient.fixed_ids
    turns = next((pair for pair in _TURNS if pair[0] in ids and pair[1] in ids), None)
    if turns is None:
        return
    ends = stop_ids(patient) | patient.role_ids("eos")
    is_sure = (
        turns[0] in _ONLY_FOR_CHATS
        or any(ids[end] in ends for _, end in _TURNS if end in ids)
        or _CHAT_NAME.search(patient.folder.path.resolve().name) is not None
    )
    yield Seen(
        what=f"the vocabulary has {turns[0]!r} and {turns[1]!r}, and there is no chat template",
        where=str(patient.folder.path),
        value=0,
        unit="chat templates",
        severity=None if is_sure else Severity.INFO,
        cause="" if is_sure else _MAYBE_BASE,
    )


_MAYBE_BASE = (
    "the tokens of turns are in the vocabulary, and no file says how chats are written. That is "
    "right for a base model, and wrong for one that was trained on chats"
)


@known(
    id="chat-template-not-read",
    area=Area.CHAT,
    severity=Severity.WARNING,
    name="the chat template stands where AutoTokenizer does not look",
    symptom="`tokenizer.chat_template is not set`, though the folder has a template",
    cause="chat_template.json is read by AutoProcessor (models of images and sound), and not by "
    "AutoTokenizer",
    remedy="write the template itself into chat_template.jinja, or as chat_template into "
    "tokenizer_config.json",
    needs=(EvidenceKind.FOLDER,),
    source="transformers 5.23.0, tokenization_utils_base.py and processing_utils.py",
)
def _not_read(patient: Patient) -> Iterator[Seen]:
    assert patient.folder is not None
    file = patient.folder.chat_template_file
    if file is None or file.name != "chat_template.json":
        return
    processors = (
        "preprocessor_config.json",
        "processor_config.json",
        "video_preprocessor_config.json",
    )
    has_processor = any((patient.folder.path / name).is_file() for name in processors)
    yield Seen(
        what="the only chat template is in chat_template.json, which AutoTokenizer does not read",
        where=file.name,
        value=1,
        unit="chat templates",
        severity=Severity.INFO if has_processor else None,
    )


@known(
    id="no-generation-block",
    area=Area.CHAT,
    severity=Severity.INFO,
    name="the chat template does not say which text is the model's",
    symptom="`return_assistant_tokens_mask` is all zeros; training on answers alone learns "
    "nothing and looks healthy",
    cause="the mask comes from `{% generation %}` blocks, and the template has none",
    remedy="put `{% generation %}` and `{% endgeneration %}` around the model's text, the token "
    "that ends a turn included; trl has such templates for common models",
    needs=(EvidenceKind.TOKENIZER,),
    source="transformers 5.23.0, utils/chat_template_utils.py",
)
def _no_block(patient: Patient) -> Iterator[Seen]:
    found = default_template(patient)
    if found is None or patient.task != "train":
        return
    try:
        if ChatTemplate.from_source(found[1]).has_generation_block():
            return
    except JetonError:
        return  # another check says why
    yield Seen(
        what="the template has no {% generation %} block",
        where=found[0],
        value=0,
        unit="blocks",
    )


@known(
    id="template-not-prefix-preserving",
    area=Area.CHAT,
    severity=Severity.INFO,
    name="the template writes earlier turns anew when a chat goes on",
    symptom="prefix caches miss after each turn; masks by the length of the prompt are off",
    cause="the text of a chat is no beginning of the text of that chat with more turns. For "
    "instance, the template adds or drops reasoning in the last answer",
    remedy="make masks from `{% generation %}` blocks (`assistant_mask`), not from lengths of "
    "prompts; `jeton.chat.common_prefix` says how many ids two chats share",
    needs=(EvidenceKind.TOKENIZER,),
)
def _prefix(patient: Patient) -> Iterator[Seen]:
    found = default_template(patient)
    if found is None:
        return
    names = template_names(patient)
    short = rendered_chat(found[1], names, 2, prompt=False)
    long = rendered_chat(found[1], names, 4, prompt=False)
    if isinstance(short, JetonError) or isinstance(long, JetonError):
        return
    # An end of the whole text is written once, behind the last turn.
    n_shared = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b),
        min(len(short), len(long)),
    )
    if n_shared == len(short):
        return
    yield Seen(
        what=f"of a chat of 2 messages the first {n_shared:,} of {len(short):,} characters are "
        f"written again when it goes on; then {short[n_shared:][:30]!r} becomes "
        f"{long[n_shared:][:30]!r}",
        where=found[0],
        value=n_shared,
        unit="characters",
        severity=Severity.WARNING if patient.task == "train" else None,
    )
