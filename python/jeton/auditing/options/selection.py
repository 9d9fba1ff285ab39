"""Which tokenizers an audit counts with: those asked for, and those that the money needs.

The tokenizer belongs to the model. Where none is named, it follows from the planned model, the
priced one, or the one that the logs name. Where another one is named, what it counts is an open
"what if", and dollars are counted with the right one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jeton.auditing.options.model_tokenizers import (
    ModelTokenizer,
    is_same,
    load_or_none,
    model_of_price,
    tokenizer_of_facts,
    tokenizer_of_model,
)
from jeton.catalog import ApiPrice, ModelFacts
from jeton.errors import UsageError
from jeton.registry import TokenizerLike, several
from jeton.workload.choice import Chosen, choose_tokenizers

FALLBACK = "jeton-general-32k"
"""Bundled with the package: counts the text of logs whose models' tokenizers are not at hand."""


@dataclass(frozen=True, slots=True)
class MoneyTokenizer:
    """Tokenizer that a price's tokens are counted with.

    Attributes:
        price: The price.
        belongs: The tokenizer of its model; None where that is not known, or the price is the
            user's own.
        place: Place among the counted tokenizers: those asked for, then those for money.
        is_right: True if it is the tokenizer that belongs to the model.
    """

    price: ApiPrice
    belongs: ModelTokenizer | None
    place: int
    is_right: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tokenizers count.

    Attributes:
        chosen: The chosen ones, which the report is about.
        current: The place of the one in use.
        for_money: Further ones, that only dollars are counted with.
        money: One for each price.
        notices: Sentences that must be said first.
        tokenizer_of: The model whose tokenizer was taken because none was named; empty otherwise.
        of_model: True if each of those asked for is the planned model's own; None: not known.
    """

    chosen: tuple[Chosen, ...]
    current: int
    for_money: tuple[Chosen, ...] = ()
    money: tuple[MoneyTokenizer, ...] = ()
    notices: tuple[str, ...] = ()
    tokenizer_of: str = ""
    of_model: tuple[bool | None, ...] = ()

    @property
    def counted(self) -> tuple[Chosen, ...]:
        """All that count, by place."""
        return (*self.chosen, *self.for_money)


def is_given(
    tokenizers: Iterable[TokenizerLike] | TokenizerLike | None, current: TokenizerLike | None
) -> bool:
    """True if the user named a tokenizer."""
    return current is not None or bool(several(tokenizers))


def select(
    tokenizers: Iterable[TokenizerLike] | TokenizerLike | None,
    *,
    current: TokenizerLike | None,
    model: ModelFacts | None,
    prices: Sequence[ApiPrice],
    logged_models: Sequence[str] = (),
    is_log: bool = False,
) -> Selection:
    """Choose the tokenizers.

    Args:
        tokenizers: As the user named them; None or empty: by the model.
        current: The one in use, as the user named it.
        model: The planned model.
        prices: Prices that the user asked for.
        logged_models: Models that the logs name, the most frequent first.
        is_log: True if the inputs are logs, whose dollars rest on their usage.

    Raises:
        UnknownTokenizerError: A name is not known, or not at hand.
        UsageError: None was named, and no model says which.
    """
    notices: list[str] = []
    tokenizer_of = ""
    if not is_given(tokenizers, current):
        tokenizer_of, tokenizers = _of_models(model, prices, logged_models, notices, is_log=is_log)
    chosen, place = choose_tokenizers(tokenizers or [], current=current)
    of_model = _of_planned_model(chosen, place, model, notices)
    extra: list[Chosen] = []
    money = []
    for number, price in enumerate(prices):
        # The first price makes the bill; the others are compared with it, each by its own.
        said = notices if number == 0 else []
        money.append(_for_money(price, chosen, place, extra, said))
    return Selection(
        chosen=tuple(chosen),
        current=place,
        for_money=tuple(extra),
        money=tuple(money),
        notices=tuple(dict.fromkeys(notices)),
        tokenizer_of=tokenizer_of,
        of_model=of_model,
    )


def _of_models(
    model: ModelFacts | None,
    prices: Sequence[ApiPrice],
    logged_models: Sequence[str],
    notices: list[str],
    *,
    is_log: bool,
) -> tuple[str, list[TokenizerLike]]:
    """The model whose tokenizer is taken, and that tokenizer."""
    planned = [] if model is None else [model.name]
    priced = [name for name in map(model_of_price, prices) if name is not None]
    names = planned or priced or list(logged_models)
    missing: ModelTokenizer | None = None
    own = None if model is None else tokenizer_of_facts(model)
    if own is not None and model is not None and own.vocabulary == model.folder:
        return model.name, [own.vocabulary]
    for name in names:
        found = tokenizer_of_model(name)
        if found is None:
            continue
        if not (is_log and load_or_none(found.vocabulary) is None):
            return name, [found.vocabulary]
        missing = missing or found
    if is_log:
        # The dollars of a log rest on its usage: what counts its text may be a stand-in.
        if missing is not None:
            notices.append(
                f"The text is counted with {FALLBACK}: {missing.vocabulary}, which belongs to "
                f"{missing.model}, is not at hand (`jeton vocab fetch {missing.vocabulary}`)."
            )
            return missing.model, [FALLBACK]
        said = f"of {names[0]} is not known" if names else "is not named: no model is"
        usual = "o200k_base"
        name = usual if load_or_none(usual) is not None else FALLBACK
        notices.append(f"The text is counted with {name}, for the tokenizer {said}.")
        return "", [name]
    if names:
        raise UsageError(
            f"the tokenizer of {names[0]} is not known here\n"
            "hint: name one with tokenizers (--tokenizer): a vocabulary, a file or a folder"
        )
    raise UsageError(
        "no tokenizer was given, and no model that has one\n"
        "hint: --tokenizer names one (gpt-4o names the one of that model); or --price-model or "
        "--model says whose it is"
    )


def _of_planned_model(
    chosen: Sequence[Chosen], current: int, model: ModelFacts | None, notices: list[str]
) -> tuple[bool | None, ...]:
    """True if each tokenizer is the planned model's own; None where that cannot be told."""
    own = None if model is None else tokenizer_of_facts(model)
    tokenizer = None if own is None else load_or_none(own.vocabulary)
    if model is None or own is None or tokenizer is None:
        return tuple(None for _ in chosen)
    found = tuple(is_same(item.tokenizer, tokenizer) for item in chosen)
    if not found[current]:
        notices.append(
            f"What if: {model.name} with the vocabulary {chosen[current].name} instead of its own, "
            f"{own.vocabulary}. No such model exists; it would have to be trained."
        )
    return found


def _for_money(
    price: ApiPrice,
    chosen: Sequence[Chosen],
    current: int,
    extra: list[Chosen],
    notices: list[str],
) -> MoneyTokenizer:
    """Return the tokenizer for a price's tokens; a further one is added to `extra`."""
    model = model_of_price(price)
    belongs = None if model is None else tokenizer_of_model(model)
    if model is None or belongs is None:
        # A price of one's own is for the tokenizer in use.
        return MoneyTokenizer(price, None, current, is_right=model is None)
    tokenizer = load_or_none(belongs.vocabulary)
    if tokenizer is None:
        if chosen[current].name in (belongs.vocabulary,):
            return MoneyTokenizer(price, belongs, current, is_right=True)
        notices.append(
            f"Dollars are estimated from {chosen[current].name}: {belongs.vocabulary}, which "
            f"{_whose(belongs)}, is not at hand (`jeton vocab fetch` or `jeton vocab add`)."
        )
        return MoneyTokenizer(price, belongs, current, is_right=False)
    counted = [*chosen, *extra]
    order = [current, *(place for place in range(len(counted)) if place != current)]
    for place in order:
        if is_same(counted[place].tokenizer, tokenizer):
            break
    else:
        place = len(counted)
        extra.append(Chosen(belongs.vocabulary, tokenizer, belongs.vocabulary))
    if place != current and belongs.is_own:
        notices.append(
            f"{chosen[current].name} is not the tokenizer of {belongs.model}: "
            f"dollars are counted with {belongs.vocabulary}, its own."
        )
    elif place != current:
        notices.append(
            f"{chosen[current].name} does not stand for {belongs.model}: dollars are counted with "
            f"{belongs.vocabulary}, its public stand-in."
        )
    return MoneyTokenizer(price, belongs, place, is_right=True)


def _whose(belongs: ModelTokenizer) -> str:
    if belongs.is_own:
        return f"{belongs.model} counts with"
    return f"stands for the tokenizer of {belongs.model}"
