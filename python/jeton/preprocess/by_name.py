"""Steps by name, each made from the settings and the tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from jeton._nearest import nearest
from jeton.errors import UsageError
from jeton.preprocess.steps import PreprocessOptions, TextStep

if TYPE_CHECKING:
    from jeton._core import Tokenizer


def _json(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.json_step import JsonStep

    return JsonStep(tokenizer)


def _html(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.html_step import HtmlStep

    return HtmlStep(options.html)


def _whitespace(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.text_steps import WhitespaceStep

    return WhitespaceStep(keep_hard_breaks=options.hard_breaks == "keep")


def _unicode(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.text_steps import UnicodeStep

    return UnicodeStep()


def _quotes(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.text_steps import QuotesStep

    return QuotesStep()


def _boilerplate(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.boilerplate import BoilerplateStep

    return BoilerplateStep(
        min_share=options.boilerplate_share,
        min_documents=options.boilerplate_documents,
        max_lines=options.boilerplate_max_lines,
    )


def _repetition(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.text_steps import RepetitionStep

    return RepetitionStep()


def _numbers(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.text_steps import NumbersStep

    return NumbersStep(options.significant_digits)


def _guard(options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    from jeton.preprocess.text_steps import GuardStep

    return GuardStep(options.guard_policy, tokenizer)


_MAKERS: Final[dict[str, Callable[[PreprocessOptions, Tokenizer], TextStep]]] = {
    "whitespace": _whitespace,
    "unicode": _unicode,
    "quotes": _quotes,
    "boilerplate": _boilerplate,
    "repetition": _repetition,
    "json": _json,
    "html": _html,
    "numbers": _numbers,
    "guard": _guard,
}

STEP_NAMES: Final = tuple(_MAKERS)
"""Names of the steps."""


def parse_steps(steps: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of steps, in the order given.

    Raises:
        UsageError: There is none, one is not known, or one is named twice.
    """
    given = steps.split(",") if isinstance(steps, str) else list(steps)
    names = tuple(name.strip().lower() for name in given)
    if not any(names):
        raise UsageError(
            f"no step is named; expected some of {', '.join(STEP_NAMES)}\n"
            "hint: no step is on by itself, as in --steps whitespace,json"
        )
    for name in names:
        if name not in _MAKERS:
            near = nearest(name, STEP_NAMES)
            hint = f"\nhint: did you mean {', '.join(near)}?" if near else ""
            raise UsageError(
                f"the step {name!r} is not known; expected some of {', '.join(STEP_NAMES)}{hint}"
            )
        if names.count(name) > 1:
            raise UsageError(f"the step {name!r} is named twice\nhint: name each step once")
    return names


def make_step(name: str, options: PreprocessOptions, tokenizer: Tokenizer) -> TextStep:
    """Make the step of a name that ``parse_steps`` returned.

    Raises:
        MissingExtraError: The library that it needs is not installed.
    """
    return _MAKERS[name](options, tokenizer)
