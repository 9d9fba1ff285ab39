"""A tokenizer's components, put together: what encodes and decodes, and never changes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jeton._core import Tokenizer
from jeton.compat.tokenizers._arguments import GuardedText
from jeton.compat.tokenizers._cores import pretokenize, probe
from jeton.compat.tokenizers._limits import Padding, Truncation, pad_batch, truncate_pair
from jeton.compat.tokenizers._placing import Frame, Trim, added_tokens, frame_of, process
from jeton.compat.tokenizers.added_token import AddedToken
from jeton.compat.tokenizers.encoding import COLUMNS, Encoding, merged
from jeton.errors import EncodeError, UsageError

Sequence = str | list[str]


@dataclass(frozen=True, slots=True)
class Task:
    """How inputs become encodings: everything that can be set without another core."""

    processor: Mapping[str, Any] | None
    truncation: Truncation | None
    padding: Padding | None
    add_special_tokens: bool
    encode_special_tokens: bool


@dataclass(slots=True)
class Engine:
    """The core, and the token texts that it does not know.

    Attributes:
        core: The core, made without a template: that is laid around texts here.
        strings: The model's token texts by id.
        added: Added tokens by id.
        trim: How the core leaves white space out of places.
        surface_unknown: The id whose token is the text itself: the unknown one of a Unigram model.
        dropout: The share of merges that are left out at random.
        skipped: Texts that decoding leaves out when it skips special tokens, where that is not the
            same as leaving special tokens out: the other library goes by texts. Tokens that were
            special once are among them; special tokens that are normalized may not be.
        normalizer: The normalizer's description as JSON.
        pre_tokenizer: The pre-tokenizer's description as JSON.
    """

    core: Tokenizer
    strings: Mapping[int, str]
    added: Mapping[int, AddedToken]
    trim: Trim | None
    surface_unknown: int | None
    dropout: float | None
    skipped: frozenset[str] | None
    normalizer: str
    pre_tokenizer: str
    _spellings: dict[int, str] = field(default_factory=dict)
    _words: Tokenizer | None = None

    def known(self, number: int) -> bool:
        """True if an id has a token."""
        return number in self.added or number in self.strings

    def spelling(self, number: int) -> str | None:
        """The text of an id's token; that of an added one as normalization makes it."""
        token = self.added.get(number)
        if token is None:
            return self.strings.get(number)
        if number not in self._spellings:
            normal = token.content
            if token.normalized and self.normalizer != "null":
                normal = self.core.normalize(token.content)
            self._spellings[number] = normal
        return self._spellings[number]

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        """The text of ids; those without a token are left out."""
        known = [number for number in ids if self.known(number)]
        skipped = self.skipped
        if skip_special_tokens and skipped is not None:
            known = [number for number in known if self.spelling(number) not in skipped]
            skip_special_tokens = False
        return self.core.decode(known, skip_special_tokens=skip_special_tokens)

    def encode(self, first: Sequence, second: Sequence | None, task: Task) -> Encoding:
        """The encoding of one input, not filled up."""
        # Where windows are cut, one space may be text that is cut from what is before it, which
        # changes what is left out of places: that is done after cutting then.
        trimmed = task.truncation is None and isinstance(first, str)
        trimmed = trimmed and isinstance(second, str | None) and self.trim is not None
        trimmed = trimmed and not isinstance(first, GuardedText)
        parts = [self.raw(first, 0, task, trimmed=trimmed)]
        if second is not None:
            parts.append(self.raw(second, 1, task, trimmed=trimmed))
        return self.finish(parts, task, trimmed=trimmed)

    def finish(self, parts: list[Encoding], task: Task, *, trimmed: bool = False) -> Encoding:
        """Truncate, and lay the template around."""
        if task.truncation is not None:
            limit = task.truncation.max_length
            if task.add_special_tokens:
                around = added_tokens(task.processor, is_pair=len(parts) == 2)
                if around > limit:
                    raise EncodeError(
                        f"{around} special tokens do not fit into a max_length of {limit}\n"
                        "hint: a larger max_length, or add_special_tokens=False"
                    )
                limit -= around
            truncate_pair(parts[0], parts[1] if len(parts) == 2 else None, task.truncation, limit)
        return process(
            task.processor, parts, add_special_tokens=task.add_special_tokens, trimmed=trimmed
        )

    def encode_batch(
        self, inputs: list[tuple[Sequence, Sequence | None]], task: Task
    ) -> list[Encoding]:
        """The encodings of many inputs, filled up."""
        frames: dict[int, Frame | None] = {}
        if self.dropout is None:
            special = task.add_special_tokens
            frames = {
                n: frame_of(task.processor, n_texts=n, add_special_tokens=special) for n in (1, 2)
            }
        is_guarded = any(isinstance(first, GuardedText) for first, _ in inputs)
        if any(frame is None for frame in frames.values()) or not frames or is_guarded:
            encodings = [self.encode(first, second, task) for first, second in inputs]
        else:
            encodings = self._ids_first(inputs, task, frames)
        pad_batch(encodings, task.padding)
        return encodings

    def _ids_first(
        self,
        inputs: list[tuple[Sequence, Sequence | None]],
        task: Task,
        frames: Mapping[int, Frame | None],
    ) -> list[Encoding]:
        """Encodings that know their ids, from all threads; the rest comes if it is asked for."""
        flat: list[str] = []
        for pair in inputs:
            for sequence in pair:
                if sequence is not None:
                    flat += [sequence] if isinstance(sequence, str) else sequence
        allow = None if task.encode_special_tokens else "all"
        batch = self.core.encode_batch(flat, allow_special=allow)
        ids: list[int] = batch.ids.tolist()
        bounds: list[int] = batch.offsets.tolist()
        encodings, at = [], 0
        for first, second in inputs:
            rows = []
            for sequence in (first, second):
                if sequence is not None:
                    n_parts = 1 if isinstance(sequence, str) else len(sequence)
                    rows.append(ids[bounds[at] : bounds[at + n_parts]])
                    at += n_parts
            encodings.append(self._of_rows(rows, first, second, task, frames[len(rows)]))
        return encodings

    def _of_rows(
        self,
        rows: list[list[int]],
        first: Sequence,
        second: Sequence | None,
        task: Task,
        frame: Frame | None,
    ) -> Encoding:
        """The encoding of an input whose ids are known."""
        how = task.truncation
        if frame is None:
            return self.encode(first, second, task)
        if how is not None:
            room = how.max_length - frame.n_tokens
            if sum(len(row) for row in rows) > room:
                if len(rows) > 1 or room <= how.stride or how.strategy == "only_second":
                    # In a way of its own, or not at all: the usual way knows.
                    return self.encode(first, second, task)
                rows = [rows[0][:room] if how.direction == "right" else rows[0][-room:]]
            elif room < 0:
                return self.encode(first, second, task)
        return frame.lay(rows, lambda: self.encode(first, second, task))

    def raw(self, sequence: Sequence, type_id: int, task: Task, *, trimmed: bool) -> Encoding:
        """The tokens of a text, or of words one by one; nothing put around them."""
        if isinstance(sequence, GuardedText):
            if not task.encode_special_tokens:
                return self._guarded(sequence, type_id)
            # No special token is found in any text.
            found = self.core.encode_with_offsets(str.__str__(sequence), trim_offsets=False)
            sequence.note(list(zip(found.starts.tolist(), found.ends.tolist(), strict=True)), [])
        if isinstance(sequence, str):
            return self._text(sequence, type_id, task, trimmed=trimmed)
        parts = []
        for number, word in enumerate(sequence):
            part = self._text(word, type_id, task, trimmed=False)
            part._words = [number] * len(part)
            parts.append(part)
        return _joined(parts)

    def _text(self, text: str, type_id: int, task: Task, *, trimmed: bool) -> Encoding:
        allow = None if task.encode_special_tokens else "all"
        if self.dropout is not None:
            return self._dropped(text, type_id, allow)
        found = self.core.encode_with_offsets(text, allow_special=allow, trim_offsets=trimmed)
        ids: list[int] = found.ids.tolist()
        words: list[int | None] = found.word_ids.tolist()
        strings = self.strings
        tokens = [strings.get(number, "") for number in ids]
        if -1 in words:
            self._fill_in_added(text, ids, words, tokens, allow)
        if self.surface_unknown is not None and self.surface_unknown in ids:
            self._fill_in_unknown(text, ids, found.word_ids.tolist(), tokens, allow)
        n = len(ids)
        offsets = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
        return Encoding._of_columns(ids, [type_id] * n, tokens, words, offsets, [0] * n, [1] * n)

    def _guarded(self, text: GuardedText, type_id: int) -> Encoding:
        """A text with control tokens in its trusted parts alone."""
        guarded = self.core.encode_guarded(
            str.__str__(text), text.trusted_spans, control_tokens=text.control_tokens
        )
        found = guarded.encoding
        ids: list[int] = found.ids.tolist()
        places = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
        text.note(places, [(token.start, token.end, token.id) for token in guarded.refused])
        words: list[int | None] = found.word_ids.tolist()
        tokens = [self.strings.get(number, "") for number in ids]
        if -1 in words:
            self._fill_in_placed(text, ids, words, tokens, places)
        if self.surface_unknown is not None and self.surface_unknown in ids:
            numbers: list[int] = found.word_ids.tolist()
            self._fill_in_unknown(text, ids, numbers, tokens, "all")
        n = len(ids)
        return Encoding._of_columns(ids, [type_id] * n, tokens, words, places, [0] * n, [1] * n)

    def _fill_in_added(
        self,
        text: str,
        ids: list[int],
        words: list[int | None],
        tokens: list[str],
        allow: str | None,
    ) -> None:
        """Added tokens that stood in a text."""
        found = self.core.encode_with_offsets(text, allow_special=allow, trim_offsets=False)
        places = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
        self._fill_in_placed(text, ids, words, tokens, places)

    def _fill_in_placed(
        self,
        text: str,
        ids: list[int],
        words: list[int | None],
        tokens: list[str],
        places: list[tuple[int, int]],
    ) -> None:
        """The texts of added tokens are what stood in their places; each is a word."""
        before = 0
        seen = 0
        for index, place in enumerate(places):
            word = words[index]
            if word is None or word >= 0:
                seen = (word or 0) + 1
                words[index] = (word or 0) + before
                continue
            words[index] = seen + before
            before += 1
            token = self.added[ids[index]]
            stood = text[place[0] : place[1]]
            if token.normalized and self.normalizer != "null":
                stood = self._normal_form(token, ids[index], stood)
            tokens[index] = stood

    def _normal_form(self, token: AddedToken, number: int, stood: str) -> str:
        """Token as normalized, with the white space that it took along."""
        normal = self.spelling(number) or token.content
        if not token.lstrip and not token.rstrip:
            return normal
        whole = self.core.normalize(stood)
        return whole if normal in whole else normal

    def _fill_in_unknown(
        self, text: str, ids: list[int], words: list[int], tokens: list[str], allow: str | None
    ) -> None:
        """Unknown text of a Unigram model is its own token: what is left of its pretoken."""
        if self._words is None:
            added = sorted(self.added.items())
            self._words = probe(
                normalizer=self.normalizer, pre_tokenizer=self.pre_tokenizer, added_tokens=added
            )
        pretokens = pretokenize(self._words, text, allow_special=allow is not None)
        numbers = sorted({word for word in words if word >= 0})
        by_word = dict(zip(numbers, pretokens, strict=False))
        start = 0
        while start < len(ids):
            stop = start
            while stop < len(ids) and words[stop] == words[start]:
                stop += 1
            parts = range(start, stop)
            unknown = [index for index in parts if ids[index] == self.surface_unknown]
            if words[start] >= 0 and unknown and words[start] in by_word:
                is_unknown = set(unknown)
                pattern = "".join(
                    "(.+?)" if index in is_unknown else re.escape(tokens[index]) for index in parts
                )
                match = re.fullmatch(pattern, by_word[words[start]][0], flags=re.DOTALL)
                if match is not None:
                    for index, surface in zip(unknown, match.groups(), strict=True):
                        tokens[index] = surface
            start = stop if stop > start else start + 1

    def _dropped(self, text: str, type_id: int, allow: str | None) -> Encoding:
        """Tokens with merges left out at random. Where they come from is not known."""
        try:
            ids = self.core.sample(
                text,
                seed=secrets.randbits(64),
                method="dropout",
                dropout=self.dropout,
                allow_special=allow,
            )
        except UsageError as error:
            raise EncodeError(f"the model's dropout cannot be done: {error}") from error
        n = len(ids)
        tokens = [self.spelling(number) or "" for number in ids]
        places, end = [], 0
        for token in tokens:
            start = text.find(token, end)
            end = start + len(token) if start >= 0 else end
            places.append((start, end) if start >= 0 else (end, end))
        return Encoding._of_columns(
            ids, [type_id] * n, tokens, [None] * n, places, [0] * n, [1] * n
        )


def _joined(parts: list[Encoding]) -> Encoding:
    """One encoding of many that have no windows, at a cost proportional to their tokens."""
    if any(part._overflowing or part._ranges for part in parts):
        return merged(parts, growing=False)
    whole = Encoding()
    for part in parts:
        for column in COLUMNS:
            getattr(whole, column).extend(getattr(part, column))
    return whole
