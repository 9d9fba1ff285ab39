"""Chat templates: tokens that do not exist, turns that do not end, beginnings that come twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from jeton.chat import ChatTemplate
from jeton.checkpoint import ModelKind
from jeton.doctor.checks.special import stop_ids, written_control_texts
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient, file_of_stops
from jeton.errors import JetonError
from jeton.findings import Severity

# A small chat as a folder's template writes it: what the checks of templates look at.

ASKED, ANSWERED = "JETONASKED", "JETONANSWERED"
_AGAIN, _AT_LAST = "JETONAGAIN", "JETONATLAST"
_CHAT = (
    ("user", ASKED),
    ("assistant", ANSWERED),
    ("user", _AGAIN),
    ("assistant", _AT_LAST),
)


@lru_cache(maxsize=16)
def rendered_chat(
    source: str, names: tuple[tuple[str, str], ...], n_messages: int, *, prompt: bool
) -> str | JetonError:
    """A small chat as a template writes it, in a process of its own; or why it could not."""
    template = ChatTemplate.from_source(source, special_tokens=dict(names))
    messages = [{"role": role, "content": text} for role, text in _CHAT[:n_messages]]
    try:
        return template.render(messages, add_generation_prompt=prompt).text
    except JetonError as error:
        return error


def template_names(patient: Patient) -> tuple[tuple[str, str], ...]:
    """Special tokens under the names that templates use."""
    if patient.folder is not None:
        return tuple((f"{role}_token", text) for role, text in sorted(patient.folder.roles.items()))
    names = []
    for role in ("bos", "eos", "pad", "unk"):
        if patient.gguf is not None and (token_id := patient.gguf.token_id(role)) is not None:
            names.append((f"{role}_token", patient.token_text(token_id)))
    return tuple(names)


def default_template(patient: Patient) -> tuple[str, str] | None:
    """The usual template and where it stands; named ones are for tools and documents."""
    for where, source in patient.chat_templates.items():
        if not where.startswith("template "):
            return where, source
    return None


_NEEDS = (EvidenceKind.TOKENIZER,)


@known(
    id="chat-template-fails",
    area=Area.CHAT,
    severity=Severity.ERROR,
    name="the chat template does not render a plain conversation",
    symptom="every chat request ends in a TemplateError or a 500",
    cause="the template is damaged, needs variables that nobody gives it, or takes too long",
    remedy="the message below names the line; take the template from the model's publisher again; "
    "`jeton chat --tokenizer FOLDER chat.json` tries it",
    needs=_NEEDS,
)
def _fails(patient: Patient) -> Iterator[Seen]:
    found = default_template(patient)
    if found is None:
        return
    text = rendered_chat(found[1], template_names(patient), 3, prompt=False)
    if isinstance(text, JetonError):
        yield Seen(
            what=str(text).split("\n")[0],
            where=found[0],
            value=1,
            unit="failures",
        )


@known(
    id="chat-template-token-unknown",
    area=Area.CHAT,
    severity=Severity.ERROR,
    name="the chat template writes control tokens that the tokenizer does not have",
    symptom="the model does not follow the chat format; prompts are longer than they should be",
    cause="the template belongs to another model: its control tokens are cut into pieces of "
    "ordinary text, which the model never saw as control tokens",
    remedy="use the template that the model was trained with, or add the tokens to tokenizer and "
    "model and train them",
    needs=_NEEDS,
)
def _unknown_tokens(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    found = default_template(patient)
    if found is None:
        return
    where, source = found
    rendered = rendered_chat(source, template_names(patient), 3, prompt=True)
    # Only what is really written counts: templates compare with tokens of older models.
    text = source if isinstance(rendered, JetonError) else rendered
    unknown = []
    for control in written_control_texts(text):
        if control.startswith("[") and control not in patient.fixed_ids:
            # [INST] of Llama 2 is ordinary text on purpose.
            continue
        if len(patient.tokenizer.encode(control, allow_special="all")) != 1:
            unknown.append(control)
    if unknown:
        n = sum(len(patient.tokenizer.encode(c, allow_special="all")) for c in unknown)
        yield Seen(
            what=f"{', '.join(map(repr, unknown[:4]))} in the template "
            f"{'is' if len(unknown) == 1 else 'are'} no token: {n} pieces of ordinary text",
            where=where,
            value=len(unknown),
            unit="control tokens",
            evidence={"unknown": unknown},
        )


def _turn_end(patient: Patient, source: str) -> int | None:
    """The control token that the template writes behind an answer."""
    text = rendered_chat(source, template_names(patient), 3, prompt=False)
    if isinstance(text, JetonError) or ANSWERED not in text:
        return None
    behind = text.split(ANSWERED, 1)[1].lstrip()
    at = [control for control in patient.fixed_ids if control and behind.startswith(control)]
    return patient.fixed_ids[max(at, key=len)] if at else None


@known(
    id="turn-end-not-eos",
    area=Area.CHAT,
    severity=Severity.ERROR,
    name="the token that ends a turn does not end generation",
    symptom="after a good answer the model goes on: it writes `assistant`, or the user's next "
    "question, until max_new_tokens",
    cause="the chat template ends answers with a token that is missing from eos_token_id",
    remedy='list it: generation_config.json `"eos_token_id": [END_OF_TEXT, END_OF_TURN]`; in vLLM '
    "`stop_token_ids=[...]` helps at once",
    needs=_NEEDS,
)
def _turn_end_not_eos(patient: Patient) -> Iterator[Seen]:
    found = default_template(patient)
    if found is None:
        return
    end = _turn_end(patient, found[1])
    stops = stop_ids(patient)
    if end is None or not stops or end in stops:
        return
    names = ", ".join(f"{i} ({patient.token_text(i)!r})" for i in sorted(stops)[:4])
    yield Seen(
        what=f"answers end with {patient.token_text(end)!r} (id {end}), generation stops at "
        f"{names}",
        where=file_of_stops(patient, otherwise=found[0]),
        value=end,
        unit="id",
        evidence={"turn_end": end, "stops": sorted(stops)},
    )


@known(
    id="generation-prompt-differs",
    area=Area.CHAT,
    severity=Severity.WARNING,
    name="the prompt for an answer is not how answers begin in the template",
    symptom="answers begin with a role name or a newline, or the user's text is continued",
    cause="the text of add_generation_prompt is no beginning of the template's text before an "
    "answer: serving asks in a form that training never had",
    remedy="mend the template's add_generation_prompt part, or render with "
    "add_generation_prompt=True where it was left out",
    needs=_NEEDS,
)
def _generation_prompt(patient: Patient) -> Iterator[Seen]:
    found = default_template(patient)
    if found is None:
        return
    names = template_names(patient)
    asked = rendered_chat(found[1], names, 1, prompt=True)
    whole = rendered_chat(found[1], names, 2, prompt=False)
    if isinstance(asked, JetonError) or isinstance(whole, JetonError) or ANSWERED not in whole:
        return
    header = whole.split(ANSWERED, 1)[0]
    if asked.startswith(header.rstrip()):
        # The prompt may go further: it opens the reasoning, for instance.
        return
    missing = header.removeprefix(asked.rstrip()) if header.startswith(asked.rstrip()) else None
    if missing is None:
        what = "the prompt for an answer does not begin like an answer in the template"
    elif not _has_role_header(patient, missing):
        return
    else:
        what = (
            f"add_generation_prompt leaves out {missing.strip()[:60]!r}, with which answers begin"
        )
    yield Seen(
        what=what,
        where=found[0],
        value=1,
        unit="differences",
        evidence={"prompt": asked[-200:], "answer": header[-200:]},
    )


def _has_role_header(patient: Patient, missing: str) -> bool:
    """True if a control token with the name of the role was left out; reasoning marks are not."""
    return "assistant" in missing or "model" in missing


@known(
    id="double-bos-trap",
    area=Area.CHAT,
    severity=Severity.INFO,
    name="chat template and tokenizer both write the beginning of text",
    symptom="prompts begin with two BOS tokens; quality falls a little, and nobody notices",
    cause="the template writes BOS itself; who encodes its text with add_special_tokens (the "
    "default of transformers) gets a second one",
    remedy="encode rendered chats with add_special_tokens=False, or by "
    "apply_chat_template(tokenize=True) or `jeton.chat.encode_chat`, which do",
    needs=_NEEDS,
)
def _double_bos(patient: Patient) -> Iterator[Seen]:
    found = default_template(patient)
    before, _ = patient.added_around
    if found is None or not before:
        return
    text = rendered_chat(found[1], template_names(patient), 1, prompt=True)
    if isinstance(text, JetonError):
        return
    beginning = patient.token_text(before[0])
    if text.startswith(beginning):
        yield Seen(
            what=f"the template begins with {beginning!r}, and the tokenizer puts another before "
            "it with add_special_tokens",
            where=found[0],
            value=2,
            unit="BOS tokens",
        )


# Chat templates: missing, in a file that is not read, unfit for training.

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
