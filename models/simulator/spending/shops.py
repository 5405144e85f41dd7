"""The shops that each user goes to: their names and towns, and how the user pays there."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base import banks
from models.simulator.base.chance import Ints, Keys, hashed, uniform, weighted, whole
from models.simulator.base.lists import fill_names, shops, wordings
from models.simulator.people.people import Flags, town_names
from models.simulator.people.scene import Scene
from models.simulator.spending.habits import habits

CARD_SHARE = 0.55
"""Share of those who pay online without a payment service and then use a card; the others are debited."""
TERMINALS, TERMINAL_SHARES = ("SUMUP", "ZETTLE", "SQUARE"), (0.7, 0.25, 0.05)
PAYMENT_SERVICES = ("ADYEN", "STRIPE", "MOLLIE", "PAYONE", "UNZER", "AMAZON_PAY", "RIVERTY", "RATEPAY", "COMPUTOP")
PAYMENT_SERVICE_SHARE = 0.12
STORE_NUMBER_SHARE, STREET_SHARE = 0.8, 0.5
FOREIGN_RATES = {
    "USD": 1.09,
    "GBP": 0.85,
    "CHF": 0.95,
    "PLN": 4.3,
    "CZK": 25.0,
    "HUF": 395.0,
    "TRY": 36.0,
    "DKK": 7.46,
    "SEK": 11.3,
}
FOREIGN_RATES |= {"NOK": 11.6, "THB": 38.0}
"""Units of a currency for one euro."""
DOLLAR_SHOPS = (
    "OpenAI ChatGPT",
    "GitHub",
    "Namecheap",
    "DigitalOcean",
    "Cloudflare",
    "AliExpress",
    "Patreon",
    "Discogs",
    "Fiverr",
    "Upwork",
    "Alibaba",
    "Discord Nitro",
)
HALF_EURO_CATEGORIES = ("SHOPPING_BEAUTY", "MOBILITY_TAXI", "RECREATION_CULTURAL", "FAMILY_OTHER", "HEALTH_OTHERS")
FIVE_EURO_CATEGORIES = ("OTHER_DONATION", "BANKFINANCE_INVESTMENT", "MOBILITY_VEHICLEACQUISITION", "BILLS_MOBILE")
"""Categories that are paid in half euros, and in fives."""


def favourite_shops(scene: Scene, favourites: pl.DataFrame) -> pl.DataFrame:
    """The favourite shops with all properties that are the same for every purchase."""
    shop = shops()[favourites["shop"].cast(pl.UInt32)]
    who, key = favourites["who"].to_numpy(), favourites["key"].to_numpy()
    split = shop["split"].to_numpy()
    small = shop["name"].str.contains("{", literal=True).to_numpy()
    town = scene.group.towns_by_split[who, split]
    base = shop["number"].to_numpy()
    number = np.where(small, hashed(base, "in town", town * 4 + whole(key, "which in town", 0, 2)), base)
    here = town_names(np.where(small, town, scene.group.town[who]))
    invoice = shop["source"].is_in(["invoice", "trade_invoice"]).to_numpy()
    till = shop["source"].is_in(["till", "trade", "abroad"]).to_numpy()
    label = pl.select(pl.when(pl.Series(invoice)).then(shop["legal"]).otherwise(shop["name"])).to_series()
    party = fill_names(scene.lists, label, number, split, here, shop["words"])
    kind, via = _methods(scene, shop, who, key, till, invoice)
    card, debit, direct = kind == "CARD", kind == "DIRECTDEBIT", via == ""
    iban, bic = banks.accounts(banks.anywhere(number), number)
    currency = (
        pl.when(shop["name"].is_in(DOLLAR_SHOPS) & pl.Series(card))
        .then(pl.lit("USD"))
        .when(shop["currency"] != "EUR")
        .then(shop["currency"])
    )
    return pl.select(
        shop["sigma"],
        shop["category"],
        shop["freelancer"],
        shop["brand"],
        favourites["key"],
        median=shop["median"] / shop["currency"].replace_strict(FOREIGN_RATES, default=1.0, return_dtype=pl.Float64),
        merchant_split=shop["split"],
        party=pl.when(pl.Series(debit & direct)).then(shop["legal"]).otherwise(party),
        kind=pl.Series(kind, dtype=pl.String),
        card=pl.Series(card),
        debit=pl.Series(debit),
        till=pl.Series(till),
        paypal=pl.Series(via == "PAYPAL"),
        via=pl.when(pl.Series(~direct)).then(pl.Series(via, dtype=pl.String)),
        iban=pl.when(pl.Series(~card & direct)).then(iban),
        bic=pl.when(pl.Series(~card & direct)).then(bic),
        creditor=pl.when(pl.Series(debit & direct)).then(banks.creditor_ids(number)),
        mandate=pl.when(pl.Series(debit)).then(pl.Series(hashed(key, "mandate") % np.uint64(10**9)).cast(pl.String)),
        city=pl.when(shop["place"] != "").then(shop["place"]).when(pl.Series(till)).then(here),
        street=pl.when(pl.Series(till & (uniform(key, "street") < STREET_SHARE))).then(scene.lists.name("street", number, split)),
        store=pl.when(pl.Series(till & ~small & (uniform(key, "store") < STORE_NUMBER_SHARE))).then(
            pl.Series(whole(key, "store number", 100, 9999)).cast(pl.String)
        ),
        currency=pl.when(currency != "").then(currency),
        words=_kinds(shop, favourites["habit"].to_numpy(), card, invoice),
        even=shop["category"].is_in(HALF_EURO_CATEGORIES),
        fives=shop["category"].is_in(FIVE_EURO_CATEGORIES)
        | ((shop["category"] == "RECREATION_OTHER") & (shop["source"] == "online")),
        exact=shop["source"] != "trade_invoice",
        online=shop["source"] == "online",
    )


def _methods(
    scene: Scene, shop: pl.DataFrame, who: Ints, key: Keys, till: Flags, invoice: Flags
) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """How a user pays in a shop (channel), and through whom."""
    liking = 0.4 + 1.2 * scene.group.chance("likes paypal")[who]
    paypal = np.minimum(shop["paypal"].to_numpy() * liking, 0.9)
    klarna = paypal + shop["klarna"].to_numpy()
    draw, second = uniform(key, "pays"), uniform(key, "pays how")
    online = ~till & ~invoice
    amazon = shop["legal"].str.starts_with("AMAZON").to_numpy()
    direct = np.where(amazon, second < 0.06, second < CARD_SHARE)
    kind = np.select(
        [till, invoice, draw < paypal, draw < klarna, direct],
        ["CARD", "TRANSFER", "DIRECTDEBIT", np.where(second < 0.5, "DIRECTDEBIT", "TRANSFER"), "CARD"],
        "DIRECTDEBIT",
    )
    terminal = np.array(TERMINALS)[weighted(uniform(key, "terminal"), np.array(TERMINAL_SHARES))]
    service = np.array(PAYMENT_SERVICES)[whole(key, "service", 0, len(PAYMENT_SERVICES) - 1)]
    uses_terminal = till & (uniform(key, "small terminal") < shop["terminal"].to_numpy())
    uses_service = online & (draw >= klarna) & ~amazon & (uniform(key, "with service") < PAYMENT_SERVICE_SHARE)
    via = np.select(
        [uses_terminal, online & (draw < paypal), online & (draw < klarna), uses_service],
        [terminal, "PAYPAL", "KLARNA", service],
        "",
    )
    return kind, via


def kinds_of_wordings() -> list[str]:
    """All kinds of wordings; their places are the numbers in `words`, where -1 is silence."""
    return wordings()["kind"].unique(maintain_order=True).to_list()


def _kinds(shop: pl.DataFrame, habit: Ints, card: Flags, invoice: Flags) -> pl.Series:
    """The kind of purpose: card lines have none of their own, invoices and orders do."""
    of_habit = pl.Series([each.wording for each in habits()])[pl.Series(habit, dtype=pl.UInt32)]
    default = pl.when(pl.Series(invoice)).then(pl.lit("invoice")).otherwise(pl.lit("order"))
    kind = pl.when(of_habit != "").then(of_habit).when(shop["wording"] != "").then(shop["wording"]).otherwise(default)
    numbers = {name: place for place, name in enumerate(kinds_of_wordings())}
    codes = pl.select(kind.replace_strict(numbers, return_dtype=pl.Int64)).to_series()
    return codes.zip_with(pl.Series(~card), pl.Series([-1]).new_from_index(0, len(codes)))
