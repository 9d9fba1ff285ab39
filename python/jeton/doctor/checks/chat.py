"""Chat templates: tokens that do not exist, turns that do not end, beginnings that come twice."""

from __future__ import annotations

from collections.abc import Iterator

from jeton.doctor.chat_rendering import (
    ANSWERED,
    default_template,
    rendered_chat,
    template_names,
)
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.doctor.places import file_of_stops
from jeton.doctor.special import stop_ids, written_control_texts
from jeton.errors import JetonError
from jeton.findings import Severity

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
