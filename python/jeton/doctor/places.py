"""Which file of a model a setting stands in, or would stand in."""

from __future__ import annotations

from jeton.doctor.patient import Patient
from jeton.errors import JetonError
from jeton.formats.reading import read_object

_CONFIG = "tokenizer_config.json"
_MAP = "special_tokens_map.json"


def file_of_stops(patient: Patient, *, otherwise: str) -> str:
    """The file that says where generation stops, or should say it."""
    if patient.model is None:
        return otherwise
    if patient.model.generation is not None:
        return "generation_config.json"
    return "config.json" if patient.model.configuration is not None else otherwise


def file_of_setting(patient: Patient, name: str) -> str:
    """The file of the tokenizer's folder that has a setting (``"pad_token"``), or should have it.

    A folder without tokenizer_config.json is named by the file that its tokenizer is made from.
    """
    if patient.folder is None or name in patient.tokenizer_config:
        return _CONFIG
    files = {file.name: file for file in patient.folder.files}
    if _MAP in files and name in _entries(patient):
        return _MAP
    if _CONFIG in files or patient.folder.tokenizer_file is None:
        return _CONFIG
    return patient.folder.tokenizer_file.name


def _entries(patient: Patient) -> frozenset[str]:
    assert patient.folder is not None
    try:
        return frozenset(read_object(patient.folder.path / _MAP) or ())
    except (JetonError, OSError):
        return frozenset()
