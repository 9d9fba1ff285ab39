"""The sliders in a real Chromium: they start at the report's figures and follow their formulas."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

import pytest

from tests.browser.pages import read_number

pytestmark = pytest.mark.browser


def result(page: Any, name: str) -> float:
    return float(page.locator(f"[data-result={name}] .now-value").get_attribute("data-value"))


def shown(page: Any, name: str) -> str:
    text: str = page.locator(f"[data-result={name}] .now-value").text_content()
    return text


def put(page: Any, name: str, value: str) -> None:
    page.locator(f"#what-if-{name}").fill(value)


@pytest.fixture
def five(read_page: Any) -> Any:
    """One page for all tests; the button puts everything back."""
    page = read_page("five", part="what-if").page
    page.locator("[data-reset]").click()
    return page


@pytest.fixture(scope="module")
def report(beside: Any) -> dict[str, Any]:
    data: dict[str, Any] = beside("five")
    return data


def test_they_start_where_the_report_stands(open_page: Any, report: dict[str, Any]) -> None:
    five = open_page("five", part="what-if").page  # that nobody has touched
    economics = report["tokenizers"][0]["economics"]
    month = float(economics["usd_per_month"]["value"])
    assert result(five, "month") == pytest.approx(month, rel=1e-6)
    assert result(five, "month") == pytest.approx(
        float(report["waterfall"]["naive_usd_per_month"]), rel=1e-6
    )
    fit = economics["concurrent_requests_mean"]["value"]
    assert abs(result(five, "fit") - fit) <= 1
    seconds = economics["prefill_seconds_per_request"]["value"]
    assert result(five, "prefill") == pytest.approx(seconds)
    own = float(economics["own_gpu_usd_per_month"]["value"])
    assert result(five, "own") == pytest.approx(own)
    busy = 100_000 / 86_400 * 0.0312  # seconds of a GPU a second: see the sample's economics
    text = five.locator("[data-result=own] .numbers").text_content()
    assert f"= {busy:.4f}; 1 × 1 × 730" in text
    stated, half = read_number(shown(five, "month"))
    assert abs(stated - Decimal(str(month))) <= half
    year = read_number(five.locator("[data-result=month] .was.hint").text_content().split()[0])
    assert abs(year[0] - Decimal(economics["usd_per_year"]["value"])) <= year[1]
    assert five.locator(".change").all_text_contents() == [""] * 4


def test_half_the_requests_cost_half(five: Any, report: dict[str, Any]) -> None:
    before = {name: result(five, name) for name in ("month", "fit", "prefill")}
    put(five, "requests", str(report["what_if"]["requests_per_month"] / 2))
    assert result(five, "month") == pytest.approx(before["month"] / 2)
    assert (result(five, "fit"), result(five, "prefill")) == (before["fit"], before["prefill"])
    assert five.locator("[data-result=month] .change").text_content() == "−50%"


def test_half_the_tokens_halve_what_is_linear_in_them(five: Any, report: dict[str, Any]) -> None:
    put(five, "output", "0")
    before = {name: result(five, name) for name in ("month", "fit", "prefill")}
    put(five, "saved", "50")
    assert result(five, "month") == pytest.approx(before["month"] / 2)
    # Attention, a quarter of it at half the tokens, is the reason for less than half the time.
    economics = report["tokenizers"][0]["economics"]
    linear, attention = (
        economics[f"prefill_{part}_flops_per_request"]["value"] for part in ("linear", "attention")
    )
    ratio = (linear / 2 + attention / 4) / (linear + attention)
    assert result(five, "prefill") == pytest.approx(before["prefill"] * ratio)
    assert 2 * before["fit"] <= result(five, "fit") <= 2 * before["fit"] + 1


def test_the_price_moves_all_rates_alike(five: Any) -> None:
    before = result(five, "month")
    put(five, "price", "5")
    assert result(five, "month") == pytest.approx(2 * before)
    note = five.locator("[data-control=price] .note").text_content()
    assert note == "output $20.00, cached $2.50: in proportion"


def test_another_gpu_has_its_own_memory_speed_and_price(five: Any, report: dict[str, Any]) -> None:
    given = report["what_if"]
    tokens = given["input_tokens_per_request"] + given["output_tokens_per_request"]
    before = result(five, "prefill")
    for index, gpu in enumerate(given["gpus"]):
        five.locator("#what-if-gpu").select_option(str(index))
        room = gpu["kv_bytes"]
        assert abs(result(five, "fit") - room // (given["kv_bytes_per_token"] * tokens)) <= 1
        faster = gpu["bf16_dense_flops_per_s"] / given["gpus"][2]["bf16_dense_flops_per_s"]
        assert result(five, "prefill") == pytest.approx(before / faster)
        assert five.locator("[data-result=own]").is_visible() == (gpu["usd_per_hour"] is not None)
    assert five.locator("[data-control=hour] .note").text_content() == (
        "not known of this GPU: put it in"
    )
    put(five, "hour", "0.7")
    assert five.locator("[data-result=own]").is_visible()


def test_gpus_of_your_own_are_rented_whole(five: Any, report: dict[str, Any]) -> None:
    given = report["what_if"]
    hour = given["gpus"][2]["usd_per_hour"]
    assert result(five, "own") == pytest.approx(730 * hour)
    put(five, "requests", str(given["requests_per_month"] * 200))
    n_gpus = result(five, "own") / (730 * hour)
    assert n_gpus == pytest.approx(round(n_gpus))
    assert n_gpus > 1
    formula = five.locator("[data-result=own] .numbers").text_content()
    busy = float(formula.partition(" = ")[2].partition(";")[0].replace(",", ""))
    assert math.ceil(busy) == round(n_gpus)


def test_remedies_come_to_the_engineered_bill(five: Any, report: dict[str, Any]) -> None:
    boxes = five.locator("[data-remedy]")
    steps = report["waterfall"]["steps"]
    assert boxes.count() == len(steps)
    for index, step in enumerate(steps):
        boxes.nth(index).check()
        assert result(five, "month") == pytest.approx(float(step["usd_per_month"]), rel=1e-6)
    five.locator("[data-reset]").click()
    assert result(five, "month") == pytest.approx(
        float(report["waterfall"]["naive_usd_per_month"]), rel=1e-6
    )
    assert five.locator("[data-remedy]:checked").count() == 0


def test_formulas_state_what_they_compute(five: Any) -> None:
    put(five, "saved", "25")
    five.locator("[data-remedy]").nth(0).check()
    five.locator("[data-remedy]").nth(3).check()
    text = five.locator("[data-result=month] .numbers").text_content()
    formula, _, stated = text.partition(" = ")
    expression = formula.replace(",", "").replace("$", "").replace("×", "*").replace("÷", "/")
    expression = re.sub(r"([\d.]+)%", r"(\1/100)", expression).replace("−", "-")
    assert re.fullmatch(r"[\d.*/()+\- ]+", expression)
    value = eval(expression)  # digits and signs only
    assert value == pytest.approx(result(five, "month"), rel=1e-3)
    number, half = read_number(stated)
    assert abs(float(number) - result(five, "month")) <= float(half)


def test_the_largest_saving_can_be_put_in(open_page: Any, report: dict[str, Any]) -> None:
    five = open_page("five", part="what-if").page  # that has said nothing yet
    five.locator("[data-apply-saved]").click()
    saved = report["what_if"]["tokens_saved_share"]
    field = float(five.locator("#what-if-saved").input_value())
    assert field == pytest.approx(100 * saved, rel=1e-3)
    given = report["what_if"]
    expected = (
        given["requests_per_month"]
        * (given["input_tokens_per_request"] * (1 - saved) * 2.5 + 300 * 10)
        / 1e6
    )
    assert result(five, "month") == pytest.approx(expected)
    assert five.locator("#what-if [role=status]").text_content() in (
        "",
        f"{shown(five, 'month')} a month",
    )


def test_a_slider_moves_by_keyboard_and_is_said_once_it_rests(five: Any) -> None:
    before = result(five, "month")
    slider = five.get_by_label("Requests a month, slider")
    slider.press("ArrowRight")
    assert result(five, "month") > before
    slider.press("Home")
    assert result(five, "month") == pytest.approx(before / 100, rel=0.01)
    assert (
        five.locator("#what-if [role=status]").text_content() == f"{shown(five, 'month')} a month"
    )


def test_what_is_no_number_changes_nothing(five: Any) -> None:
    before = result(five, "month")
    for value in ("", "-5"):
        put(five, "requests", value)
        assert result(five, "month") == before
    five.locator("#what-if-requests").press("Tab")
    assert float(five.locator("#what-if-requests").input_value()) > 0


def test_what_was_not_given_says_so(open_page: Any) -> None:
    opened = open_page("bare", part="what-if")
    page = opened.page
    assert opened.complaints == []
    assert page.locator("[data-control=requests] .note").text_content() == (
        "not given: a start value"
    )
    assert page.locator("[data-control=price] .note").text_content() == (
        "no price was given: a start value"
    )
    assert page.locator("[data-control=output] .note").text_content() == (
        "no price of output is known: not in the bill"
    )
    assert "300" not in page.locator("[data-result=month] .numbers").text_content()
    assert page.locator("#what-if-gpu").count() == 0
    assert page.locator("[data-result]:visible").count() == 1
    tokens = json.loads(page.locator("#audit-data").text_content())["what_if"][
        "input_tokens_per_request"
    ]
    assert result(page, "month") == pytest.approx(tokens)  # 1,000,000 requests x 1 USD / 1,000,000


def test_without_scripts_the_sliders_say_so(open_page: Any) -> None:
    page = open_page("five", java_script_enabled=False).page
    page.locator("#what-if summary").click()
    assert page.locator(".needs-script").is_visible()
    assert page.locator(".what-if:visible").count() == 0
    assert page.locator(".falls .bar").count() == 6


def test_a_report_without_its_inputs_has_no_sliders(open_page: Any) -> None:
    opened = open_page("plain")
    assert opened.page.locator("#what-if").count() == 0
    assert opened.complaints == []
