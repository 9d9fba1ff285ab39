"""The JSON report satisfies the schema that ships with the package, and the schema is complete."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from jeton.auditing import result
from jeton.auditing.caching.result import CacheReport
from jeton.auditing.result import AuditReport
from jeton.economics.billed import BilledTable, ModelBilled
from jeton.economics.ledger import Ledger
from jeton.report import schema, to_json, write_json
from jeton.report.json_report import embed_json
from scripts import report_schema
from tests.report.sample_report import HOSTILE, make_report

# Published without types; imported so, it needs no setting of the type checker.
jsonschema: Any = import_module("jsonschema")

CASES: dict[str, dict[str, Any]] = {
    "everything, five tokenizers": {},
    "one tokenizer": {"n_tokenizers": 1},
    "no price": {"price": False},
    "price without traffic": {"traffic": False},
    "no gpu": {"gpu": False},
    "as Part 1 made it": {"more": False},
    "nothing but counts": {
        "model": False, "gpu": False, "price": False, "traffic": False, "terms": False,
        "samples": False,
    },
    "hostile": {"hostile": True, "n_tokenizers": 6},
}  # fmt: skip


def dataclasses_of(kind: Any) -> Iterator[type]:
    """A dataclass and every dataclass that its fields can hold."""
    hints = [kind]
    seen: set[type] = set()
    while hints:
        hint = hints.pop()
        hints += typing.get_args(hint)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type) and hint not in seen:
            seen.add(hint)
            hints += typing.get_type_hints(hint).values()
            yield hint


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize("case", CASES)
def test_reports_satisfy_the_schema(case: str, validator: Any) -> None:
    data = json.loads(to_json(make_report(**CASES[case])))
    assert [error.message for error in validator.iter_errors(data)] == []


def test_the_schema_has_exactly_the_fields_of_the_data() -> None:
    definitions = schema()["$defs"]
    # The ledger, the billed tokens and the caches write their own objects and schemas.
    own = {*dataclasses_of(Ledger), *dataclasses_of(BilledTable), ModelBilled}
    own |= {*dataclasses_of(CacheReport)}
    kinds = [kind for kind in dataclasses_of(AuditReport) if kind not in own]
    assert len(kinds) > 25
    for kind in kinds:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
        definition = schema() if kind is AuditReport else definitions[name]
        names = {field.name for field in dataclasses.fields(kind)}
        assert set(definition["properties"]) == names, name
        assert set(definition["required"]) == names, name
        assert definition["additionalProperties"] is False, name
    assert len(definitions) - len(kinds) + 1 <= len(
        {"money", "basis", "severity", "ledger", "billed", "cache"}
    )
    assert set(definitions["billed_table"]["properties"]) == set(BilledTable().to_dict())
    assert set(definitions["ledger"]["properties"]) == set(Ledger().to_json())


def test_the_published_schema_is_what_the_types_say() -> None:
    assert schema() == report_schema.build(), "python scripts/report_schema.py"
    assert report_schema.main(["--check"]) == 0


def test_every_field_is_described() -> None:
    assert report_schema.undescribed(schema()) == []
    assert report_schema.undescribed({"$defs": {"a": {"properties": {"b": {}}}}}) == ["a.b"]


@dataclasses.dataclass(frozen=True)
class Inner:
    """Inside."""

    n_parts: int


@dataclasses.dataclass(frozen=True)
class Outer:
    """Outside.

    Attributes:
        inner: One
            of them.
    """

    inner: Inner | None
    money: Decimal | float | None
    delta_tokens: int
    cut_share: float
    words: tuple[str, ...]
    pair: tuple[int, str]
    by_name: dict[str, float]
    level: typing.Literal["a", "b"]
    day: date | None


def test_what_types_can_hold_is_what_the_schema_allows() -> None:
    writer = report_schema.Writer()
    properties = writer.object_of(Outer)["properties"]
    reference = {"anyOf": [{"$ref": "#/$defs/inner"}, {"type": "null"}]}
    assert properties["inner"] == {"description": "One of them.", **reference}
    assert properties["delta_tokens"] == {"type": "integer"}
    assert properties["cut_share"] == {"type": "number", "minimum": 0, "maximum": 1}
    assert properties["words"]["items"] == {"type": "string"}
    assert properties["pair"]["minItems"] == 2
    assert properties["by_name"]["additionalProperties"] == {"type": "number"}
    assert properties["level"] == {"enum": ["a", "b"]}
    assert properties["day"]["anyOf"][0] == {"type": "string", "format": "date"}
    assert writer.definitions["inner"]["properties"] == {
        "n_parts": {"type": "integer", "minimum": 0}
    }
    money = jsonschema.Draft202012Validator({**properties["money"], "$defs": writer.definitions})
    assert [money.is_valid(value) for value in ("1.50", 1.5, None, "1,5")] == [True] * 3 + [False]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("corpus", "n_bytes"), -1),
        (("corpus", "n_bytes"), "1"),
        (("corpus", "colour"), 1),
        (("schema_version",), "jeton.audit/1"),
        (("tokenizers",), {}),
        (("workload", "usd_per_mtok_input"), 2.5),
        (("workload", "usd_per_mtok_input"), "2,5"),
        (("findings", 0, "severity"), "fatal"),
        (("findings", 0, "figure", "basis"), "guessed"),
        (("tokenizers", 0, "vocab_used_share"), 1.5),
    ],
)
def test_the_schema_rejects(path: tuple[str | int, ...], value: Any, validator: Any) -> None:
    data = make_report().to_dict()
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert not validator.is_valid(data)


def test_a_missing_field_is_rejected(validator: Any) -> None:
    data = make_report().to_dict()
    del data["tokenizers"][0]["economics"]["usd_per_day"]
    assert not validator.is_valid(data)


def test_money_is_a_decimal_string() -> None:
    data = json.loads(to_json(make_report()))
    assert data["workload"]["usd_per_mtok_input"] == "2.50"
    assert isinstance(data["tokenizers"][0]["economics"]["usd_per_year"]["value"], str)


def test_the_same_report_gives_the_same_text() -> None:
    assert to_json(make_report()) == to_json(make_report())
    assert to_json(make_report()).endswith("}\n")


def test_text_survives_and_hazards_are_escaped() -> None:
    report = make_report(hostile=True)
    text = to_json(report)
    assert json.loads(text) == json.loads(json.dumps(report.to_dict()))
    for hazard in ("\u202e", "\u2028", "\x00", "\x1b"):
        assert hazard not in text
    assert "患者" in text  # readable text stays readable


def test_lone_surrogates_can_be_written(tmp_path: Path) -> None:
    report = make_report(n_tokenizers=1)
    broken = dataclasses.replace(
        report, corpus=dataclasses.replace(
            report.corpus, sources=(result.Source("name\udcff.txt", 1, 1),)
        )
    )  # fmt: skip
    write_json(broken, tmp_path / "a.json")
    data = json.loads((tmp_path / "a.json").read_bytes())
    assert data["corpus"]["sources"][0]["path"] == "name\udcff.txt"


def test_numbers_must_be_finite() -> None:
    report = dataclasses.replace(
        make_report(),
        workload=dataclasses.replace(make_report().workload, requests_per_day=float("nan")),
    )
    with pytest.raises(ValueError, match="JSON"):
        to_json(report)


def test_embedded_json_cannot_leave_its_element() -> None:
    text = embed_json({"a": HOSTILE, "b": "]]> <!-- & \u2029"})
    assert not set("<>&\u2028\u2029\x00") & set(text)
    assert json.loads(text) == {"a": HOSTILE, "b": "]]> <!-- & \u2029"}
