"""The lists: long enough, divided fairly, and no family on two sides."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from schwifty import IBAN

from models.simulator.base import banks, lists
from models.simulator.base.chance import hashed, user_keys
from models.simulator.base.lists import allowed_lists
from models.simulator.base.splits import SPLITS, split_of_families
from models.simulator.bookings.purposes import SLOT, SLOTS
from models.simulator.contracts.templates import templates
from models.simulator.spending.habits import habits
from models.simulator.spending.shops import kinds_of_wordings


def test_the_lists_are_as_long_as_a_country_needs() -> None:
    assert lists.merchants().filter(pl.col("brand") != "").height >= 1_500
    assert lists.table("trades")["pattern"].n_unique() >= 150
    assert len(templates()) >= 120
    fewest = lists.wordings().group_by("kind").len()["len"].min()
    assert isinstance(fewest, int)
    assert fewest >= 6
    counts = dict(lists.wordings().group_by("kind").len().iter_rows())
    assert all(counts[kind] >= 14 for kind in ("rent", "salary", "private_out", "private_in", "client_invoice"))


def test_no_family_is_on_two_sides_of_a_split() -> None:
    both = pl.concat([lists.merchants().select("family", "split"), lists.parties().select("family", "split")])
    assert both.group_by("family").agg(pl.col("split").n_unique())["split"].max() == 1


@pytest.mark.parametrize("kind", ["surname", "female", "male", "street"])
def test_names_of_the_splits_are_different_names(kind: str) -> None:
    frame = lists.names(kind)
    assert frame["text"].n_unique() == frame.height
    shares = [(frame["split"] == code).mean() for code in range(len(SPLITS))]
    assert shares == pytest.approx([0.6, 0.1, 0.3], abs=0.02)


def test_entries_are_divided_six_to_one_to_three() -> None:
    for frame in (lists.merchants(), lists.wordings(), lists.parties()):
        shares = [(frame["split"] == code).mean() for code in range(len(SPLITS))]
        assert shares == pytest.approx([0.6, 0.1, 0.3], abs=0.06)


def test_a_new_entry_leaves_most_others_where_they_are() -> None:
    names = [f"Laden {number}" for number in range(100)]
    before = split_of_families(["shop"] * 100, names)
    after = split_of_families(["shop"] * 101, [*names, "Neuer Laden"])[:100]
    assert (before != after).sum() <= 2


def test_a_mended_category_moves_nobody_to_another_split() -> None:
    merchants = lists.merchants()
    mended = merchants.filter(pl.col("name").is_in(list(lists.SPLIT_CATEGORIES)))
    assert dict(mended.select("name", "group").iter_rows()) == lists.SPLIT_CATEGORIES
    assert mended.filter(pl.col("group") == pl.col("category")).is_empty()
    others = merchants.filter(~pl.col("name").is_in(list(lists.SPLIT_CATEGORIES)))
    assert others.filter(pl.col("group") != pl.col("category")).is_empty()


def test_cash_that_is_paid_in_at_a_counter_does_not_speak_of_a_machine() -> None:
    texts = dict(lists.wordings().group_by("kind").agg(pl.col("text").str.to_lowercase().str.join(" ")).iter_rows())
    machine, counter = texts["cash_in_machine"], texts["cash_in_counter"]
    assert not [word for word in ("automat", "sb-", "selbst") if word in counter]
    assert not [word for word in ("kasse", "schalter", "filiale") if word in machine]


def test_every_pool_has_somebody_who_trains() -> None:
    assert lists.parties().group_by("pool").agg(pl.col("split").min())["split"].max() == 0
    assert lists.wordings().group_by("kind").agg(pl.col("split").min())["split"].max() == 0


def test_templates_and_habits_name_only_what_there_is() -> None:
    shop = allowed_lists(SPLITS)
    for template in templates():
        assert shop.party(template.pool).frame.height, template.name
        assert template.wording in kinds_of_wordings(), template.name
    for habit in habits():
        for source, _ in habit.sources:
            assert shop.shop(habit.category, source, habit.only, habit.match).frame.height, habit.name


def test_every_slot_of_a_wording_can_be_filled() -> None:
    for text in lists.wordings()["text"].to_list():
        assert all(name in SLOTS or name[0].isupper() for name in SLOT.findall(text)), text
        assert SLOT.sub("", text).count("{") == 0, text


def test_accounts_and_creditor_ids_have_the_right_check_digits() -> None:
    keys = hashed(user_keys(1, np.arange(300)), "party")
    ibans, bics = banks.accounts(banks.anywhere(keys), keys)
    for iban, bic in zip(ibans, bics, strict=True):
        assert IBAN(iban).country_code == "DE"
        assert len(bic) == 11
    for number in banks.creditor_ids(keys):
        rest = int("".join(str(int(letter, 36)) for letter in number[7:] + number[:4]))
        assert rest % 97 == 1


def test_every_file_and_column_of_the_lists_is_explained() -> None:
    folder = Path(lists.__file__).parent / "data"
    chapters = dict(re.findall(r"^## `(\w+)\.csv`.*?\n(.*?)(?=^## |\Z)", (folder / "README.md").read_text(), re.M | re.S))
    for path in folder.glob("*.csv"):
        cells = re.findall(r"^\| (`.*?`) \|", chapters[path.stem], re.M)
        assert [name for cell in cells for name in re.findall(r"`(\w+)`", cell)] != []
        assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == set(lists.table(path.stem).columns)
