"""Chats: rendered and encoded so that text of users never becomes a special token."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jinja2.exceptions
from transformers.utils import chat_template_utils, logging

from jeton.chat import ChatTemplate, RenderedChat, trusted
from jeton.chat.encoding import known_control_tokens
from jeton.compat.tokenizers._arguments import GuardedText
from jeton.compat.tokenizers.encoding import windows_of
from jeton.errors import TemplateError, TemplateLimitError, UsageError

# Errors of chat templates as ``transformers`` raises them, and as Jeton's besides.


def as_jinja(error: TemplateError) -> TemplateError:
    """The error, of the class that Jinja or Python has for it, too.

    A refusal (``raise_exception``) reads exactly as the template words it: programs look for those
    words to find out that a model has no system role.
    """
    kind = _class_of(error.kind)
    if kind is None or isinstance(error, TemplateLimitError):
        return error
    words = error.said if error.reason == "refused" else str(error)
    made: TemplateError = _joined(kind)(words, error)
    return made


def _class_of(name: str) -> type[Exception] | None:
    for module in (jinja2.exceptions, builtins):
        found = getattr(module, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            return found
    return None


_made: dict[type[Exception], Any] = {}


def _joined(kind: type[Exception]) -> Any:
    """A class of errors that is both; the same one each time."""
    if kind not in _made:
        _made[kind] = _class(kind)
    return _made[kind]


def _class(kind: type[Exception]) -> Any:

    def init(self: Any, words: str, error: TemplateError) -> None:
        # Jinja's classes take arguments of their own, which are known already.
        Exception.__init__(self, words)
        self.reason, self.line = error.reason, error.line
        self.kind, self.said = error.kind, error.said
        if issubclass(kind, jinja2.exceptions.TemplateSyntaxError):
            self.lineno = error.line or 1
            self.name = self.filename = self.source = None
            self.translated = False

    scope = {
        "__init__": init,
        "__str__": Exception.__str__,
        "__reduce__": _reduce,
        "__module__": __name__,
        "__doc__": f"A chat template failed with a {kind.__name__}.",
    }
    return type(kind.__name__, (TemplateError, kind), scope)


def _reduce(self: Any) -> Any:
    return _again, (str(self), self.reason, self.line, self.kind, self.said)


def _again(words: str, reason: str, line: int | None, kind: str, said: str) -> TemplateError:
    return as_jinja(TemplateError(words, reason=reason, line=line, kind=kind, said=said))


_logger = logging.get_logger(__name__)


def apply_chat_template(
    tokenizer: Any, usual: Callable[..., Any], conversation: Any, *args: Any, **kwargs: Any
) -> Any:
    """Render as ``tokenizer.apply_chat_template`` does.

    Args:
        tokenizer: The tokenizer, one of ``transformers`` over Jeton's core.
        usual: The method of its class in ``transformers``.
        conversation: A chat, or several.
        args: As in ``transformers``.
        kwargs: As in ``transformers``.

    Raises:
        TemplateError: The template failed or refused; the error is also of the class that Jinja, or
            Python, has for it.
    """
    bound = inspect.signature(usual).bind(conversation, *args, **kwargs)
    bound.apply_defaults()
    asked = dict(bound.arguments)
    variables = asked.pop("kwargs", {})
    if not asked["tokenize"]:
        return usual(conversation, *args, **kwargs)
    _check(asked)
    chats, is_batched = _conversations(conversation)
    source = tokenizer.get_chat_template(asked["chat_template"], asked["tools"])
    template = ChatTemplate.from_source(source, special_tokens=tokenizer.special_tokens_map)
    if asked["return_assistant_tokens_mask"] and not template.has_generation_block():
        # The words of transformers, through its own logger.
        logging.get_logger(chat_template_utils.__name__).warning_once(
            "return_assistant_tokens_mask==True but chat template does not contain "
            "`{% generation %}` keyword."
        )
    tools = _schemas(asked["tools"])
    core = tokenizer._tokenizer._compiled().core
    texts = []
    for messages in chats:
        try:
            rendered = template.render(
                [_message(message, tokenizer.trusted_chat_roles) for message in messages],
                tools=tools,
                documents=asked["documents"],
                add_generation_prompt=asked["add_generation_prompt"],
                continue_final_message=asked["continue_final_message"],
                may_be_empty=True,
                **variables,
            )
        except TemplateError as error:
            raise as_jinja(error) from None
        texts.append(_guarded(core, rendered))
    return _outputs(tokenizer, texts, asked, is_batched=is_batched)


def _check(asked: dict[str, Any]) -> None:
    """Refuse what contradicts itself, as ``transformers`` does."""
    if asked["return_assistant_tokens_mask"] and not asked["return_dict"]:
        raise ValueError("`return_assistant_tokens_mask=True` requires `return_dict=True`")
    if asked["continue_final_message"] and asked["add_generation_prompt"]:
        raise ValueError("continue_final_message and add_generation_prompt are not compatible")
    if asked["continue_final_message"] and asked["return_assistant_tokens_mask"]:
        raise ValueError(
            "continue_final_message is not compatible with return_assistant_tokens_mask"
        )


def _conversations(conversation: Any) -> tuple[list[Any], bool]:
    """Chats as lists of messages, and whether several were given."""
    if not len(conversation):
        raise ValueError(
            "Cannot apply chat template to an empty conversation. Provide at least one message."
        )
    first = conversation[0]
    is_batched = isinstance(first, list | tuple) or hasattr(first, "messages")
    chats = list(conversation) if is_batched else [conversation]
    return [getattr(chat, "messages", chat) for chat in chats], is_batched


def _message(message: Any, trusted_roles: frozenset[str]) -> dict[str, Any]:
    """A message without what is None; the content of roles that are trusted is so, too."""
    fields = {name: value for name, value in message.items() if value is not None}
    if fields.get("role") in trusted_roles and isinstance(fields.get("content"), str):
        fields["content"] = trusted(fields["content"])
    return fields


def _schemas(tools: Sequence[Any] | None) -> list[Any] | None:
    """Tools as schemas; functions describe themselves, as in ``transformers``."""
    if tools is None:
        return None
    from transformers.utils import get_json_schema

    return [tool if isinstance(tool, dict) else get_json_schema(tool) for tool in tools]


def _guarded(core: Any, rendered: RenderedChat) -> GuardedText:
    return GuardedText.of(
        rendered.text,
        rendered.trusted_spans,
        control_tokens=known_control_tokens(core, rendered.literals, rendered.role_tokens, "auto"),
        marked_spans=rendered.generation_spans,
    )


def _outputs(
    tokenizer: Any, texts: list[GuardedText], asked: dict[str, Any], *, is_batched: bool
) -> Any:
    """The chats through the tokenizer's own call: padding, truncation and columns are its."""
    options = asked["tokenizer_kwargs"] or {}
    out = tokenizer(
        texts if is_batched else texts[0],
        padding=asked["padding"],
        truncation=asked["truncation"],
        max_length=asked["max_length"],
        add_special_tokens=False,
        return_tensors=asked["return_tensors"],
        **options,
    )
    if any(text.n_tokens is None for text in texts):
        raise UsageError(
            f"{type(tokenizer).__name__} changes a text before it is encoded, so that what users "
            "wrote cannot be told from the template\nhint: apply_chat_template(tokenize=False), "
            "then encode; JetonTokenizer reads the same folder and does not"
        )
    _tell_of_look_alikes(tokenizer, texts)
    if not asked["return_dict"]:
        return out["input_ids"]
    if asked["return_assistant_tokens_mask"]:
        n_rows = len(out.encodings)
        masks = list(_masks(tokenizer, texts, out, options, n_rows=n_rows))
        # The shape is that of the ids: overflowing windows of one chat are rows, also a single one.
        rows = out["input_ids"]
        is_nested = is_batched or asked["return_tensors"] or any(isinstance(r, list) for r in rows)
        out["assistant_masks"] = masks if is_nested else masks[0]
        if asked["return_tensors"]:
            out.convert_to_tensors(tensor_type=asked["return_tensors"])
    return out


def _masks(
    tokenizer: Any, texts: list[GuardedText], out: Any, options: dict[str, Any], *, n_rows: int
) -> Iterator[list[int]]:
    """For each row 1 where a token has text of a ``{% generation %}`` block, else 0."""
    of_text = out.get("overflow_to_sample_mapping", range(n_rows))
    window, before = 0, -1
    for row in range(n_rows):
        encoding = out.encodings[row]
        number = int(of_text[row])
        window = window + 1 if number == before else 0
        before = number
        kept = encoding.attention_mask
        n_kept = sum(kept)
        marks = texts[number].marks
        if n_kept < len(marks) and n_kept:
            stride = int(options.get("stride", 0))
            left = tokenizer.truncation_side == "left"
            length = n_kept
            if window:
                # The last window may be shorter than the others.
                length = sum(out.encodings[row - window].attention_mask)
            ranges = list(windows_of(len(marks), length, stride, left=left))
            start, stop = ranges[window]
            marks = marks[start:stop]
        found = iter(marks)
        yield [next(found, 0) if is_kept else 0 for is_kept in kept]


def _tell_of_look_alikes(tokenizer: Any, texts: list[GuardedText]) -> None:
    """Say once that a message spelled control tokens, of which transformers would make tokens."""
    refused = {number for text in texts for _, _, number in text.refused}
    if refused:
        names = ", ".join(map(repr, tokenizer.convert_ids_to_tokens(sorted(refused))[:4]))
        _logger.warning_once(
            f"Control tokens in messages stayed text: {names}. Where such text is your own "
            "(answers to train on), set tokenizer.trusted_chat_roles = frozenset({'assistant'})."
        )
