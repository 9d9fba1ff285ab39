"""Which special tokens are in use, and where a model stops."""

from __future__ import annotations

import re

from jeton.doctor.patient import Patient

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
