"""Chat templates: rendered, with the provenance of every character."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jeton.chat.data import KNOWN_ROLES, TAIL_TEXT, messages_for_template, plain_data
from jeton.chat.limits import TemplateLimits
from jeton.chat.text import GENERATED, TAIL, TRUSTED, Run, Text
from jeton.errors import TemplateError, TemplateLimitError, UsageError
from jeton.formats.folders import read_folder
from jeton.formats.model_settings import ModelSettings, settings_of, settings_of_folder
from jeton.registry import TokenizerLike, load, place_of, resolve

if TYPE_CHECKING:
    from jeton.chat.rendering import Compiled


_DEFAULT = "default"
_WITH_TOOLS = "tool_use"


def trusted(text: str) -> str:
    """Text of the caller's own that may hold control tokens, as if the template had written it.

    For what the program wrote or a model generated and the program checked, never for what a user
    sent.
    """
    return Text.all_of(str.__str__(text), TRUSTED)


@dataclass(frozen=True, slots=True)
class RenderedChat:
    """A chat as text, with where it comes from.

    Attributes:
        text: The text, as transformers renders it.
        trusted_spans: Where the template wrote it, as (start, end) in code points, rising, with
            gaps. Everything else is data: messages, tools, documents, or text whose provenance was
            lost.
        generation_spans: Text of ``{% generation %}`` blocks, likewise.
        literals: The text that the template can write: its text and its string constants.
        has_generation_block: True if the template has a ``{% generation %}`` block at all, so that
            no spans mean an untaken one.
        role_tokens: Texts of special tokens that the template knows by name (``eos_token``).
    """

    text: str
    trusted_spans: tuple[tuple[int, int], ...]
    generation_spans: tuple[tuple[int, int], ...]
    literals: tuple[str, ...] = field(repr=False)
    has_generation_block: bool = False
    role_tokens: tuple[str, ...] = field(default=(), repr=False)


class ChatTemplate:
    """A chat template, or several by name.

    Templates come with models that anybody can publish, and are programs: they are rendered in a
    child process with limits unless they are said to be trusted. A template is immutable and can be
    used by many threads.
    """

    def __init__(
        self,
        templates: Mapping[str, str],
        *,
        special_tokens: Mapping[str, str] | None = None,
        is_trusted: bool = False,
        limits: TemplateLimits | None = None,
    ) -> None:
        self._sources = dict(templates)
        self._special_tokens = dict(special_tokens or {})
        self._is_trusted = is_trusted
        self._limits = limits or TemplateLimits()

    @classmethod
    def from_source(
        cls,
        source: str,
        *,
        special_tokens: Mapping[str, str] | None = None,
        is_trusted: bool = False,
        limits: TemplateLimits | None = None,
    ) -> ChatTemplate:
        """A template from its text.

        Args:
            source: The Jinja template.
            special_tokens: Names that the template uses, with their text:
                ``{"bos_token": "<s>", "eos_token": "</s>"}``. They count as the template's own
                text.
            is_trusted: True if the template is your own: it is rendered in this process then, still
                in Jinja's sandbox, but with no limit of time and memory.
            limits: How much a rendering may take.
        """
        return cls(
            {_DEFAULT: source}, special_tokens=special_tokens, is_trusted=is_trusted, limits=limits
        )

    @classmethod
    def from_folder(
        cls, path: str | Path, *, is_trusted: bool = False, limits: TemplateLimits | None = None
    ) -> ChatTemplate:
        """The templates of a folder that ``save_pretrained`` wrote, with its special tokens.

        Args:
            path: The folder; also a .gguf file, or the name of a model in the local Hugging Face
                cache.
            is_trusted: As for ``from_source``.
            limits: As for ``from_source``.

        Raises:
            UsageError: It has none.
            FormatError: A file is damaged.
            OSError: It cannot be read.
        """
        place = place_of(path) or Path(path)
        if place.is_file() and place.suffix.lower() == ".gguf":
            tokenizer = load(place)
            return cls.from_tokenizer(tokenizer, is_trusted=is_trusted, limits=limits)
        settings = settings_of_folder(read_folder(place))
        return cls._of(settings, str(path), is_trusted=is_trusted, limits=limits)

    @classmethod
    def from_tokenizer(
        cls, tok: TokenizerLike, *, is_trusted: bool = False, limits: TemplateLimits | None = None
    ) -> ChatTemplate:
        """The templates of the folder, or GGUF file, that a tokenizer was loaded from.

        Raises:
            UsageError: It has none, or the tokenizer was loaded from something else.
            FormatError: A file is damaged.
        """
        tok = resolve(tok)
        settings = settings_of(tok) or ModelSettings()
        name = tok.name or "the tokenizer"
        return cls._of(settings, name, is_trusted=is_trusted, limits=limits)

    @classmethod
    def _of(
        cls, settings: ModelSettings, name: str, *, is_trusted: bool, limits: TemplateLimits | None
    ) -> ChatTemplate:
        sources = dict(settings.other_chat_templates)
        if settings.chat_template is not None:
            sources[_DEFAULT] = settings.chat_template
        if not sources:
            raise UsageError(
                f"{name} has no chat template\n"
                "hint: expected chat_template.jinja, or chat_template in tokenizer_config.json, in "
                "the folder that it is loaded from; --template FILE gives one "
                "(ChatTemplate.from_source)"
            )
        roles = {f"{role}_token": text for role, text in settings.roles.items()}
        return cls(sources, special_tokens=roles, is_trusted=is_trusted, limits=limits)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the templates, in alphabetical order; a single one is ``default``."""
        return tuple(sorted(self._sources))

    @property
    def special_tokens(self) -> dict[str, str]:
        """Special tokens by the name that templates use."""
        return dict(self._special_tokens)

    def source(self, name: str | None = None, *, with_tools: bool = False) -> str:
        """The text of a template.

        Args:
            name: Which; None: ``tool_use`` if there are tools and such a template, else
                ``default``.
            with_tools: True if there are tools.

        Raises:
            UsageError: There is none of this name.
        """
        if name is None:
            name = _WITH_TOOLS if with_tools and _WITH_TOOLS in self._sources else _DEFAULT
        source = self._sources.get(name)
        if source is None:
            raise UsageError(
                f"there is no chat template {name!r}\nhint: there is {', '.join(self.names)}"
            )
        return source

    def has_generation_block(self, name: str | None = None, *, with_tools: bool = False) -> bool:
        """True if a template says which text is the assistant's; arguments as for ``source``.

        Without a ``{% generation %}`` block every ``assistant_mask`` is all zeros.
        """
        return has_generation_block(self.source(name, with_tools=with_tools))

    def render(
        self,
        messages: Sequence[Any],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        template_name: str | None = None,
        trusted_roles: frozenset[str] = KNOWN_ROLES,
        may_be_empty: bool = False,
        **variables: Any,
    ) -> RenderedChat:
        """A chat as text.

        Args:
            messages: Mappings with ``role``, ``content`` and whatever the template reads.
            tools: JSON schemas of functions.
            documents: Documents with ``title`` and ``text``.
            add_generation_prompt: True: write the beginning of an answer.
            continue_final_message: True if the text ends inside the last message, so that it is
                continued; the name of a field: inside that one instead of ``content``.
            template_name: Which template; None: ``tool_use`` if there are tools and such a
                template, else ``default``.
            trusted_roles: Values of ``role`` that count as the template's own text, because
                templates make control tokens of them. A program that lets users choose roles passes
                ``frozenset()``.
            may_be_empty: True if a chat may have no message.
            variables: Other variables that the template reads. They are data, also under the name
                of a special token.

        Raises:
            UsageError: The arguments are no chat, or contradict one another.
            TemplateError: The template failed, or refused the messages.
            TemplateLimitError: It was stopped.
        """
        if continue_final_message and add_generation_prompt:
            raise UsageError(
                "continue_final_message and add_generation_prompt contradict one another\n"
                "hint: a message is continued, or a new one begins"
            )
        source = self.source(template_name, with_tools=tools is not None)
        continued = None
        if continue_final_message:
            given = continue_final_message
            continued = given if isinstance(given, str) else "content"
        seen: dict[str, Any] = {name: trusted(text) for name, text in self._special_tokens.items()}
        seen |= plain_data(variables)
        seen["messages"] = messages_for_template(
            messages,
            trusted_roles=trusted_roles,
            continued=continued,
            may_be_empty=may_be_empty,
        )
        seen["tools"] = _mappings("tools", tools)
        seen["documents"] = _mappings("documents", documents)
        seen["add_generation_prompt"] = add_generation_prompt
        try:
            text, runs = self._rendered(source, seen)
        except TemplateError as error:
            raise explained(error, source, seen["messages"]) from None
        if continued is not None:
            text, runs = _without_tail(text, runs, continued)
        return RenderedChat(
            text=text,
            trusted_spans=_spans(runs, TRUSTED),
            generation_spans=_spans(runs, GENERATED),
            literals=self._literals(source),
            has_generation_block=has_generation_block(source),
            role_tokens=tuple(dict.fromkeys(self._special_tokens.values())),
        )

    @cached_property
    def _compiled(self) -> dict[str, Compiled]:
        return {}

    @cached_property
    def _known_literals(self) -> dict[str, tuple[str, ...]]:
        return {}

    def _compile(self, source: str) -> Compiled:
        from jeton.chat.rendering import Compiled

        known = self._compiled.get(source)
        if known is None:
            known = self._compiled[source] = Compiled(source)
        return known

    def _rendered(self, source: str, variables: Mapping[str, Any]) -> tuple[str, tuple[Run, ...]]:
        if self._is_trusted:
            return self._compile(source).render(variables, max_chars=self._limits.output_chars)
        from jeton.chat.isolation import render_in_child

        return render_in_child(source, variables, self._limits)

    def _literals(self, source: str) -> tuple[str, ...]:
        if self._is_trusted:
            return self._compile(source).literals
        known = self._known_literals.get(source)
        if known is None:
            from jeton.chat.isolation import literals_in_child

            known = self._known_literals[source] = literals_in_child(source, self._limits)
        return known


def _mappings(name: str, values: Sequence[Mapping[str, Any]] | None) -> list[Any] | None:
    if values is None:
        return None
    given: Any = values
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise UsageError(
            f"{name} are a {type(values).__name__}; expected a list of mappings\n"
            "hint: a tool is the JSON schema of a function; a document has a title and a text"
        )
    plain = plain_data(list(values))
    for index, value in enumerate(plain):
        if not isinstance(value, dict):
            raise UsageError(
                f"{name}[{index}] is a {type(values[index]).__name__}; expected a mapping\n"
                "hint: a tool is the JSON schema of a function; a document has a title and a text"
            )
    return list(plain)


def _spans(runs: Sequence[Run], flag: int) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    for start, end, flags in runs:
        if not flags & flag:
            continue
        if spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(spans)


def _without_tail(text: str, runs: tuple[Run, ...], field_name: str) -> tuple[str, tuple[Run, ...]]:
    """The text up to where the final message is to be continued."""
    tails = [run for run in runs if run[2] & TAIL]
    if not tails:
        raise TemplateError(
            f"the chat template does not write {field_name!r} of the last message, so it cannot be "
            "continued\nhint: continue_final_message takes the name of the field to continue",
            reason="failed",
        )
    start = tails[-1][0]
    kept = text[:start]
    if not text.startswith(TAIL_TEXT, start):
        # The template strips messages, and would have done so with this one. (Where it writes a
        # space of its own behind one, it looks as if it did not: to transformers, too.)
        kept = kept.rstrip()
    cut = ((a, min(b, len(kept)), flags) for a, b, flags in runs if a < len(kept))
    return kept, tuple(cut)


# Facts about a template without running it, and reasons why one failed.

# As transformers 5.23.0 looks for it (utils/chat_template_utils.py).
_BLOCK = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
_SHOWN_CHARS = 100
"""Characters of a line of the template that an error shows."""
_QUOTED = re.compile(r"'([A-Za-z_]\w*)'")


def has_generation_block(source: str) -> bool:
    """True if a template marks what the assistant said."""
    return _BLOCK.search(source) is not None


def explained(
    error: TemplateError, source: str, messages: Sequence[Mapping[str, Any]]
) -> TemplateError:
    """The error with the line of the template, and with what in the messages may be the reason."""
    if isinstance(error, TemplateLimitError) or error.reason not in ("undefined", "failed"):
        return error
    words = str(error).rstrip(".")
    excerpt = _excerpt(source, error)
    if excerpt:
        words += f"; it reads {excerpt!r}"
    field = _text_arguments(messages)
    if field is not None and "arguments" in source:
        words += (
            f"\nhint: {field} is a text, and the template may want a mapping: json.loads it first"
        )
    return TemplateError(
        words, reason=error.reason, line=error.line, kind=error.kind, said=error.said
    )


def _excerpt(source: str, error: TemplateError) -> str:
    """The line at fault; of a long one the part around the name that the error quotes."""
    lines = source.splitlines()
    if error.line is None or not 0 < error.line <= len(lines):
        return ""
    line = lines[error.line - 1].strip()
    if len(line) <= _SHOWN_CHARS:
        return line
    for name in reversed(_QUOTED.findall(error.said)):
        at = line.find(name)
        if at >= 0:
            start = max(0, at + len(name) // 2 - _SHOWN_CHARS // 2)
            return line[start : start + _SHOWN_CHARS]
    return ""


def _text_arguments(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Where a tool call has its arguments as JSON in a string, as OpenAI's interface has them."""
    for i, message in enumerate(messages):
        calls = message.get("tool_calls")
        for j, call in enumerate(calls if isinstance(calls, list) else ()):
            if not isinstance(call, Mapping):
                continue
            inside = call.get("function")
            holder = inside if isinstance(inside, Mapping) else call
            if isinstance(holder.get("arguments"), str):
                within = ".function" if holder is inside else ""
                return f"messages[{i}].tool_calls[{j}]{within}.arguments"
    return None
