"""A small workload of two languages and three sources, drawn again and again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache

from jeton.watch import Monitor, WatchedRequest, WatchHistory, WatchSettings
from studies.drift.streams import Texts, stable

TOKENIZER = "jeton-general-32k"
WEIGHTS: Mapping[str, float] = {"mail": 0.6, "forum": 0.35, "code": 0.05}

_WORDS = {
    "mail": "the and of to in is that it was for on are with as at be this have from order parcel "
    "refund customer invoice delivery please thank address Tuesday received damaged replacement "
    "naïve café résumé señor façade account number password support answer question",
    "forum": "I you the a my and to it is of that for in with on do how not can what engine garden "
    "recipe camera battery update weather holiday déjà piñata jalapeño über problem again bicycle",
    "code": "def return self import for if else while class None True False print range len list "
    "value index result error raise try except lambda yield async await assert global",
    "french": "le la les des et en un une que qui dans pour pas sur avec est été élève théâtre "
    "forêt garçon français préférée années décidé étudier règles générales métiers approuvé hôtel",
}  # fmt: skip


def _sentences(kind: str, n: int) -> tuple[str, ...]:
    draw, words = random.Random(kind), _WORDS[kind].split()
    found = []
    for _ in range(n):
        lines = []
        for _ in range(draw.randint(3, 12)):
            line = " ".join(draw.choices(words, k=draw.randint(6, 14)))
            lines.append(f"{line[0].upper()}{line[1:]}{'.' if kind != 'code' else ':'}")
        found.append(("\n    " if kind == "code" else " ").join(lines))
    return tuple(found)


@cache
def texts() -> Texts:
    sources = {kind: _sentences(kind, 300) for kind in WEIGHTS}
    return Texts(sources, _sentences("french", 300))


def requests(n: int, seed: int, weights: Mapping[str, float] = WEIGHTS) -> list[WatchedRequest]:
    return list(stable(texts(), n=n, seed=seed, weights=weights))


@cache
def history() -> WatchHistory:
    monitor = Monitor(tokenizer=TOKENIZER, settings=WatchSettings(sample_texts=400))
    assert monitor.observe(*requests(2000, seed=1)) == ()
    return WatchHistory.from_bytes(monitor.make_history().to_bytes())
