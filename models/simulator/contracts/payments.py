"""Contracts as bookings: counterparty, channel, account and wording of each payment, and the truth about it."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base import banks
from models.simulator.base.chance import Ints, hashed, uniform
from models.simulator.base.draft import draft
from models.simulator.base.lists import fill_names, wordings
from models.simulator.contracts.holdings import WEEKLY_PERIODS
from models.simulator.contracts.templates import templates
from models.simulator.people.people import CARD, CURRENT, DEPOT, SECOND, Flags, town_names
from models.simulator.people.scene import Scene

SURNAME_SHARED = ("parents", "child_person", "child_savings")
ULTIMATE_SHARE = 0.025
CODE_SHARE = 0.6
"""The share of payers that set a purpose code."""
PRIVATE_HEALTH_CENTS = 15_000
INSURANCE_BY_LINE = {
    "pc": "OTHER_OTHER",
    "life": "LIFE_OTHER",
    "legal": "SPECIAL_LEGAL",
    "pet": "SPECIAL_PET",
    "travel": "TRAVEL_OTHER",
    "device": "SPECIAL_ELECTRONICS",
    "deposit": "HOME_RENTDEPOSIT",
    "car": "VEHICLE_CAR",
    "bicycle": "VEHICLE_BICYCLE",
    "warranty": "VEHICLE_WARRANTY",
    "statutory": "HEALTH_STATUTORY",
}
"""The insurance type by the insurer's line of business, where the purpose names no product."""
SUBCATEGORY_BY_DIVISION = {"LIFE": "PROVISIONARY"}
"""Divisions whose subcategory has another name."""


def with_counterparties(scene: Scene, contracts: pl.DataFrame) -> pl.DataFrame:
    """The contracts with names and accounts of their counterparties, and with the truth about them."""
    who = contracts["who"].to_numpy()
    split = contracts["merchant_split"].to_numpy()
    pool = pl.Series([template.pool for template in templates()])[contracts["template"].cast(pl.UInt32)]
    names = scene.group.names[pl.Series(who, dtype=pl.UInt32)]
    pattern = _family_names(contracts["party"], pool, names)
    number = contracts["party_number"].to_numpy()
    town = town_names(scene.group.towns_by_split[who, split])
    party = fill_names(scene.lists, pattern, number, split, town, contracts["party_words"])
    iban, bic = banks.accounts(banks.anywhere(number), number)
    is_own_account = (contracts["party"] == "{self}").to_numpy()
    elsewhere = banks.accounts(
        banks.of_format(np.full(who.size, "ing"), number), hashed(contracts["number"].to_numpy(), "own elsewhere")
    )
    contracts = contracts.with_columns(
        party=party,
        iban=elsewhere[0].zip_with(pl.Series(is_own_account), iban),
        bic=elsewhere[1].zip_with(pl.Series(is_own_account), bic),
        creditor=banks.creditor_ids(number),
        mandate=_mandates(contracts["number"].to_numpy()),
        merchant_split=pl.Series(np.where(is_own_account, scene.group.split[who], split), dtype=pl.UInt8),
        word=_words(contracts, names),
    )
    return _with_truth(contracts)


def _family_names(patterns: pl.Series, pool: pl.Series, names: pl.DataFrame) -> pl.Series:
    """Parents and children bear the user's name; the partner, the user and the user's bank are themselves."""
    frame = pl.DataFrame({"p": patterns, "pool": pool, **{name: names[name] for name in ("last", "full", "partner", "bank")}})
    shared = pl.col("p").str.replace("{N}", pl.col("last"), literal=True).str.replace("{N}", pl.col("last"), literal=True)
    return frame.select(
        pl.when(pl.col("pool").is_in(SURNAME_SHARED))
        .then(shared)
        .when(pl.col("pool") == "partner")
        .then("partner")
        .when(pl.col("p") == "{self}")
        .then("full")
        .when(pl.col("p") == "{bank}")
        .then("bank")
        .otherwise("p")
    ).to_series()


def _words(contracts: pl.DataFrame, names: pl.DataFrame) -> pl.Series:
    """The product's word, or the name of the child that a contract is about."""
    child = (contracts["contract"].to_numpy() % 8) // 2
    kita = np.array([template.spans[0].startswith("kita") for template in templates()])[contracts["template"].to_numpy()]
    frame = pl.DataFrame(
        {"word": contracts["word"], "place": child, "kita": kita, **{f"child{n}": names[f"child{n}"] for n in range(3)}}
    )
    child_name = pl.when(pl.col("place") == 0).then("child0").when(pl.col("place") == 1).then("child1").otherwise("child2")
    return frame.select(pl.when("kita").then(child_name).otherwise("word")).to_series()


def _mandates(number: NDArray[np.uint64]) -> pl.Series:
    """Mandate references in four common shapes."""
    digits = pl.Series(hashed(number, "mandate") % np.uint64(10**9)).cast(pl.String).str.zfill(9)
    shape = pl.Series(hashed(number, "mandate shape") % np.uint64(4)).cast(pl.Int64)
    frame = pl.DataFrame({"d": digits, "s": shape})
    return frame.select(
        pl.when(pl.col("s") == 0)
        .then("d")
        .when(pl.col("s") == 1)
        .then(pl.concat_str(pl.lit("M"), pl.col("d").str.slice(0, 7)))
        .when(pl.col("s") == 2)
        .then(pl.concat_str(pl.lit("MREF-"), pl.col("d").str.slice(0, 6), pl.lit("-1")))
        .otherwise(pl.concat_str(pl.lit("SEPA"), "d", pl.lit("0001")))
    ).to_series()


def _with_truth(contracts: pl.DataFrame) -> pl.DataFrame:
    """With category and insurance: the template's, unless the wording has its own or hides the product."""
    facts = pl.DataFrame(
        {
            "template": np.arange(len(templates())),
            "t_category": [t.category for t in templates()],
            "t_insurance": [t.insurance for t in templates()],
            "t_freelancer": [t.freelancer for t in templates()],
            "code": [t.code or None for t in templates()],
        }
    )
    wording_facts = wordings().select("number", "shows", said="category").rename({"number": "wording"})
    contracts = contracts.join(facts, on="template", how="left", maintain_order="left").join(
        wording_facts, on="wording", how="left", maintain_order="left"
    )
    monthly = pl.col("euros") * 100 / pl.when(pl.col("period") < WEEKLY_PERIODS).then("period").otherwise(1)
    by_line = (
        pl.when(pl.col("line") == "health")
        .then(pl.when(monthly >= PRIVATE_HEALTH_CENTS).then(pl.lit("HEALTH_PRIVATE")).otherwise(pl.lit("HEALTH_SUPPLEMENTARY")))
        .otherwise(pl.col("line").replace_strict(INSURANCE_BY_LINE, default="OTHER_OTHER"))
    )
    hidden = (pl.col("shows") == "none") & (pl.col("t_insurance") != "")
    insurance = (
        pl.when(hidden).then(by_line).when(pl.col("t_insurance") == "").then(pl.lit("UNRELATED_OTHER")).otherwise("t_insurance")
    )
    contracts = contracts.with_columns(insurance=insurance)
    division = pl.col("insurance").str.split("_").list.first().replace(SUBCATEGORY_BY_DIVISION)
    return contracts.with_columns(
        category=pl.when(pl.col("t_insurance") != "")
        .then(pl.concat_str(pl.lit("INSURANCE_"), division))
        .when(pl.col("said").fill_null("") != "")
        .then("said")
        .otherwise("t_category"),
        freelancer=pl.when(pl.col("t_freelancer") != "").then("t_freelancer").otherwise("party_freelancer"),
    )


def payments(scene: Scene, contracts: pl.DataFrame, slots: pl.DataFrame) -> pl.DataFrame:
    """A draft of every payment until the simulation ends."""
    slots = slots.filter(pl.col("day") < scene.grid.end_day)
    position = slots["contract_row"].to_numpy().astype(np.int64)
    contract_of = contracts[pl.Series(position, dtype=pl.UInt32)]
    key = hashed(contract_of["number"].to_numpy(), "payment", slots["day"].to_numpy())
    card, debit = (contract_of["kind"] == "CARD").to_numpy(), (contract_of["kind"] == "DIRECTDEBIT").to_numpy()
    paypal = (contract_of["via"] != "").to_numpy()
    frame = contract_of.select(
        "who",
        "number",
        "kind",
        "wording",
        "word",
        "brand",
        "category",
        "insurance",
        "freelancer",
        "contract",
        "merchant_split",
        "wording_split",
    ).with_columns(
        slots["day"],
        slots["cents"],
        slots["n"],
        slots["from_day"],
        slots["to_day"],
        of=contract_of["terms"],
        key=pl.Series(key),
        account=pl.Series(accounts(scene, contracts, position, slots["day"].to_numpy(), card), dtype=pl.UInt8),
        party=_unless(pl.Series(card | paypal) & (contract_of["brand"] != ""), contract_of["party"], contract_of["brand"]),
        iban=_unless(pl.Series(card | paypal) | (contract_of["kind"] == "FEE"), contract_of["iban"]),
        bic=_unless(pl.Series(card | paypal) | (contract_of["kind"] == "FEE"), contract_of["bic"]),
        creditor=_unless(pl.Series(~debit | paypal), contract_of["creditor"]),
        mandate=_unless(pl.Series(~debit), contract_of["mandate"]),
        code=_unless(pl.Series(uniform(contract_of["number"].to_numpy(), "tells code") > CODE_SHARE), contract_of["code"]),
        end_to_end=_unless(pl.Series(~debit), pl.Series(hashed(key, "end to end") % np.uint64(10**12)).cast(pl.String)),
        via=_unless(pl.Series(~paypal), contract_of["via"]),
        ultimate=_ultimates(scene, contract_of, card | paypal),
        regular=pl.lit(True),
        minute=pl.Series(np.where(card, (uniform(key, "minute") * 1439).astype(np.int64), 0)),
    )
    return draft(frame)


def _ultimates(scene: Scene, own: pl.DataFrame, silent: Flags) -> pl.Series:
    """The names of ultimate parties: owners behind managers, relatives behind payers."""
    number = own["number"].to_numpy()
    first = scene.lists.name("female", hashed(number, "ultimate"), own["merchant_split"].to_numpy())
    last = scene.lists.name("surname", hashed(number, "ultimate"), own["merchant_split"].to_numpy())
    return _unless(pl.Series(silent | (uniform(number, "has ultimate") >= ULTIMATE_SHARE)), first + " " + last)


def _unless(mask: pl.Series, values: pl.Series, other: pl.Series | None = None) -> pl.Series:
    """The values, replaced by `other` (or null) where the mask is true."""
    replacement = other if other is not None else pl.Series([None], dtype=values.dtype).new_from_index(0, len(values))
    return replacement.zip_with(mask, values)


def accounts(scene: Scene, contracts: pl.DataFrame, position: Ints, day: Ints, card: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """The account of each payment: a business has its own, after a switch it is the new one, and some pay by credit card."""
    who = contracts["who"].to_numpy()[position]
    business = np.array([t.spans[0] in ("freelance", "employer") for t in templates()])[
        contracts["template"].to_numpy()[position]
    ]
    second = scene.group.roles[who, SECOND] & (
        business & scene.group.has("FREELANCER")[who] | (day >= scene.lives.days["account_switch"][who])
    )
    depot = np.array([t.spans[0] == "depot" for t in templates()])[contracts["template"].to_numpy()[position]]
    on_card = card & scene.group.roles[who, CARD] & (uniform(contracts["number"].to_numpy()[position], "on card") < 0.6)
    return np.select([depot, on_card, second], [DEPOT, CARD, SECOND], CURRENT).astype(np.uint8)
