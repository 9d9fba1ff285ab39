"""GGUF files: what llama.cpp is told, against the vocabulary in the same file."""

from __future__ import annotations

from collections.abc import Iterator

from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
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
