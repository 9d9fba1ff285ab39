"""``jeton trace``: how a text is cut, and how a vocabulary is learned, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, streams
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT, WHOLE, FiniteRange
from jeton.cli.token_rows import Token, terminal_width, token_lines, visible
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.tracing import EncodeTrace, TracedPart, TracedStep, TrainTrace

_MAX_LOST = 4


@click.group(no_args_is_help=True)
def trace() -> None:
    """Show each step of encoding or training.

    The steps come from plain, slow code. Each trace is compared with the fast engine.

    \b
    Examples:
      jeton trace encode -t jeton-general-32k --text "hydroxychloroquine 200 mg"
      jeton trace train jeton-demo/notes --algorithm unigram --vocab-size 400
    """


@command(group=trace)
def encode(
    *,
    tokenizer_name: str = options.TOKENIZER,
    text: str | None = options.TEXT,
    steps: int = option(
        "Steps of each part to write; --json has all of them.", "K", type=WHOLE, default=12
    ),
    n_best: int = option(
        "Unigram: ways to cut the text to list.",
        "N",
        names="--nbest",
        type=click.IntRange(1, 20),
        default=3,
    ),
    seed: int | None = option("Trace a drawn segmentation instead.", "N"),
    dropout: float | None = option(
        "With --seed, BPE: merges left out.", "P", type=FiniteRange(0, 1)
    ),
    alpha: float | None = option("With --seed: power of probabilities.", "A", type=FiniteRange(0)),
    max_chars: int = option("Characters of the text that are traced.", "N", default=400),
    allow_special: tuple[str, ...] = options.ALLOW_SPECIAL,
    html: str | None = option("Write a page with a slider over the steps instead.", "F"),
    as_json: bool = options.JSON,
) -> None:
    """Show each step from a text to its ids.

    Written are the normalized text, the pretokens, and the model's steps: pairs that merge with
    the pairs that lost, candidates that were tried, or the lattice with its scores.

    \b
    Examples:
      jeton trace encode -t jeton-general-32k --text "hydroxychloroquine 200 mg"
      jeton trace encode -t jeton-general-32k --text "lowest" --seed 1 --dropout 0.3
      jeton trace encode -t jeton-general-32k --text "lowest" --json
    """
    from jeton.tracing import trace_encode

    if text is None:
        raise UsageError("no text was given\nhint: --text TEXT")
    found = trace_encode(
        options.load_tokenizer(tokenizer_name),
        text,
        allow_special=streams.allowed(allow_special),
        n_best=n_best,
        seed=seed,
        dropout=dropout,
        alpha=alpha,
        max_chars=max_chars,
    )
    if _written(found, html=html, as_json=as_json):
        return
    for line in _encode_lines(found, steps):
        streams.write_line(line, styled=True)
    if found.n_chars_cut:
        streams.say(f"{found.n_chars_cut:,} more characters were left out: --max-chars {max_chars}")
    streams.say(_verdict(matches=found.matches_engine))


def _written(found: EncodeTrace | TrainTrace, *, html: str | None, as_json: bool) -> bool:
    """Write the page or the data, where one of them was asked for."""
    if html is not None:
        from jeton._files import write_whole
        from jeton.report.trace_page import trace_html

        write_whole(html, trace_html(found))
        streams.say(f"wrote {html}")
    elif as_json:
        streams.write_json(found.to_dict(), indent=None)
    return as_json or html is not None


def _verdict(*, matches: bool) -> str:
    if matches:
        return "the fast engine gives the same"
    return "the fast engine gives something else: please report this text and tokenizer"


def _encode_lines(found: EncodeTrace, n_steps: int) -> Iterator[str]:
    yield f"text        {_seen(found.text)}"
    if found.normalized != found.text:
        yield f"normalized  {_seen(found.normalized)}"
    yield f"pretokens   {_row([part.text for part in found.parts])}"
    for part in found.parts:
        yield ""
        yield from _part_lines(part, n_steps)
    yield ""
    tokens = [token for part in found.parts for token in part.tokens]
    yield f"ids         {' '.join(str(token.id) for token in tokens)}"
    yield f"tokens      {_row([token.text for token in tokens])}"


def _part_lines(part: TracedPart, n_steps: int) -> Iterator[str]:
    if part.is_added:
        token = part.tokens[0]
        yield f"{_seen(part.text)}  is an added token, id {token.id}: the model never sees it"
        return
    yield f"{_seen(part.text)}"
    if part.letters and list(part.letters) != list(part.symbols):
        yield f"  letters   {' '.join(part.letters)}"
    yield f"  begins    {_row(part.symbols)}"
    for number, step in enumerate(part.steps[:n_steps], start=1):
        yield from _step_lines(step, number)
    if len(part.steps) > n_steps:
        yield f"  ... {len(part.steps) - n_steps:,} more steps: --steps {len(part.steps)}"
    yield f"  result    {_row([token.text for token in part.tokens])}"


def _step_lines(step: TracedStep, number: int) -> Iterator[str]:
    from jeton.tracing import DrawTraced, LatticeTraced, MatchTraced

    if isinstance(step, MatchTraced):
        tried = " > ".join(map(_seen, step.tried))
        yield f"  {number:>3} longest match: {tried}  {'found' if step.found else 'nothing fits'}"
    elif isinstance(step, DrawTraced):
        what = "left out" if step.dropped else "drawn"
        yield f"  {number:>3} {what} with chance {step.chance:.3g}: {_seen(step.what)}"
        yield f"      {_row(step.tokens)}"
    elif isinstance(step, LatticeTraced):
        yield f"  {number:>3} {step.n_arcs:,} pieces fit somewhere; * is on the best way"
        for arc in step.arcs[:_MAX_ARCS]:
            best = "" if arc.best is None else f"  best so far {arc.best:9.3f}"
            mark = "*" if arc.on_path else " "
            name = "no piece" if arc.id is None else f"id {arc.id}"
            place = f"{arc.start:>4}-{arc.end:<4}"
            yield f"    {mark} {place}{arc.score:9.3f}{best}  {_seen(arc.text)}  ({name})"
        if step.n_arcs > _MAX_ARCS:
            yield f"      ... {step.n_arcs - _MAX_ARCS:,} more: --json has all"
        for nth, (score, way) in enumerate(step.ways, start=1):
            yield f"    {nth:>3}. {score:9.3f}  {_row(way)}"
    else:
        lost = [f"{_seen(p.left)}+{_seen(p.right)} ({p.rank:,})" for p in step.lost[:_MAX_LOST]]
        more = step.n_lost - len(lost)
        beaten = f"; lost: {', '.join(lost)}" if lost else ""
        beaten += f" and {more:,} more" if more > 0 else ""
        pair = f"{_seen(step.taken.left)} + {_seen(step.taken.right)}"
        yield f"  {number:>3} {pair}, rank {step.taken.rank:,}{beaten}"
        yield f"      {_row(step.tokens)}"


_MAX_ARCS = 40


def _seen(text: str) -> str:
    return visible(text.encode("utf-8", "surrogateescape"))


def _row(texts: Sequence[str]) -> str:
    """Tokens in one line: coloured in a terminal, separated elsewhere."""
    tokens = [
        Token(id=0, text=_seen(text).replace("↵", "⏎"), bytes="", start=0, end=0, special=False)
        for text in texts
    ]
    width = max(20, terminal_width() - 12)
    lines = token_lines(tokens, colour=streams.colour_wanted(), width=width)
    return ("\n" + " " * 12).join(lines)


@command(group=trace)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def train(
    *,
    inputs: tuple[str, ...],
    algorithm: str = option(
        "Any algorithm of `jeton train`. The languages of parity-bpe are the names of the files.",
        "A",
        default="bpe",
    ),
    vocab_size: int = option(
        "Tokens wanted, bytes or characters included.", "N", type=COUNT, default=400
    ),
    steps: int = option(
        "Merges to trace. Rounds of taking out are all traced.",
        "K",
        type=click.IntRange(0, 5000),
        default=20,
    ),
    n_shown: int = option(
        "Pairs of each step to list besides the one that was learned.",
        "N",
        names="--shown",
        type=click.IntRange(0, 50),
        default=3,
    ),
    min_frequency: int = option(
        "Pairs that occur less often are not merged.", "N", type=COUNT, default=2
    ),
    max_bytes: int = option(
        "Text that is read; the rest is left out.",
        "N",
        type=click.IntRange(1, 2_000_000),
        default=200_000,
    ),
    field: str = options.FIELD,
    html: str | None = option("Write a page with a slider over the steps instead.", "F"),
    as_json: bool = options.JSON,
) -> None:
    """Show each step from a text to a vocabulary.

    Every merge has its count, the tokens that it saves, and the pairs that came next. Unigram,
    trimmed-bpe and min-token-unigram have rounds of taking out, with what decided.

    \b
    Examples:
      jeton trace train jeton-demo/notes --vocab-size 300
      jeton trace train jeton-demo/notes --algorithm wordpiece-likelihood --min-frequency 20
      jeton trace train jeton-demo/notes --algorithm unigram --vocab-size 400 --json
      jeton trace train jeton-demo/notes --algorithm parity-bpe --vocab-size 280
    """
    from jeton.tracing import trace_train

    found = trace_train(
        list(inputs),
        algorithm=algorithm,
        vocab_size=vocab_size,
        steps=steps,
        n_shown=n_shown,
        max_bytes=max_bytes,
        field=field,
        min_frequency=min_frequency,
    )
    if _written(found, html=html, as_json=as_json):
        return
    for line in _train_lines(found):
        streams.write_line(line)
    if found.is_cut:
        streams.say(f"the text is longer than --max-bytes {max_bytes}: the rest was left out")
    streams.say(_verdict(matches=found.matches_engine))


def _train_lines(found: TrainTrace) -> Iterator[str]:
    yield (
        f"{found.n_bytes:,} bytes of text, {found.n_words:,} distinct pretokens, "
        f"{len(found.first):,} tokens before the first step"
    )
    if found.n_tokens_before:
        yield f"the text has {found.n_tokens_before:,} tokens"
    for number, merge in enumerate(found.merges, start=1):
        across = "  across words" if merge.stage == 2 else ""
        across += f"  for {_seen(merge.language)}" if merge.language else ""
        worth = "" if merge.score == merge.count else f", score {merge.score:.4g}"
        yield (
            f"{number:>4} {_seen(merge.left)} + {_seen(merge.right)} = "
            f"{_seen(merge.made)}{across}: "
            f"{merge.count:,} times{worth}, saves {merge.n_saved:,}, leaves {merge.n_tokens:,}"
        )
        if merge.runners_up:
            others = ", ".join(
                f"{_seen(left)}+{_seen(right)} {score:.4g}"
                for left, right, score, _ in merge.runners_up
            )
            yield f"       next: {others}"
        if merge.costs:
            costs = ", ".join(f"{_seen(name)} {cost:.4f}" for name, cost in merge.costs)
            yield f"       tokens a character before: {costs}"
    for number, turn in enumerate(found.rounds, start=1):
        likelihood: Any = turn.log_likelihood
        said = "" if likelihood is None else f", log likelihood {likelihood:,.1f}"
        said += "" if turn.n_tokens is None else f"; the text had {turn.n_tokens:,} tokens"
        yield f"{number:>4} {_ROUNDS[turn.kind]}: {turn.n_pieces:,} pieces{said}"
        if turn.best:
            name = "likeliest" if turn.best[0][1] <= 0 else "most used"
            best = ", ".join(f"{_seen(text)} {score:.5g}" for text, score in turn.best)
            yield f"       {name}: {best}"
        if turn.removed:
            gone = ", ".join(f"{_seen(text)} {why:.3g}" for text, why in turn.removed)
            word = "no room for" if turn.kind == "count" else "removed"
            yield f"       {word} {turn.n_removed:,}: {gone}"


_ROUNDS = {
    "candidates": "candidates",
    "em": "expectation and maximization",
    "prune": "pruning by loss",
    "trim": "tokens that only lead to others",
    "count": "the most frequent",
    "choose": "the last choice",
    "refit": "the likeliest probabilities",
}
