"""Prices: a small list of our own where figures are asserted, the installed list elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal

import pytest
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from genai_prices.types import (
    ClauseEquals,
    ClauseStartsWith,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    Provider,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
    Usage,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.catalog import price, price_names
from jeton.economics.ledger import LedgerBuilder, usage_rows
from jeton.errors import StalePriceWarning, UnknownPriceError, UsageError

DAY = date(2026, 10, 1)


def usd(text: str) -> Decimal:
    return Decimal(text)


def model_info(name: str, prices: ModelPrice | list[ConditionalPrice], note: str = "") -> ModelInfo:
    return ModelInfo(id=name, match=ClauseEquals(equals=name), prices=prices, price_comments=note)


TIERED = ModelPrice(
    input_mtok=TieredPrices(base=usd("1.25"), tiers=[Tier(start=200_000, price=usd("2.5"))]),
    cache_read_mtok=TieredPrices(base=usd("0.125"), tiers=[Tier(start=200_000, price=usd("0.25"))]),
    output_mtok=TieredPrices(base=usd("10"), tiers=[Tier(start=200_000, price=usd("15"))]),
)

ACME = Provider(
    id="acme",
    name="Acme",
    api_pattern="https://acme\\.example",
    pricing_urls=["https://acme.example/pricing"],
    model_match=ClauseStartsWith(starts_with="acme-"),
    models=[
        model_info(
            "acme-small",
            ModelPrice(
                input_mtok=usd("0.15"), cache_read_mtok=usd("0.075"), output_mtok=usd("0.6")
            ),
            "Rates verified on 2026-09-20; new rates on 2099-01-01, verified on 2099-01-01.",
        ),
        model_info("acme-long", TIERED),
        model_info("acme-embed", ModelPrice(input_mtok=usd("0.02"))),
        model_info("acme-free", ModelPrice(input_mtok=usd("0"), output_mtok=usd("0"))),
        model_info("acme-unpriced", ModelPrice()),
        model_info(
            "acme-search",
            ModelPrice(input_mtok=usd("1"), output_mtok=usd("1"), requests_kcount=usd("5")),
        ),
        model_info(
            "acme-changed",
            [
                ConditionalPrice(prices=ModelPrice(input_mtok=usd("4"), output_mtok=usd("8"))),
                ConditionalPrice(
                    constraint=StartDateConstraint(start_date=date(2026, 6, 1)),
                    prices=ModelPrice(input_mtok=usd("2"), output_mtok=usd("4")),
                ),
            ],
        ),
        model_info(
            "acme-night",
            [
                ConditionalPrice(prices=ModelPrice(input_mtok=usd("4"), output_mtok=usd("8"))),
                ConditionalPrice(
                    constraint=TimeOfDateConstraint(start_time=time(18), end_time=time(23)),
                    prices=ModelPrice(input_mtok=usd("1"), output_mtok=usd("2")),
                ),
            ],
        ),
        ModelInfo(
            id="regional.acme",
            match=ClauseEquals(equals="something else"),
            prices=ModelPrice(input_mtok=usd("11")),
        ),
        model_info("acme-v2:0", ModelPrice(input_mtok=usd("3"), output_mtok=usd("6"))),
        ModelInfo(
            id="acme-cached",
            match=ClauseEquals(equals="acme-cached"),
            prices=ModelPrice(
                input_mtok=usd("3"),
                cache_read_mtok=usd("0.3"),
                cache_write_mtok=usd("3.75"),
                cache_write_1h_mtok=usd("6"),
                output_mtok=usd("15"),
            ),
            price_variants=[
                PriceVariant(
                    when={"processing": "batch"},
                    prices=ModelPrice(
                        input_mtok=usd("1.5"), cache_read_mtok=usd("0.15"), output_mtok=usd("7.5")
                    ),
                ),
                PriceVariant(
                    when={"service_tier": "flex"},
                    prices=ModelPrice(input_mtok=usd("2")),
                    constraint=StartDateConstraint(start_date=date(2026, 11, 1)),
                ),
            ],
        ),
    ],
)
OTHER = Provider(
    id="other",
    name="Other",
    api_pattern="https://other\\.example",
    fallback_model_providers=["acme"],
    models=[model_info("hidden-1", ModelPrice(input_mtok=usd("7"), output_mtok=usd("9")))],
)


@pytest.fixture
def acme_list() -> Iterator[None]:
    set_custom_snapshot(DataSnapshot(providers=[ACME, OTHER], from_auto_update=False))
    yield
    set_custom_snapshot(None)


@pytest.mark.usefixtures("acme_list")
class TestLookUp:
    def test_rates_date_and_source(self) -> None:
        found = price("acme-small", on=DAY)
        assert (found.provider, found.model) == ("acme", "acme-small")
        assert found.usd_per_mtok_input == usd("0.15")
        assert found.usd_per_mtok_cached_input == usd("0.075")
        assert found.usd_per_mtok_output == usd("0.6")
        # The newest day that the list says it was checked; announced changes do not count.
        assert found.price_date == date(2026, 9, 20)
        assert found.valid_on == DAY
        for part in ("genai-prices", "2026-09-20", "2026-10-01", "https://acme.example/pricing"):
            assert part in found.source
        assert price(found.name, on=DAY) == found

    def test_provider_may_be_named_and_case_does_not_matter(self) -> None:
        assert price("ACME:Acme-Small", on=DAY) == price("acme-small", on=DAY)
        assert price("other:hidden-1", on=DAY).usd_per_mtok_input == 7

    def test_a_colon_in_a_model_id_is_not_a_provider(self) -> None:
        assert price("acme-v2:0", on=DAY).usd_per_mtok_input == 3
        assert price("acme:acme-v2:0", on=DAY).usd_per_mtok_input == 3

    def test_an_id_that_the_lists_rules_do_not_match_is_found(self) -> None:
        assert price("acme:regional.acme", on=DAY).usd_per_mtok_input == 11

    def test_a_reseller_says_whose_price_it_is(self) -> None:
        assert "taken over" in price("other:acme-small", on=DAY).source

    def test_cache_writes_have_rates_of_their_own(self) -> None:
        found = price("acme-cached", on=DAY)
        tier = found.tiers[0]
        assert (tier.cache_read_rate, tier.cache_write_rate, tier.cache_write_1h_rate) == (
            usd("0.3"),
            usd("3.75"),
            usd("6"),
        )
        # 600 at 3, 300 at 0.3, 100 at 3.75, per million.
        assert found.usd_for(1000, cached_tokens=300, cache_write_tokens=100) == usd("0.002265")
        # Not listed: the full rate.
        plain = price("acme-small", on=DAY)
        assert plain.usd_per_mtok_cache_write is None
        assert plain.tiers[0].cache_write_1h_rate == usd("0.15")

    def test_other_tariffs_are_named_behind_an_at(self) -> None:
        batch = price("acme:acme-cached@batch", on=DAY)
        assert (batch.usd_per_mtok_input, batch.usd_per_mtok_output) == (usd("1.5"), usd("7.5"))
        # What the variant does not list stays as it is.
        assert batch.usd_per_mtok_cache_write == usd("3.75")
        assert batch.tariff == "batch"
        assert batch.name == "acme:acme-cached@batch"
        assert "batch price of acme" in batch.source
        assert price(batch.name, on=DAY) == batch
        assert price("acme-cached@standard", on=DAY) == price("acme-cached", on=DAY)

    def test_a_tariff_that_is_not_listed_is_unknown(self) -> None:
        with pytest.raises(UnknownPriceError, match="no flex tariff") as caught:
            price("acme-cached@flex", on=DAY)
        assert caught.value.nearest == (
            "acme:acme-cached",
            "acme:acme-cached@batch",
            "acme:acme-cached@flex",
        )
        assert price("acme-cached@flex", on=date(2026, 11, 1)).usd_per_mtok_input == usd("2")
        with pytest.raises(UnknownPriceError, match="no batch tariff"):
            price("acme-small@batch", on=DAY)

    def test_the_day_decides_between_an_old_and_a_new_price(self) -> None:
        assert price("acme-changed", on=date(2026, 5, 31)).usd_per_mtok_input == 4
        assert price("acme-changed", on=date(2026, 6, 1)).usd_per_mtok_input == 2

    def test_a_price_by_time_of_day_is_the_one_at_noon_and_says_so(self) -> None:
        found = price("acme-night", on=DAY)
        assert found.usd_per_mtok_input == 4
        assert "12:00 UTC" in found.source

    @pytest.mark.parametrize("name", ["acme-free", "acme:acme-unpriced"])
    def test_no_input_price_is_unknown_and_never_zero(self, name: str) -> None:
        with pytest.raises(UnknownPriceError, match="without an input price") as caught:
            price(name, on=DAY)
        assert all("free" not in near and "unpriced" not in near for near in caught.value.nearest)

    @pytest.mark.parametrize(
        ("asked", "offered"),
        [
            ("acme-smal", "acme-small"),
            ("acme:smal", "acme:acme-small"),
            # Not found under a bare name, so it is offered in the form that works.
            ("hiden-1", "other:hidden-1"),
        ],
    )
    def test_an_unknown_name_offers_names_that_work(self, asked: str, offered: str) -> None:
        with pytest.raises(UnknownPriceError) as caught:
            price(asked, on=DAY)
        assert caught.value.nearest[0] == offered
        for near in caught.value.nearest:
            price(near, on=DAY)

    def test_a_list_that_is_too_old_is_warned_about(self) -> None:
        price("acme-small", on=date(2027, 3, 19))  # 180 days
        with pytest.warns(StalePriceWarning, match="2026-09-20"):
            price("acme-small", on=date(2027, 3, 20))

    def test_price_names_leave_out_what_has_no_price(self) -> None:
        names = price_names()
        assert "acme:acme-small" in names
        assert "acme:acme-free" not in names
        assert list(names) == sorted(names)


@pytest.mark.usefixtures("acme_list")
class TestAmounts:
    def test_input_output_and_cache(self) -> None:
        small = price("acme-small", on=DAY)
        # 1,000 x 0.15 + 500 x 0.60 = 450 millionths of a dollar
        assert small.usd_for(1000, 500) == usd("0.00045")
        # 400 x 0.15 + 600 x 0.075 = 105
        assert small.usd_for(1000, 0, cached_tokens=600) == usd("0.000105")

    @pytest.mark.parametrize(
        ("tokens", "expected"),
        [(200_000, "0.25"), (200_001, "0.5000025"), (400_000, "1")],
    )
    def test_a_tier_holds_for_all_tokens(self, tokens: int, expected: str) -> None:
        assert price("acme-long", on=DAY).usd_for(tokens, 0) == usd(expected)

    def test_output_is_dearer_after_a_long_prompt(self) -> None:
        long = price("acme-long", on=DAY)
        assert long.usd_for(200_000, 1000) - long.usd_for(200_000, 0) == usd("0.01")
        assert long.usd_for(200_001, 1000) - long.usd_for(200_001, 0) == usd("0.015")

    def test_tiers_are_listed(self) -> None:
        long = price("acme-long", on=DAY)
        assert long.is_tiered
        assert [t.above_input_tokens for t in long.tiers] == [0, 200_000]
        assert [t.usd_per_mtok_output for t in long.tiers] == [10, 15]
        assert long.tier_for(200_000) == long.tiers[0]
        assert long.tier_for(200_001) == long.tiers[1]

    def test_a_charge_per_request_counts_once_each(self) -> None:
        search = price("acme-search", on=DAY)
        assert search.usd_per_request == usd("0.005")
        assert search.usd_for(1000, 0) == usd("0.006")
        assert search.usd_for_lengths([1000, 2000], [2, 1]) == usd("0.019")

    def test_output_without_an_output_price_is_an_error(self) -> None:
        embed = price("acme-embed", on=DAY)
        assert embed.usd_for(1_000_000) == usd("0.02")
        with pytest.raises(UnknownPriceError, match="no output rate"):
            embed.usd_for(1000, 1)
        with pytest.raises(UnknownPriceError, match="no output rate"):
            embed.usd_for_lengths([1000], [1], 1)

    @pytest.mark.parametrize(
        ("tokens", "output", "cached"),
        [(-1, 0, 0), (10, -1, 0), (10, 0, 11), (10, 0, -1), (10, float("nan"), 0)],
    )
    def test_impossible_numbers_are_refused(self, tokens: int, output: float, cached: int) -> None:
        with pytest.raises(UsageError):
            price("acme-small", on=DAY).usd_for(tokens, output, cached_tokens=cached)

    def test_histogram_equals_the_sum_of_requests(self) -> None:
        @given(
            st.lists(
                st.tuples(st.integers(0, 500_000), st.integers(0, 50)), min_size=1, max_size=20
            ),
            st.integers(0, 5000),
            st.sampled_from(["acme-small", "acme-long", "acme-search"]),
        )
        def check(histogram: list[tuple[int, int]], output: int, name: str) -> None:
            found = price(name, on=DAY)
            one_by_one = sum(
                (n * found.usd_for(length, output) for length, n in histogram), start=Decimal(0)
            )
            lengths, counts = zip(*histogram, strict=True)
            assert found.usd_for_lengths(lengths, counts, output) == one_by_one

        check()


class TestGivenPrice:
    def test_input_alone(self) -> None:
        given_price = price("usd:0.40", on=DAY)
        # +10% of 100M tokens a day at $0.0004 per 1K.
        assert given_price.usd_for(10_000_000) == usd("4.00")
        assert given_price.usd_per_mtok_output is None
        assert given_price.price_date == DAY
        assert "given by the user" in given_price.source

    def test_input_and_output(self) -> None:
        assert price("USD:0.40/1.60").usd_for(1_000_000, 1_000_000) == usd("2.00")

    def test_cached_input_costs_the_full_rate_when_no_other_is_known(self) -> None:
        assert price("usd:2").usd_for(1_000_000, cached_tokens=500_000) == 2

    def test_its_name_names_it_again(self) -> None:
        given_price = price("usd:0.40/1.60", on=DAY)
        assert price(given_price.name, on=DAY) == given_price

    def test_output_without_an_output_rate_is_an_error(self) -> None:
        with pytest.raises(UnknownPriceError, match="usd:INPUT/OUTPUT"):
            price("usd:0.40").usd_for(10, 10)

    @pytest.mark.parametrize(
        "name", ["usd:", "usd:x", "usd:-1", "usd:0", "usd:1/", "usd:1/-1", "usd:nan", "usd:inf"]
    )
    def test_what_is_not_a_price_is_refused(self, name: str) -> None:
        with pytest.raises(UsageError, match="price"):
            price(name)


class TestInstalledList:
    """The list that is really installed: no figure is asserted, the arithmetic is."""

    def test_every_listed_name_can_be_looked_up_and_names_itself(self) -> None:
        names = price_names()
        assert len(names) > 500
        for name in names[::5]:  # a fifth: all take seconds
            found = price(name, on=date(2026, 11, 1))
            assert found.name == name
            assert found.usd_per_mtok_input > 0

    @settings(max_examples=60, deadline=None)
    @given(data=st.data())
    def test_every_price_equals_the_lists_own_calculation(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(price_names()))
        found = price(name, on=date(2026, 11, 1))
        tokens = data.draw(
            st.one_of(
                st.integers(0, 2_000_000),
                st.sampled_from([t.above_input_tokens + d for t in found.tiers for d in (0, 1)]),
            )
        )
        output = data.draw(st.integers(0, 10_000)) if found.usd_per_mtok_output is not None else 0
        assert found._list_price is not None
        by_list = found._list_price.calc_price(Usage(input_tokens=tokens, output_tokens=output))
        assert found.usd_for(tokens, output) == by_list["total_price"]
        assert found.usd_for_lengths([tokens], [3], output) == 3 * by_list["total_price"]
        read = data.draw(st.integers(0, tokens))
        written = data.draw(st.integers(0, tokens - read))
        usage = Usage(input_tokens=tokens, cache_read_tokens=read, cache_write_tokens=written)
        record = {"model": "m", "input_tokens": tokens, "output_tokens": 0}
        record |= {"cache_read_tokens": read, "cache_write_tokens": written}
        builder = LedgerBuilder(prices={"m": found})
        builder.add(usage_rows([record]))
        assert builder.build().usd == found._list_price.calc_price(usage)["total_price"]
