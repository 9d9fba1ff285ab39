"""A ``save_pretrained`` folder to a tokenizer.

A tokenizer.json is followed as ``tokenizers`` runs it, with the added tokens of the small files
beside it; what it puts around a text counts more than ``add_bos_token`` and ``add_eos_token``
(transformers 5.23.0 does the same). Without one, the vocabulary files are put together as the class
that the folder names does it, for the classes that are named here; others are refused, because
their ids would be wrong without a sign.

Special tokens are those that have a role, whatever a list says of them.

One rule for every way in which a folder can say that a token is for machines: a role in
tokenizer_config.json or special_tokens_map.json, a place among the additional special tokens, the
flag in tokenizer.json, and, for added tokens, an id in generation_config.json that begins, ends or
fills texts. A token of white space alone stays text, because people type it.

Parts of the canonical form that a folder's small files change: added tokens, the template.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer, from_canonical
from jeton.errors import FormatError, JetonError, UsageError
from jeton.formats.detection import FileFormat, detect
from jeton.formats.folder_tokens import FolderToken
from jeton.formats.folders import PretrainedFolder, read_folder
from jeton.formats.homes import folder_label, why_no_tokenizer
from jeton.formats.options import LoadOptions, refuse_misplaced
from jeton.formats.pairs import CLIP_ROLES, load_clip_pair, pair_data
from jeton.formats.reading import read, read_object
from jeton.formats.single import load_one


def around(before: Sequence[int], after: Sequence[int]) -> dict[str, Any]:
    """Ids before and after each text; the second of a pair has token type 1."""

    def wrapped(segment: str, type_id: int) -> list[dict[str, Any]]:
        return [
            *(_token(number, type_id) for number in before),
            _text(segment, type_id),
            *(_token(number, type_id) for number in after),
        ]

    single = wrapped("first", 0)
    return {"single": single, "pair": [*single, *wrapped("second", 1)], "trim_offsets": None}


def bert(cls: int, sep: int) -> dict[str, Any]:
    """BERT's: ``[CLS] A [SEP] B [SEP]``, from B on token type 1."""
    single = [_token(cls, 0), _text("first", 0), _token(sep, 0)]
    second = [_text("second", 1), _token(sep, 1)]
    return {"single": single, "pair": [*single, *second], "trim_offsets": None}


def roberta(cls: int, sep: int, *, add_prefix_space: bool = False) -> dict[str, Any]:
    """RoBERTa's: ``<s> A </s> </s> B </s>``, token type 0 throughout."""
    single = [_token(cls, 0), _text("first", 0), _token(sep, 0)]
    second = [_token(sep, 0), _text("second", 0), _token(sep, 0)]
    trim = {"add_prefix_space": add_prefix_space}
    return {"single": single, "pair": [*single, *second], "trim_offsets": trim}


def put_tokens(
    tree: dict[str, Any],
    tokenizer: Tokenizer,
    tokens: Iterable[FolderToken],
    *,
    slots: bool = False,
) -> dict[str, int]:
    """Add tokens to a canonical form; those that are there get the flags that count.

    A token that the vocabulary has keeps its id there. Another one gets the id that its file
    tells, or, where that is taken or not told, the next one.

    Args:
        tree: The canonical form, which is changed.
        tokenizer: The tokenizer that it is of.
        tokens: The tokens.
        slots: True if an id that a special token has is a slot that the file names anew: the
            reserved ids behind the ranks of a rank file.

    Returns:
        Ids of all added tokens by text.

    Raises:
        FormatError: A token cannot be added to a model of this kind.
    """
    listed: list[dict[str, Any]] = tree["added_tokens"]
    by_text = {token["content"]: token for token in listed}
    taken = {token["id"] for token in listed}
    size = tokenizer.vocab_size
    # Control and unknown pieces are no tokens of text. Unigram's pieces of a tokenizer.json have no
    # types, and added tokens stand outside of them.
    typed = tree["model"].get("pieces", ()) if tree["reference"] == "sentencepiece" else ()
    pieces = {piece[0]: number for number, piece in enumerate(typed)}
    for token in tokens:
        if slots and _named_anew(token, listed, by_text, taken):
            continue
        entry = by_text.get(token.content)
        if entry is not None:
            if token.overrides:
                entry.update(token.flags)
            continue
        number = tokenizer.token_to_id(token.content)
        if number is None and pieces:
            number = pieces.get(_base64(token.content))
        if number is None:
            number = _free_id(tokenizer, token.id, taken, size=size)
            if pieces:
                _put_piece(tree, token, number)
        entry = {"id": number, "content": token.content, **token.flags}
        listed.append(entry)
        by_text[token.content] = entry
        taken.add(number)
        size = max(size, number + 1)
    return {text: token["id"] for text, token in by_text.items()}


def _named_anew(
    token: FolderToken,
    listed: list[dict[str, Any]],
    by_text: dict[str, dict[str, Any]],
    taken: set[int],
) -> bool:
    """True if a token took the slot that its file gives it; who else had its name is gone."""
    slot = next((entry for entry in listed if entry["id"] == token.id), None)
    if slot is None or slot["content"] == token.content:
        return False
    other = by_text.pop(token.content, None)
    if other is not None:
        listed.remove(other)
        taken.discard(other["id"])
    del by_text[slot["content"]]
    slot.update({"content": token.content, **token.flags})
    by_text[token.content] = slot
    return True


def _free_id(tokenizer: Tokenizer, told: int | None, taken: set[int], *, size: int) -> int:
    if told is None or told in taken:
        return size
    if told < tokenizer.vocab_size and tokenizer.is_token_mask()[told]:
        return size
    return told


_MAX_GAP = 1 << 16
"""Most ids without a token that a folder may leave before an added one."""


def _put_piece(tree: dict[str, Any], token: FolderToken, number: int) -> None:
    """A piece that has an id and that the model makes of no text by itself."""
    pieces: list[list[Any]] = tree["model"]["pieces"]
    gap = range(len(pieces), number)
    if len(gap) > _MAX_GAP:
        raise FormatError(
            f"the added token {token.content!r} has the id {number:,}, {len(gap):,} past the last "
            "piece\nhint: look at the ids of added_tokens.json and added_tokens_decoder"
        )
    # Ids without a token, named as llama.cpp's converter names them.
    pieces += [[_base64(f"[PAD{free}]"), 0, "unused"] for free in gap]
    pieces.append([_base64(token.content), 0, "control" if token.special else "unused"])


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def _token(number: int, type_id: int) -> dict[str, Any]:
    return {"token": {"id": number, "type_id": type_id}}


def _text(segment: str, type_id: int) -> dict[str, Any]:
    return {"text": {"segment": segment, "type_id": type_id}}


_ENDS = "eos_token_id"
_GENERATION_KEYS = (_ENDS, "bos_token_id", "pad_token_id", "decoder_start_token_id")


def with_control_tokens(tokenizer: Tokenizer, facts: PretrainedFolder) -> Tokenizer:
    """The tokenizer of a folder, with what the folder says of special tokens and of ends of texts.

    Args:
        tokenizer: As its file has it, with the folder's added tokens.
        facts: Facts of the folder.

    Raises:
        FormatError: generation_config.json is damaged.
    """
    generation = read_object(facts.path / "generation_config.json") or {}
    named = {*facts.roles.values(), *facts.additional_special_tokens}
    ids = {number for key in _GENERATION_KEYS for number in _ids(generation, key)}
    promoted = {
        token.id
        for token in tokenizer.added_tokens
        if not token.special
        and token.content.strip()
        and (token.content in named or token.id in ids)
    }
    if promoted:
        tokenizer = _promoted(tokenizer, promoted)
    ends = [number for number in _ids(generation, _ENDS) if _has_token(tokenizer, number)]
    end = facts.roles.get("eos")
    number = None if end is None else tokenizer.token_to_id(end)
    if number is not None:
        ends.append(number)
    if set(ends) <= set(tokenizer.end_token_ids):
        return tokenizer
    return tokenizer.with_end_tokens(ends)


def _promoted(tokenizer: Tokenizer, ids: set[int]) -> Tokenizer:
    tree: dict[str, Any] = json.loads(tokenizer.to_canonical())
    for token in tree["added_tokens"]:
        token["special"] = token["special"] or token["id"] in ids
    made = from_canonical(json.dumps(tree, ensure_ascii=False).encode("utf-8"))
    return made if tokenizer.name is None else made.with_name(tokenizer.name)


def _ids(generation: Mapping[str, Any], key: str) -> list[int]:
    value = generation.get(key)
    values = value if isinstance(value, list) else [value]
    return [n for n in values if isinstance(n, int) and not isinstance(n, bool) and n >= 0]


def _has_token(tokenizer: Tokenizer, number: int) -> bool:
    return number < tokenizer.vocab_size and bool(tokenizer.is_token_mask()[number])


_RANKS = (FileFormat.TIKTOKEN, FileFormat.TEKKEN, FileFormat.RWKV)
_CLIP = {"CLIPTokenizer"}
_PLAIN_PAIR = {"GPT2Tokenizer", "CodeGenTokenizer"}
_ROBERTA = {
    "RobertaTokenizer",
    "LongformerTokenizer",
    "LEDTokenizer",
    "BartTokenizer",
    "MvpTokenizer",
}
_BERT = {
    "BertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "MobileBertTokenizer",
    "LayoutLMTokenizer",
    "LxmertTokenizer",
    "SqueezeBertTokenizer",
}
_LLAMA = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"}
_PLAIN_MODEL = _LLAMA | {"T5Tokenizer", "BigBirdTokenizer", "DebertaV2Tokenizer"}

# Why the ids of a SentencePiece model alone would be wrong for a class, by class.
_SHIFTS = "gives its pieces other ids than the model file"
_CLEANS = "changes the text before the model sees it, which the model file does not say"
_NOT_ITS_MODEL = {
    "XLMRobertaTokenizer": _SHIFTS,
    "XLMRobertaXLTokenizer": _SHIFTS,
    "CamembertTokenizer": _SHIFTS,
    "MBartTokenizer": _SHIFTS,
    "MBart50Tokenizer": _SHIFTS,
    "NllbTokenizer": _SHIFTS,
    "M2M100Tokenizer": _SHIFTS,
    "PLBartTokenizer": _SHIFTS,
    "XGLMTokenizer": _SHIFTS,
    "BarthezTokenizer": _SHIFTS,
    "PegasusTokenizer": _SHIFTS,
    "AlbertTokenizer": _CLEANS,
    "XLNetTokenizer": _CLEANS,
    "RemBertTokenizer": _CLEANS,
}
# The name that only classes with shifted ids (fairseq's) give their model.
_FAIRSEQ_FILE = "sentencepiece.bpe.model"

_ROBERTA_ROLES = {
    "bos": "<s>",
    "eos": "</s>",
    "unk": "<unk>",
    "sep": "</s>",
    "pad": "<pad>",
    "cls": "<s>",
    "mask": "<mask>",
}
_GPT2_ROLES = {role: "<|endoftext|>" for role in ("bos", "eos", "unk")}


def load_folder(folder: Path, *, options: LoadOptions, name: str | None) -> Tokenizer:
    """The tokenizer of a folder.

    Raises:
        FormatError: There is none, its files are damaged, or belong to a class that is not known.
        UsageError: An option does not apply to its format.
        OSError: A file cannot be read.
    """
    facts = read_folder(folder)
    if facts.tokenizer_file is None:
        raise FormatError(
            f"{folder} holds no tokenizer{why_no_tokenizer(facts.path)}", path=str(folder)
        )
    label = name or folder_label(folder)
    folder = facts.path
    config = read_object(folder / "tokenizer_config.json") or {}
    file = facts.tokenizer_file
    tokenizer, found = _loaded(file, facts, options=options, label=label, config=config)
    facts = _with_defaults(facts, found)
    try:
        changed = _changed(tokenizer, facts, found)
    except (FormatError, UsageError):
        raise
    except JetonError as error:
        raise FormatError(
            f"{folder}: what tokenizer_config.json adds does not fit {file.name}: "
            f"{error}\nhint: {file} alone may load",
            path=str(folder),
            format=found.value,
        ) from error
    changed = with_control_tokens(changed, facts)
    return changed if changed.name == label else changed.with_name(label)


def _loaded(
    file: Path,
    facts: PretrainedFolder,
    *,
    options: LoadOptions,
    label: str,
    config: Mapping[str, Any],
) -> tuple[Tokenizer, FileFormat]:
    """The tokenizer of the file, and what the file is; CLIP's class reads its pair in its way."""
    if facts.tokenizer_class not in _CLIP:
        return load_one(file, options=options, name=label, config=config)
    data = read(file)
    found = detect(data, path=str(file))
    if found not in (FileFormat.GPT2_VOCAB, FileFormat.GPT2_MERGES):
        return load_one(file, options=options, name=label, config=config)
    refuse_misplaced(options, found, file)
    vocab, merges, _ = pair_data(data, file, found)
    tokenizer = load_clip_pair(vocab, merges, roles=facts.roles, name=label, path=file)
    return tokenizer, found


def _changed(tokenizer: Tokenizer, facts: PretrainedFolder, found: FileFormat) -> Tokenizer:
    if found in (FileFormat.HF_JSON, *_RANKS):
        if not facts.added_tokens and found is FileFormat.HF_JSON:
            return tokenizer
    elif found in (FileFormat.GPT2_VOCAB, FileFormat.GPT2_MERGES):
        _check_class(facts, found, {*_PLAIN_PAIR, *_ROBERTA, *_CLIP})
    elif found is FileFormat.WORDPIECE_TXT:
        _check_class(facts, found, _BERT)
    elif found is FileFormat.SENTENCEPIECE:
        _check_model(facts)
    else:
        # GGUF, Claude's JSON, CLIP's merges and canonical files say everything.
        return tokenizer
    tree: dict[str, Any] = json.loads(tokenizer.to_canonical())
    before = json.dumps([tree["added_tokens"], tree["template"]])
    ids = put_tokens(tree, tokenizer, facts.added_tokens, slots=found in _RANKS)
    template = _template(facts, found, ids)
    if template is not None:
        tree["template"] = template
    if json.dumps([tree["added_tokens"], tree["template"]]) == before:
        return tokenizer
    return from_canonical(json.dumps(tree, ensure_ascii=False).encode("utf-8"))


def _template(
    facts: PretrainedFolder, found: FileFormat, ids: Mapping[str, int]
) -> dict[str, Any] | None:
    """Template around a text; None: the tokenizer's file decides."""
    by_role = {role: ids[text] for role, text in facts.roles.items() if text in ids}
    pair = "cls" in by_role and "sep" in by_role
    if found is FileFormat.HF_JSON or facts.tokenizer_class in _CLIP:
        return None
    if found is FileFormat.WORDPIECE_TXT and pair:
        return bert(by_role["cls"], by_role["sep"])
    if facts.tokenizer_class in _ROBERTA and pair:
        return roberta(by_role["cls"], by_role["sep"])
    if facts.add_bos is None and facts.add_eos is None:
        return None
    before = [by_role["bos"]] if facts.add_bos and "bos" in by_role else []
    after = [by_role["eos"]] if facts.add_eos and "eos" in by_role else []
    return around(before, after)


def _with_defaults(facts: PretrainedFolder, found: FileFormat) -> PretrainedFolder:
    """The facts, with what a class takes for granted where there is no tokenizer.json."""
    if found in (FileFormat.GPT2_VOCAB, FileFormat.GPT2_MERGES):
        roles: dict[str, str] = {}
        if facts.tokenizer_class in _ROBERTA:
            roles = _ROBERTA_ROLES
        elif facts.tokenizer_class in _PLAIN_PAIR:
            roles = _GPT2_ROLES
        elif facts.tokenizer_class in _CLIP:
            roles = CLIP_ROLES
        known = {token.content for token in facts.added_tokens}
        missing = {role: text for role, text in roles.items() if role not in facts.roles}
        tokens = []
        for role, text in missing.items():
            if text not in known:
                known.add(text)
                # RoBERTa's mask takes the space before it along.
                tokens.append(_special(text, lstrip=role == "mask"))
        return replace(
            facts,
            roles={**facts.roles, **missing},
            added_tokens=(*facts.added_tokens, *tokens),
        )
    if found is FileFormat.SENTENCEPIECE and facts.tokenizer_class in _LLAMA:
        return replace(
            facts,
            roles={"bos": "<s>", "eos": "</s>", **facts.roles},
            add_bos=True if facts.add_bos is None else facts.add_bos,
            add_eos=False if facts.add_eos is None else facts.add_eos,
        )
    return facts


def _special(text: str, *, lstrip: bool) -> FolderToken:
    return FolderToken(
        content=text,
        id=None,
        special=True,
        single_word=False,
        lstrip=lstrip,
        rstrip=False,
        normalized=False,
        overrides=False,
    )


def _check_class(facts: PretrainedFolder, found: FileFormat, known: set[str]) -> None:
    name = facts.tokenizer_class
    if name is None or name in known:
        return
    raise FormatError(
        f"{facts.path} has a {found.value} of {name}, which may read it in a way of its own; known "
        f"are {', '.join(sorted(known))}\n"
        f"hint: a tokenizer.json says it all; {facts.tokenizer_file} alone loads as it is",
        path=str(facts.path),
        format=found.value,
    )


def _check_model(facts: PretrainedFolder) -> None:
    file, name = facts.tokenizer_file, facts.tokenizer_class
    if name in _PLAIN_MODEL or file is None:
        return
    reason = _NOT_ITS_MODEL.get(name or "")
    if reason is None and file.name.startswith(_FAIRSEQ_FILE):
        reason = _SHIFTS
    if reason is None:
        return
    raise FormatError(
        f"{facts.path} has a SentencePiece model and no tokenizer.json, and "
        f"{name or 'the class of such folders'} {reason}\n"
        f"hint: a tokenizer.json says it all; {file} alone loads with the ids of sentencepiece",
        path=str(facts.path),
        format=FileFormat.SENTENCEPIECE.value,
    )
