"""GGUF files: what llama.cpp is told, against the vocabulary in the same file."""

from __future__ import annotations

from collections.abc import Iterator

from jeton.checkpoint import GgufModel
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import GgufPair, Patient
from jeton.findings import Severity

_NEEDS = (EvidenceKind.GGUF,)


@known(
    id="gguf-rows-differ",
    area=Area.GGUF,
    severity=Severity.ERROR,
    name="the file has another number of tokens than rows",
    symptom="`check_tensor_dims: tensor 'token_embd.weight' has wrong shape`, or a crash at the "
    "first new token",
    cause="tokens were added before the conversion, and the matrix was not resized; or the "
    "tokenizer of another model was beside the weights",
    remedy="resize the model's embeddings, save, and convert again",
    needs=_NEEDS,
)
def _rows(patient: Patient) -> Iterator[Seen]:
    gguf = patient.gguf
    assert gguf is not None
    if gguf.n_tokens is not None and gguf.n_rows is not None and gguf.n_tokens != gguf.n_rows:
        yield Seen(
            what=f"{gguf.n_tokens:,} tokens, {gguf.n_rows:,} rows in token_embd.weight",
            where=gguf.path.name,
            value=gguf.n_tokens - gguf.n_rows,
            unit="tokens",
            formula=f"{gguf.n_tokens:,} - {gguf.n_rows:,}",
        )


@known(
    id="gguf-special-id-out-of-range",
    area=Area.GGUF,
    severity=Severity.ERROR,
    name="a special token's id is no id of the file",
    symptom="a failed assertion at start, or generation that never ends",
    cause="ids were copied from another model's configuration",
    remedy="set them right: `gguf_set_metadata.py MODEL.gguf tokenizer.ggml.eos_token_id ID`",
    needs=_NEEDS,
)
def _ids(patient: Patient) -> Iterator[Seen]:
    gguf = patient.gguf
    assert gguf is not None
    for role in ("bos", "eos", "eot", "padding", "unknown", "seperator", "mask"):
        token_id = gguf.token_id(role)
        if token_id is not None and gguf.n_tokens is not None and not 0 <= token_id < gguf.n_tokens:
            yield Seen(
                what=f"tokenizer.ggml.{role}_token_id is {token_id}; ids are 0 to "
                f"{gguf.n_tokens - 1:,}",
                where=gguf.path.name,
                value=token_id,
                unit="id",
            )


@known(
    id="gguf-pre-tokenizer-unknown",
    area=Area.GGUF,
    severity=Severity.WARNING,
    name="the file does not say how text is cut before byte-level BPE",
    symptom="llama.cpp says `missing or unrecognized pre-tokenizer type, using: 'default'`; "
    "numbers and code get other ids than in transformers",
    cause="the converter did not recognise the tokenizer (a merge or pattern was changed, or it "
    "is a new model), or the file is older than the key tokenizer.ggml.pre",
    remedy="convert again with a current converter, or set the base model's name: "
    "`gguf_new_metadata.py --pre-tokenizer llama-bpe IN.gguf OUT.gguf`; then compare `jeton info` "
    "of file and folder",
    needs=_NEEDS,
)
def _pre(patient: Patient) -> Iterator[Seen]:
    gguf = patient.gguf
    assert gguf is not None
    if gguf.metadata.get("tokenizer.ggml.model") != "gpt2":
        return
    pre = gguf.metadata.get("tokenizer.ggml.pre")
    if pre in (None, "", "default"):
        yield Seen(
            what="tokenizer.ggml.pre is " + ("missing" if pre is None else repr(pre)),
            where=gguf.path.name,
            value=1,
            unit="keys",
        )


@known(
    id="gguf-double-bos",
    area=Area.GGUF,
    severity=Severity.INFO,
    name="llama.cpp and the chat template both write BOS",
    symptom="llama.cpp warns that the prompt starts with two BOS tokens",
    cause="tokenizer.ggml.add_bos_token is true and the template begins with BOS",
    remedy="leave BOS out of the prompt that you render yourself; llama-server takes the "
    "template's own away",
    needs=_NEEDS,
)
def _double_bos(patient: Patient) -> Iterator[Seen]:
    gguf = patient.gguf
    assert gguf is not None
    template = gguf.metadata.get("tokenizer.chat_template")
    if gguf.metadata.get("tokenizer.ggml.add_bos_token") is not True:
        return
    if not isinstance(template, str):
        return
    bos = gguf.token_id("bos")
    text = None if bos is None or patient.tokenizer is None else patient.token_text(bos)
    if "bos_token" in template or (text is not None and text in template[:400]):
        yield Seen(
            what="add_bos_token is true, and the chat template writes BOS, too",
            where=gguf.path.name,
            value=2,
            unit="BOS tokens",
        )


# A GGUF file and the folder that it was made from: tokens, roles, chat template.

_PAIR_NEEDS = (EvidenceKind.GGUF_PAIR,)
_MAX_NAMED = 50


def _place(pair: GgufPair) -> str:
    other = pair.tokenizer.name if pair.folder is None else pair.folder.path
    return f"{pair.gguf.path.name} against {other or 'the tokenizer'}"


def _tokens_of(pair: GgufPair) -> tuple[dict[str, int], dict[str, int]]:
    """The ids of special and added tokens in the folder, and in the file, by text."""
    sides = []
    for tokenizer in (pair.tokenizer, pair.gguf_tokenizer):
        ids = {token.content: token.id for token in tokenizer.fixed_tokens()}
        sides.append(ids | dict(tokenizer.special_tokens))
    return sides[0], sides[1]


@known(
    id="gguf-differs-from-folder",
    area=Area.GGUF,
    severity=Severity.ERROR,
    name="the GGUF file and the folder that it was made from have different tokens",
    symptom="the quantised model answers worse than quantisation explains; added tokens are cut "
    "into pieces, or the file does not load",
    cause="the tokenizer changed between conversion and now, or the converter left out added "
    "tokens",
    remedy="convert again from the folder that you compare with",
    needs=_PAIR_NEEDS,
)
def _tokens(patient: Patient) -> Iterator[Seen]:
    for pair in patient.gguf_pairs:
        ours, theirs = _tokens_of(pair)
        n_tokens, size = pair.gguf.n_tokens or 0, pair.tokenizer.vocab_size
        missing = {
            text: number
            for text, number in ours.items()
            if theirs.get(text, _ordinary(pair, text)) != number
        }
        # A converter fills the vocabulary up to the rows of the matrix, and never below.
        if n_tokens >= size and not missing:
            continue
        shown = ", ".join(f"{text!r} (id {i})" for text, i in list(missing.items())[:6])
        more = f" and {len(missing) - 6} more" if len(missing) > 6 else ""
        named = f"; the file lacks {shown}{more}" if missing else ""
        yield Seen(
            what=f"the GGUF file has {n_tokens:,} tokens, the folder {size:,}{named}",
            where=_place(pair),
            value=max(size - n_tokens, len(missing)),
            unit="tokens",
            formula=f"{size:,} - {n_tokens:,}" if n_tokens < size else "",
            evidence={"missing": dict(list(missing.items())[:_MAX_NAMED])},
        )


def _ordinary(pair: GgufPair, text: str) -> int | None:
    """The id of a text that the file has as an ordinary token."""
    return pair.gguf_tokenizer.bytes_to_id(text.encode("utf-8"))


@known(
    id="gguf-roles-differ",
    area=Area.GGUF,
    severity=Severity.WARNING,
    name="the GGUF file and its folder mean different tokens by end, beginning or padding",
    symptom="one runtime stops where the other goes on; prompts begin with another token",
    cause="the roles were changed in the folder after the conversion, or never written into the "
    "file: llama.cpp then takes its defaults, which are ids of other models",
    remedy="convert again, or set the id: `gguf_set_metadata.py MODEL.gguf "
    "tokenizer.ggml.eos_token_id ID`",
    needs=_PAIR_NEEDS,
    source="llama.cpp, src/llama-vocab.cpp: defaults by kind of vocabulary",
)
def _roles(patient: Patient) -> Iterator[Seen]:
    for pair in patient.gguf_pairs:
        for role, key in (("eos", "eos"), ("bos", "bos"), ("pad", "padding")):
            known_ids = _folder_ids(pair, role)
            if not known_ids:
                continue
            stated = pair.gguf.token_id(key)
            if role == "eos" and stated is None and pair.gguf.token_id("eot") in known_ids:
                continue
            if stated in known_ids:
                continue
            names = ", ".join(f"{i} ({_text(pair, i)!r})" for i in sorted(known_ids)[:4])
            says = (
                f"does not say it (no tokenizer.ggml.{key}_token_id)"
                if stated is None
                else f"says {stated} ({_text(pair, stated)!r})"
            )
            is_quiet = role == "pad" and stated is None
            yield Seen(
                what=f"{role} is {names} for the folder, and the GGUF file {says}",
                where=_place(pair),
                value=-1 if stated is None else stated,
                unit="id",
                severity=Severity.INFO if is_quiet else None,
                evidence={"folder": sorted(known_ids), "gguf": stated},
            )


def _folder_ids(pair: GgufPair, role: str) -> frozenset[int]:
    """The ids of a role for the folder: of its tokenizer and of its configurations."""
    ids = set() if pair.model is None else {i for i in pair.model.token_ids(role) if i >= 0}
    text = None if pair.folder is None else pair.folder.roles.get(role)
    if text is not None:
        ours, _ = _tokens_of(pair)
        number = ours.get(text, pair.tokenizer.bytes_to_id(text.encode("utf-8")))
        ids |= set() if number is None else {number}
    return frozenset(ids)


def _text(pair: GgufPair, number: int) -> str:
    ours, theirs = _tokens_of(pair)
    for texts in (ours, theirs):
        for text, known_id in texts.items():
            if known_id == number:
                return text
    try:
        return pair.tokenizer.id_to_bytes(number).decode("utf-8", "backslashreplace")
    except (ValueError, OverflowError):
        return "no token"


@known(
    id="gguf-template-differs",
    area=Area.GGUF,
    severity=Severity.WARNING,
    name="the GGUF file and its folder have different chat templates",
    symptom="the same chat gets another prompt in llama.cpp than in transformers or vLLM",
    cause="the template was changed after the conversion, or the converter did not find it: "
    "llama.cpp then guesses a format from the model's name",
    remedy="convert again; or give llama-server the folder's template: `--chat-template-file "
    "chat_template.jinja`",
    needs=_PAIR_NEEDS,
)
def _template(patient: Patient) -> Iterator[Seen]:
    for pair in patient.gguf_pairs:
        if pair.folder is None:
            continue
        ours, theirs = pair.folder.chat_template, _template_of(pair.gguf)
        if ours is None and theirs is None:
            continue
        if ours is not None and theirs is not None and _plain(ours) == _plain(theirs):
            continue
        if ours is None:
            what = "the GGUF file has a chat template, the folder none"
        elif theirs is None:
            what = "the folder has a chat template, the GGUF file none"
        else:
            what = f"the chat templates differ: {len(theirs):,} characters in the GGUF file, "
            what += f"{len(ours):,} in the folder"
        yield Seen(what=what, where=_place(pair), value=1, unit="chat templates")


def _template_of(gguf: GgufModel) -> str | None:
    value = gguf.metadata.get("tokenizer.chat_template")
    return value if isinstance(value, str) and value else None


def _plain(template: str) -> str:
    return template.replace("\r\n", "\n").strip()
