"""A small chat as a folder's template writes it: what the checks of templates look at."""

from __future__ import annotations

from functools import lru_cache

from jeton.chat import ChatTemplate
from jeton.doctor.patient import Patient
from jeton.errors import JetonError

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
