"""Files of a model directory: missing, never fetched, damaged, contradicting one another."""

from __future__ import annotations

from collections.abc import Iterator

from jeton.checkpoint import FileProblem
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.findings import Severity
from jeton.formats.folder_tokens import CLASS_REBUILDS


def _problems(patient: Patient, *kinds: str) -> list[FileProblem]:
    if patient.model is None:
        return []
    return [problem for problem in patient.model.problems if problem.kind in kinds]


def _seen(problems: list[FileProblem], what: str) -> Iterator[Seen]:
    if problems:
        files = list(dict.fromkeys(problem.file for problem in problems))
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        yield Seen(
            what=f"{', '.join(files[:3])}{more}: {what}",
            where=problems[0].file,
            value=len(files),
            unit="files",
            evidence={"details": [problem.detail for problem in problems[:10]]},
        )


@known(
    id="lfs-pointer",
    area=Area.FILES,
    severity=Severity.ERROR,
    name="a file was never fetched: it is a Git LFS pointer",
    symptom="loading ends in `invalid header`, `HeaderTooLarge` or `Expecting value: line 1`",
    cause="the repository was cloned without Git LFS; in place of each large file there are three "
    "lines of text that say where it is",
    remedy="in the clone: `git lfs install && git lfs pull`; or `hf download OWNER/MODEL`",
    needs=(EvidenceKind.FILES,),
    source="git-lfs, docs/spec.md",
)
def _lfs_pointer(patient: Patient) -> Iterator[Seen]:
    yield from _seen(_problems(patient, "lfs_pointer"), "a Git LFS pointer of about 130 bytes")


@known(
    id="weights-missing",
    area=Area.FILES,
    severity=Severity.ERROR,
    name="weight files that others count on are not there",
    symptom="loading ends in FileNotFoundError, or layers are said to be newly initialized and "
    "the model writes nonsense",
    cause="a copy or download broke off, or the index is that of another set of shards",
    remedy="fetch the named files again and compare sizes with the source; do not delete the index",
    needs=(EvidenceKind.FILES,),
)
def _weights_missing(patient: Patient) -> Iterator[Seen]:
    yield from _seen(
        _problems(patient, "missing", "missing_tensor"), "missing, or without tensors of the index"
    )


@known(
    id="file-damaged",
    area=Area.FILES,
    severity=Severity.ERROR,
    name="a file is cut off or contradicts itself",
    symptom="`Error while deserializing header`, `MetadataIncompleteBuffer`, `JSONDecodeError`",
    cause="the download or copy was interrupted, the disk was full, or the file is still being "
    "written",
    remedy="fetch the file again; compare its SHA-256 with that of the source before you restart "
    "the service",
    needs=(EvidenceKind.FILES,),
    source="safetensors 0.8.0, the rules of its format",
)
def _file_damaged(patient: Patient) -> Iterator[Seen]:
    problems = _problems(patient, "damaged")
    if problems:
        yield from _seen(problems, problems[0].detail.rstrip("."))


@known(
    id="weights-are-pickles",
    area=Area.FILES,
    severity=Severity.INFO,
    name="weights that are programs: rows were not looked at",
    symptom="none; but anyone who can change the file runs code on your machine",
    cause=".bin and .pt files are pickles: loading them runs their code",
    remedy="convert them once, on a machine that you can throw away, to safetensors; then run "
    "this again: the checks of embedding rows need it",
    needs=(EvidenceKind.FILES,),
)
def _pickles(patient: Patient) -> Iterator[Seen]:
    yield from _seen(_problems(patient, "pickle"), "weights as a pickle, not opened")


@known(
    id="tokenizer-does-not-load",
    area=Area.FILES,
    severity=Severity.ERROR,
    name="the tokenizer cannot be loaded",
    symptom="the service does not start, or falls back to some other tokenizer",
    cause="its file is damaged or missing, was never fetched, or belongs to a class that needs "
    "code of its own",
    remedy="see the message; a tokenizer.json says everything: save one with the program that can "
    "load the folder",
    needs=(EvidenceKind.FILES,),
)
def _does_not_load(patient: Patient) -> Iterator[Seen]:
    if patient.load_error:
        first, _, hint = patient.load_error.partition("\nhint: ")
        yield Seen(
            what=first,
            where=str(patient.place or patient.name),
            value=1,
            unit="tokenizers",
            remedy=hint,
        )


@known(
    id="folder-contradicts-itself",
    area=Area.FILES,
    severity=Severity.WARNING,
    name="tokenizer.json and the small files beside it say different things",
    symptom="two programs load the same folder and get different ids or special tokens",
    cause="one file was edited or regenerated and the others were not; each program believes "
    "another one",
    remedy="decide which file is right, load the folder with the program that believes it, and "
    "save the folder anew (`save_pretrained`, or `jeton convert FOLDER NEW_FOLDER`)",
    needs=(EvidenceKind.FOLDER,),
    source="transformers 5.23.0, tokenization_utils_base.py",
)
def _contradictions(patient: Patient) -> Iterator[Seen]:
    assert patient.folder is not None
    # Settings that jeton does not apply are no contradictions; other checks look at them.
    found = [w for w in patient.folder.warnings if not w.startswith(_NOT_APPLIED)]
    if found:
        yield Seen(
            what="; ".join(found),
            where=str(patient.folder.path),
            value=len(found),
            unit="contradictions",
            evidence={"contradictions": found},
        )


_NOT_APPLIED = (
    "fix_mistral_regex",
    "clean_up_tokenization_spaces",
    "split_special_tokens",
    CLASS_REBUILDS,
)
