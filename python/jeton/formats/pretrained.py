"""A ``save_pretrained`` folder to a tokenizer.

A tokenizer.json is followed as ``tokenizers`` runs it, with the added tokens of the small files
beside it; what it puts around a text counts more than ``add_bos_token`` and ``add_eos_token``
(transformers 5.23.0 does the same). Without one, the vocabulary files are put together as the class
that the folder names does it, for the classes that are named here; others are refused, because
their ids would be wrong without a sign.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer, from_canonical
from jeton.errors import FormatError, JetonError, UsageError
from jeton.formats.clip import CLIP_ROLES, load_clip_pair
from jeton.formats.control import with_control_tokens
from jeton.formats.detection import FileFormat, detect
from jeton.formats.documents import read_object
from jeton.formats.folder_tokens import FolderToken
from jeton.formats.folders import PretrainedFolder, read_folder
from jeton.formats.homes import folder_label, why_no_tokenizer
from jeton.formats.options import LoadOptions, refuse_misplaced
from jeton.formats.pairs import pair_data
from jeton.formats.reading import read
from jeton.formats.single import load_one
from jeton.formats.templates import around, bert, put_tokens, roberta

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
