"""The simulation from beginning to end: people, lives, contracts, spending, the banks' texts, and the truths."""

from datetime import date, timedelta
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import polars as pl

from analytics.frames import PRODUCTS, TRANSACTIONS, checked
from models.simulator.base.banks import FORMATS
from models.simulator.base.calendar import EPOCH, Grid
from models.simulator.base.corpus import Corpus
from models.simulator.base.lists import allowed_lists
from models.simulator.base.schemas import ACTS, TRUTH, USERS
from models.simulator.base.splits import SPLITS
from models.simulator.bookings.bank import bank_bookings, foreign_fees, with_returned_debits
from models.simulator.bookings.freelance import freelance_revenues
from models.simulator.bookings.freelancer_tags import freelancer_item
from models.simulator.bookings.life_events import life_event_bookings
from models.simulator.bookings.own_transfers import own_transfers, settlements_of_cards
from models.simulator.bookings.private import private_money
from models.simulator.bookings.purposes import purposes
from models.simulator.contracts.holdings import holdings
from models.simulator.contracts.payments import payments, with_counterparties
from models.simulator.contracts.schedule import schedule
from models.simulator.contracts.settlements import irregular_payments
from models.simulator.people.people import PRODUCTS_BY_ROLE, SECOND, People, Setting
from models.simulator.people.scene import Scene, scene_of
from models.simulator.renderers.render import render
from models.simulator.spending.purchases import purchases
from models.simulator.truth.contracts import contract_truth
from models.simulator.truth.life_events import event_truth
from models.simulator.truth.life_stages import stage_truth

START = date(2023, 7, 1)
MONTHS = 39
USERS_PER_BLOCK = 500
"""Users are simulated in blocks of this size; the result does not depend on it."""
MIN_MONTHS = 12


def simulate(
    users: int,
    seed: int,
    start: date = START,
    months: int = MONTHS,
    splits: tuple[str, ...] = SPLITS,
    formats: tuple[str, ...] = FORMATS,
    first_user: int = 0,
) -> Corpus:
    """The users from `first_user` on. Merchants, names and wordings come from the `splits`, accounts speak the `formats`.

    The last three of the months lie after `as_of`; their bookings are marked in the truth as future.
    """
    if months < MIN_MONTHS:
        raise ValueError(f"at least {MIN_MONTHS} months are needed")
    setting = Setting(seed, Grid(start.replace(day=1), months), allowed_lists(tuple(splits)), tuple(formats))
    blocks = range(first_user, first_user + users, USERS_PER_BLOCK)
    parts = [_block(setting, first, min(USERS_PER_BLOCK, first_user + users - first)) for first in blocks]
    return concat_blocks(parts, setting)


class BankSide(NamedTuple):
    """What the banks of simulated users know of them."""

    transactions: pl.DataFrame
    products: pl.DataFrame


def simulate_banks(users: int, seed: int, start: date, months: int, first_user: int, worded: tuple[date, date]) -> BankSide:
    """The transactions and products that `simulate` would return, without truths and as one block. Only transactions booked from
    the first to the last of two days have texts, which take most of the time.
    """
    setting = Setting(seed, Grid(start.replace(day=1), months), allowed_lists(SPLITS), FORMATS)
    scene = scene_of(setting, first_user, users)
    contracts = with_counterparties(scene, holdings(scene))
    frame = bookings_of(scene, contracts, schedule(scene, contracts))
    acts = _acts(scene.group, frame)
    texts = _texts(acts.filter(pl.col("booked_on").is_between(*worded)), seed)
    all_texts = acts.select("row").join(texts, on="row", how="left", maintain_order="left")
    return BankSide(_transactions(frame, acts, all_texts), _products(scene.group))


def concat_blocks(parts: list[Corpus], setting: Setting) -> Corpus:
    """Blocks one after the other, with rows numbered through."""
    offsets = np.cumsum([0, *(part.truth.height for part in parts)])
    truths = [
        part.truth.with_columns((pl.col("row", "refund_of") + pl.lit(int(offset), pl.UInt32)).cast(pl.UInt32))
        for part, offset in zip(parts, offsets, strict=False)
    ]
    frames = {
        name: pl.concat([getattr(part, name) for part in parts])
        for name in ("transactions", "products", "contracts", "events", "stages", "users", "texts")
    }
    return Corpus(**frames, truth=pl.concat(truths), as_of=_date(setting.grid.as_of))


def _date(day: int) -> date:
    return EPOCH + timedelta(days=day)


def _block(setting: Setting, first: int, count: int) -> Corpus:
    scene = scene_of(setting, first, count)
    contracts = with_counterparties(scene, holdings(scene))
    slots = schedule(scene, contracts)
    frame = bookings_of(scene, contracts, slots)
    acts = _acts(scene.group, frame)
    texts = _texts(acts, setting.seed)
    return Corpus(
        transactions=_transactions(frame, acts, texts),
        products=_products(scene.group),
        truth=truth_of(scene, frame),
        contracts=contract_truth(scene, contracts, slots, frame),
        events=event_truth(scene, contracts, frame),
        stages=stage_truth(scene),
        users=users_of(scene),
        texts=texts.select(name for name in texts.columns if name.startswith("true_")),
        as_of=_date(setting.grid.as_of),
    )


def bookings_of(scene: Scene, contracts: pl.DataFrame, slots: pl.DataFrame) -> pl.DataFrame:
    """All bookings of a scene in their final order, before rendering."""
    contract_payments = payments(scene, contracts, slots)
    drafts = [
        contract_payments,
        irregular_payments(scene, contracts, contract_payments),
        purchases(scene),
        *private_money(scene),
        *own_transfers(scene),
        *bank_bookings(scene),
        *freelance_revenues(scene),
        *life_event_bookings(scene, contracts),
    ]
    rows = with_returned_debits(scene, pl.concat(drafts))
    rows = pl.concat([rows, foreign_fees(scene, rows)])
    return _in_final_order(scene, pl.concat([rows, *settlements_of_cards(scene, rows)]))


def _in_final_order(scene: Scene, frame: pl.DataFrame) -> pl.DataFrame:
    """All bookings inside the users' histories in their final order, with their places among the user's and among all."""
    start_day = pl.Series(scene.group.start)[frame["who"].cast(pl.UInt32)]
    frame = frame.filter((frame["day"] >= start_day) & (frame["day"] < scene.grid.end_day))
    order = (pl.col("who").cast(pl.Int64) * 8 + pl.col("account")) * 2**20 + pl.col("day")
    frame = frame.sort(order, "key", "copy")
    frame = frame.with_row_index("row").with_columns(
        place=pl.int_range(pl.len(), dtype=pl.UInt32).over("who"),
        user=(pl.col("who") + int(scene.group.number[0])).cast(pl.UInt32),
        effective=pl.coalesce("effective", "category"),
    )
    return frame.with_columns(
        purpose=purposes(frame, scene.group), id=pl.concat_str(pl.col("user").cast(pl.String).str.zfill(7), pl.lit("-"), "place")
    )


def _acts(group: People, frame: pl.DataFrame) -> pl.DataFrame:
    acts = frame.with_columns(
        format=_formats(group, frame),
        booked_on=pl.col("day").cast(pl.Date),
        value_on=pl.col("value").cast(pl.Date),
        amount_cents="cents",
        party_iban="iban",
        party_bic="bic",
        creditor_id="creditor",
        purpose_code="code",
        currency_original="currency",
        amount_original_cents="original",
        booked_at_minute="minute",
    )
    return checked(acts.select(ACTS.names()), ACTS)


def _formats(group: People, frame: pl.DataFrame) -> pl.Series:
    """The format of each booking's account."""
    accounts = pl.Series(group.formats.ravel().tolist(), dtype=pl.String)
    return accounts[frame.select((pl.col("who") * group.formats.shape[1] + pl.col("account")).cast(pl.UInt32)).to_series()]


def _texts(acts: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The banks' texts. A bank alters all texts of a sender in the same way, so noise depends on sender and bank.

    In texts that people type themselves it depends on the user too.
    """
    by_hand = pl.col("kind").is_in(["TRANSFER", "STANDINGORDER"]) & pl.col("creditor_id").is_null()
    noise_user = pl.when(by_hand).then(pl.col("user")).otherwise(0)
    parts = [pl.col(name).fill_null("") for name in ("format", "kind", "party", "store", "city", "via", "purpose_code")]
    senders = acts.select(sender=pl.concat_str(*parts, noise_user.cast(pl.String), separator="|"))
    distinct = senders.unique().with_columns(
        row=pl.col("sender").map_batches(lambda names: pl.Series(map(_number, names), dtype=pl.UInt32), pl.UInt32)
    )
    numbers = senders.join(distinct, on="sender", how="left", maintain_order="left")["row"]
    return render(acts.with_columns(numbers), seed).with_columns(acts["row"])


def _number(name: str) -> int:
    """A number for a name, the same on every machine."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "big")


def _transactions(frame: pl.DataFrame, acts: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    product = pl.concat_str(
        pl.lit("u"), pl.col("user").cast(pl.String).str.zfill(7), pl.lit("-"), pl.col("account").cast(pl.String)
    )
    user = pl.concat_str(pl.lit("u"), pl.col("user").cast(pl.String).str.zfill(7))
    visible_texts = texts.select(name for name in TRANSACTIONS.names() if name in texts.columns)
    is_copy = pl.Series(frame["copy"])
    if is_copy.any():
        visible_texts = visible_texts.with_columns(pl.when(is_copy).then(pl.all().shift(1)).otherwise(pl.all()))
    names = frame.select("id", product=product, user=user)
    rows = pl.concat([names, acts.select("booked_on", "value_on", "amount_cents", "pending"), visible_texts], how="horizontal")
    return checked(rows.select(TRANSACTIONS.names()), TRANSACTIONS)


def _products(group: People) -> pl.DataFrame:
    who, role = np.nonzero(group.roles)
    number = pl.Series(group.number[who]).cast(pl.String).str.zfill(7)
    ibans = np.stack([group.ibans[f"iban{role}"].to_numpy() for role in range(len(PRODUCTS_BY_ROLE))], 1)
    frame = pl.DataFrame(
        {
            "user": "u" + number,
            "product": "u" + number + "-" + pl.Series(role).cast(pl.String),
            "category": pl.Series(np.array(PRODUCTS_BY_ROLE)[role], dtype=pl.String),
            "iban": pl.Series(ibans[who, role].tolist(), dtype=pl.String),
            "owner_name": group.names["full"][pl.Series(who, dtype=pl.UInt32)],
            "balance_cents": pl.repeat(None, who.size, dtype=pl.Int64, eager=True),
        }
    )
    return checked(frame, PRODUCTS)


def truth_of(scene: Scene, frame: pl.DataFrame) -> pl.DataFrame:
    """The truth about each booking (frame `TRUTH`)."""
    names = pl.Series(SPLITS, dtype=pl.String)
    bought = frame.filter(~pl.col("copy")).select(refund="key", refund_of="row")
    frame = frame.join(bought, on="refund", how="left", maintain_order="left")
    is_freelancer = pl.Series(scene.group.has("FREELANCER")[frame["who"].to_numpy()])
    frame = frame.with_columns(is_business_account=is_freelancer & (pl.col("account") == SECOND))
    truth = frame.with_columns(
        effective_category="effective",
        freelancer=freelancer_item(),
        contract_id="contract",
        pair_id=pl.when(pl.col("pair").is_not_null()).then(pl.col("pair").rank("dense").over("who")).cast(pl.UInt32),
        merchant_split=names[frame["merchant_split"].cast(pl.UInt32)],
        wording_split=names[frame["wording_split"].cast(pl.UInt32)],
        format=_formats(scene.group, frame),
        future=pl.col("day") > scene.grid.as_of,
    )
    return checked(truth.select(TRUTH.names()), TRUTH)


def users_of(scene: Scene) -> pl.DataFrame:
    """Who is simulated."""
    frame = pl.DataFrame(
        {
            "user": scene.group.number.astype(np.uint32),
            "persona": pl.Series(scene.group.persona.astype(str), dtype=pl.String),
            "income_cents": (scene.group.income * 100).astype(np.int64),
            "income_class": scene.group.income_class.astype(np.uint8),
            "start_on": pl.Series(scene.group.start).cast(pl.Date),
            "as_of": pl.Series(np.full(scene.group.size, scene.grid.as_of, np.int32)).cast(pl.Date),
        }
    )
    return checked(frame, USERS)
