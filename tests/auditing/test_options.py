"""Options of an audit are one value, and `audit` takes its fields as keywords."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from jeton._core import Tokenizer
from jeton.auditing import Audit, AuditOptions, audit
from jeton.auditing.options.keywords import keywords_of
from jeton.errors import UsageError


def test_every_field_is_a_keyword_with_its_default_and_its_words() -> None:
    of_audit = inspect.signature(audit).parameters
    assert list(of_audit) == ["inputs", *(field.name for field in fields(AuditOptions))]
    assert list(inspect.signature(Audit).parameters) == list(of_audit)[1:]
    for field in fields(AuditOptions):
        assert of_audit[field.name].default == field.default
        assert of_audit[field.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"\n    {field.name}: " in str(audit.__doc__)


def test_options_give_the_report_of_the_keywords(good: Tokenizer) -> None:
    options = AuditOptions(tokenizers=[good], quality=False, terms=["ledger"])
    texts = ["a ledger of tokens", "another ledger"]
    steps = Audit.of(options)
    report = steps.report(steps.count(iter(texts)))
    known = audit(iter(texts), tokenizers=[good], quality=False, terms=["ledger"])
    assert report.to_dict() == known.to_dict()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"requests_per_day": 0}, "requests_per_day is 0; expected a number above 0"),
        ({"peak_to_mean": 0.5}, "peak_to_mean is 0.5; expected at least 1"),
        ({"sample_chars": 0}, "sample_chars is 0; expected at least 1"),
        ({"bill": "12.50"}, "the inputs are not request logs"),
        ({"period": "week"}, "about request logs"),
        ({"domain_field": "team", "domains": "file"}, "expected one of them"),
        ({"growth_per_month": 0.1}, "without a quota"),
    ],
)
def test_options_are_judged_when_they_are_made(given: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        AuditOptions(**given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=reason):
        audit(iter(["text"]), **given)  # type: ignore[arg-type]


def test_options_are_frozen_and_judged_again_when_they_change() -> None:
    options = AuditOptions(requests_per_day=5)
    with pytest.raises(FrozenInstanceError):
        options.field = "body"  # type: ignore[misc]
    with pytest.raises(UsageError):
        replace(options, requests_per_day=-1)


def test_unknown_keywords_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'tokeniser'"):
        audit(iter(["text"]), tokeniser="gpt2")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="too many positional"):
        audit(iter(["text"]), "gpt2")  # type: ignore[call-arg]


def test_the_first_argument_is_not_one_of_the_options() -> None:
    @keywords_of(AuditOptions)
    def described(name: str, options: AuditOptions) -> str:
        return f"{name} {options.field}"

    assert described("x", field="body") == "x body"
