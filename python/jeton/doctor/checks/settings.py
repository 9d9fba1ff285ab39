"""Two sides that should be the same: machines, training and serving, versions of libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jeton._foreign import json_of
from jeton.checkpoint import ModelKind
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.doctor.settings import differing
from jeton.errors import EncodeError
from jeton.findings import Severity
from jeton.formats.classes import rebuilt_differently
from jeton.formats.reading import read
from jeton.probe import probe_texts


@known(
    id="tokenizers-differ",
    area=Area.SETTINGS,
    severity=Severity.ERROR,
    name="the two sides have different tokenizers",
    symptom="the same text has other ids, counts and answers on the other machine",
    cause="another file, another version of the file, or another library that builds the "
    "tokenizer anew from it",
    remedy="copy the whole folder, not single files; pin the revision; keep the probe digest in "
    "the deployment and compare it at start; `jeton explain A B` names the component",
    needs=(EvidenceKind.OTHER,),
)
def _tokenizers(patient: Patient) -> Iterator[Seen]:
    own, other = _value(patient, "tokenizer.probe_digest")
    prints = _value(patient, "tokenizer.fingerprint")
    if own is None or other is None:
        return
    if own == other:
        if prints[0] != prints[1]:
            yield Seen(
                what="the tokenizers are written down differently; their ids on the probe texts "
                "are equal",
                where=_sides(patient),
                value=0,
                unit="probe texts",
                severity=Severity.INFO,
            )
        return
    text = _first_difference(patient)
    example = "" if text is None else f"; the first text on which they do: {text[:40]!r}"
    yield Seen(
        what=f"ids differ on the probe texts{example}",
        where=_sides(patient),
        value=1,
        unit="tokenizers",
        evidence={"probe_digests": [own, other]},
    )


def _first_difference(patient: Patient) -> str | None:
    if patient.tokenizer is None or patient.other_tokenizer is None:
        return None
    for text in sorted(probe_texts(), key=len):
        ids = []
        for tokenizer in (patient.tokenizer, patient.other_tokenizer):
            try:
                ids.append(tokenizer.encode(text))
            except EncodeError:
                ids.append([-1])
        if ids[0] != ids[1]:
            return text
    return None


def _value(patient: Patient, name: str) -> tuple[Any, Any]:
    if patient.settings is None or patient.other is None:
        return None, None
    return patient.settings.values.get(name), patient.other.values.get(name)


def _sides(patient: Patient) -> str:
    assert patient.other is not None
    own = patient.settings.name if patient.settings is not None else patient.name
    return f"{own} against {patient.other.name}"


@known(
    id="normalization-differs",
    area=Area.SETTINGS,
    severity=Severity.ERROR,
    name="the two tokenizers normalize text differently",
    symptom="accented or upper-case text, or text copied from a PDF, has other ids on one side",
    cause="one side lowercases, strips accents or composes characters (NFC, NFKC) before it cuts, "
    "the other does not",
    remedy="use one tokenizer.json for both, with the normalizer that the model was trained with; "
    "do not normalize outside of the tokenizer",
    needs=(EvidenceKind.OTHER, EvidenceKind.TOKENIZER),
)
def _normalization(patient: Patient) -> Iterator[Seen]:
    a, b = patient.tokenizer, patient.other_tokenizer
    if a is None or b is None or a.fingerprint == b.fingerprint:
        return
    for what, text in _NORMALIZED:
        try:
            one, two = a.normalize(text), b.normalize(text)
        except EncodeError:
            continue
        if one.strip("\u2581 ") != two.strip("\u2581 "):
            yield Seen(
                what=f"{text!r} ({what}) becomes {one!r} on one side and {two!r} on the other",
                where=_sides(patient),
                value=1,
                unit="normalizers",
            )
            return


_NORMALIZED = (
    ("case", "Ab"),
    ("accents", "\u00e9"),
    ("decomposed accents", "e\u0301"),
    ("ligatures and width", "\ufb01\uff21"),
    ("punctuation", "\u2019\u2026"),
    ("control characters", "a\u200bb"),
    ("Chinese", "a\u4e2d"),
)


@known(
    id="settings-differ",
    area=Area.SETTINGS,
    severity=Severity.WARNING,
    name="settings differ between the two sides",
    symptom="works on one machine",
    cause="each setting below is one thing on one side and another on the other; what follows "
    "from it stands beside it",
    remedy="keep the settings in one file that both sides read; compare snapshots at deployment "
    "(`jeton doctor MODEL --against snapshot.json`)",
    needs=(EvidenceKind.OTHER,),
)
def _settings(patient: Patient) -> Iterator[Seen]:
    differences = []
    worst = Severity.INFO
    for name, own, other in _differing(patient):
        key = name.rpartition(".")[2]
        effect, severity = _EFFECTS.get(key, ("", Severity.WARNING))
        if name.startswith("environment.") or key in _QUIET:
            severity = Severity.INFO
        if severity is Severity.WARNING:
            worst = severity
        differences.append(
            {"name": name, "here": own, "there": other, "effect": effect, "severity": severity}
        )
    if not differences:
        return
    differences.sort(key=lambda d: (d["severity"] != Severity.WARNING, d["name"]))
    yield Seen(
        what="; ".join(
            f"{d['name']} is {d['here']!r} here and {d['there']!r} there"
            + (f" ({d['effect']})" if d["effect"] else "")
            for d in differences
        ),
        where=_sides(patient),
        value=len(differences),
        unit="settings",
        severity=worst,
        evidence={"differences": differences},
    )


_OWN_CHECKS = frozenset(("fingerprint", "probe_digest"))
# Differences of these alone change no ids.
_QUIET = frozenset(("version", "jeton", "datasets", "trl", "name_or_path", "tokenizer_class"))
_EFFECTS: dict[str, tuple[str, Severity]] = {
    "padding_side": ("batches are padded on another side", Severity.WARNING),
    "truncation_side": ("long texts lose their other end", Severity.WARNING),
    "model_max_length": ("long texts are cut at another length", Severity.WARNING),
    "max_length": ("long texts are cut at another length", Severity.WARNING),
    "add_bos_token": ("texts begin with or without BOS", Severity.WARNING),
    "add_eos_token": ("texts end with or without EOS", Severity.WARNING),
    "add_special_tokens": ("texts have or lack their special tokens", Severity.WARNING),
    "add_prefix_space": ("the first word has another id", Severity.WARNING),
    "do_lower_case": ("upper case is kept or lost", Severity.WARNING),
    "strip_accents": ("accents are kept or lost", Severity.WARNING),
    "tokenize_chinese_chars": ("Chinese is cut differently", Severity.WARNING),
    "legacy": ("text behind special tokens is cut differently", Severity.WARNING),
    "split_special_tokens": ("special tokens in text are control or text", Severity.WARNING),
    "clean_up_tokenization_spaces": ("decoded text has or lacks spaces", Severity.WARNING),
    "fix_mistral_regex": ("the split pattern is another one", Severity.WARNING),
    "chat_template_digest": ("chats are written differently", Severity.WARNING),
    "special_tokens_digest": ("special tokens have other texts or ids", Severity.WARNING),
    "vocab_size": ("the vocabularies are different", Severity.WARNING),
    "unicode_version": ("\\w and case folding know other characters", Severity.INFO),
    "file_encoding": ("files opened without an encoding are read differently", Severity.WARNING),
    "tokenizers": ("the library that cuts text is another version", Severity.WARNING),
    "transformers": ("see transformers-major-version", Severity.INFO),
    "tiktoken": ("the library that cuts text is another version", Severity.INFO),
    "sentencepiece": ("the library that cuts text is another version", Severity.INFO),
    "torch": ("results differ by rounding", Severity.INFO),
    "vllm": ("the engine is another version", Severity.INFO),
}


def _differing(patient: Patient) -> Iterator[tuple[str, Any, Any]]:
    if patient.settings is None or patient.other is None:
        return
    for name, own, other in differing(patient.settings, patient.other):
        if name.rpartition(".")[2] not in _OWN_CHECKS:
            yield name, own, other


@known(
    id="transformers-major-version",
    area=Area.SETTINGS,
    severity=Severity.WARNING,
    name="one side runs transformers 4, the other 5",
    symptom="other ids for the same folder; other spaces in decoded text",
    cause="transformers 5 builds the tokenizers of some classes anew instead of running "
    "tokenizer.json as it is, ignores clean_up_tokenization_spaces for BPE, and knows "
    "tokenizer_class names that 4 does not",
    remedy="pin one major version on both sides; compare probe digests; set tokenizer_class to "
    '"PreTrainedTokenizerFast", which both load as the file says',
    needs=(EvidenceKind.OTHER,),
    source="transformers 5.23.0, tokenization_utils_tokenizers.py",
)
def _transformers(patient: Patient) -> Iterator[Seen]:
    own, other = _value(patient, "library.transformers")
    if isinstance(own, str) and isinstance(other, str):
        majors = own.split(".")[0], other.split(".")[0]
        if majors[0] != majors[1]:
            yield Seen(
                what=f"transformers {own} here, {other} there",
                where=_sides(patient),
                value=1,
                unit="libraries",
            )


@known(
    id="tokenizer-class-rebuilds",
    area=Area.SETTINGS,
    severity=Severity.WARNING,
    name="tokenizer_class and tokenizer.json do not fit",
    symptom="transformers 5 gives other ids than transformers 4, vLLM or jeton for this folder: "
    "spaces are lost or doubled, text is cut at other places",
    cause="the class named in tokenizer_config.json builds its own pre-tokenizer and takes only "
    "vocabulary and merges from tokenizer.json, which describes another one. Version 4 of "
    "transformers runs the file as it is; late versions of 5 notice it for LlamaTokenizer alone",
    remedy='set `"tokenizer_class": "PreTrainedTokenizerFast"` in tokenizer_config.json: both '
    "major versions then run tokenizer.json as it is",
    needs=(EvidenceKind.FOLDER, EvidenceKind.TOKENIZER),
    source="transformers 5.23.0: what each class builds (models/*/tokenization_*.py), and which "
    "class auto/tokenization_auto.py takes",
)
def _rebuilds(patient: Patient) -> Iterator[Seen]:
    assert patient.folder is not None
    tree = _tokenizer_json(patient)
    if tree is None:
        return
    configuration = None if patient.model is None else patient.model.configuration
    found = rebuilt_differently(
        patient.folder.tokenizer_class,
        tree,
        model_type=None if configuration is None else configuration.model_type,
    )
    if found is not None:
        yield Seen(what=found, where="tokenizer_config.json", value=1, unit="classes")


def _tokenizer_json(patient: Patient) -> dict[str, Any] | None:
    assert patient.folder is not None
    file = patient.folder.tokenizer_file
    if file is None or not file.name.startswith("tokenizer.json"):
        return None
    try:
        tree = json_of(read(file))
    except (ValueError, RecursionError, OSError):
        return None
    return tree if isinstance(tree, dict) else None


@known(
    id="clean-up-of-spaces",
    area=Area.OUTPUT,
    severity=Severity.WARNING,
    name="decoding takes out spaces that belong to the text",
    symptom="`a . b` becomes `a. b`, code and tables change; decode(encode(text)) is not text",
    cause="clean_up_tokenization_spaces is set: made for WordPiece, it deletes spaces before "
    "punctuation. Version 4 of transformers applies it to every tokenizer, and version 5 ignores "
    "it for BPE. vLLM decodes by itself, so outputs differ between them",
    remedy="set clean_up_tokenization_spaces to false in tokenizer_config.json",
    needs=(EvidenceKind.FOLDER, EvidenceKind.TOKENIZER),
    source="transformers 5.23.0, tokenization_utils_tokenizers.py (_decode)",
)
def _clean_up(patient: Patient) -> Iterator[Seen]:
    assert patient.folder is not None
    assert patient.tokenizer is not None
    if (
        patient.folder.clean_up_tokenization_spaces is True
        and "wordpiece" not in patient.tokenizer.algorithm.lower()
    ):
        yield Seen(
            what=f"clean_up_tokenization_spaces is true for a {patient.tokenizer.algorithm} "
            "tokenizer, whose spaces are in its tokens",
            where="tokenizer_config.json",
            value=1,
            unit="settings",
            # The input of an encoder is hardly ever decoded.
            severity=Severity.INFO if patient.kind is ModelKind.ENCODER else None,
        )


@known(
    id="needs-new-transformers",
    area=Area.SETTINGS,
    severity=Severity.INFO,
    name="the folder was written by transformers 5, and 4 cannot load it",
    symptom="`Tokenizer class TokenizersBackend does not exist`, or `'list' object has no "
    "attribute 'keys'`, on machines with transformers 4",
    cause="transformers 5 writes a class name that 4 does not know, and extra_special_tokens as a "
    "list, where 4 expects names with tokens",
    remedy='for both versions: tokenizer_class "PreTrainedTokenizerFast", and the list under '
    "additional_special_tokens instead of extra_special_tokens",
    needs=(EvidenceKind.FOLDER,),
    source="transformers 5.23.0, tokenization_utils_base.py",
)
def _needs_new(patient: Patient) -> Iterator[Seen]:
    reasons = []
    name = patient.tokenizer_config.get("tokenizer_class")
    if isinstance(name, str) and name in _CLASSES_OF_5:
        reasons.append(f"tokenizer_class is {name!r}")
    if isinstance(patient.tokenizer_config.get("extra_special_tokens"), list):
        reasons.append("extra_special_tokens is a list")
    if reasons:
        _, other = _value(patient, "library.transformers")
        is_old = isinstance(other, str) and other.startswith("4.")
        yield Seen(
            what=" and ".join(reasons),
            where="tokenizer_config.json",
            value=len(reasons),
            unit="settings",
            severity=Severity.ERROR if is_old else None,
        )


_CLASSES_OF_5 = frozenset(("TokenizersBackend", "SentencePieceBackend", "PythonBackend"))
