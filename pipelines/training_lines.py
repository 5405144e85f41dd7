"""What people have corrected, as labelled lines to learn from: choices for bookings, and rules for counterparties.

Lines are read of tenants that consent only (`Tenant.learns`). Of a booking only its normalised line is kept: plain words without
digits. Two sets are made of them:

- for the model of all tenants (`shared_lines`): without counterparties that may be private persons, and without merchants that
  the evaluation needs;
- for a tenant's own model (`tenant_lines`): all lines of the tenant, which never leave it.
"""

from uuid import UUID

import polars as pl

from analytics import knowledge
from analytics.bank_text import lines
from analytics.bank_text.channels import Channel
from analytics.frames import checked
from analytics.tagging import partners
from analytics.tagging.line_facts import add_facts
from analytics.tagging.tag import Tagger
from analytics.trees import tree
from models import registry
from models.categoriser.features import hinted
from models.evaluation import tagger
from models.training.train import EXAMPLES, from_text_alone
from warehouse.postgres.database import Owner
from warehouse.stores import choices, rules
from warehouse.stores.choices import CORRECTED_BOOKINGS

CORRECTIONS = pl.Schema([("user", pl.String), ("access", pl.String), *EXAMPLES.items()])
"""`EXAMPLES` from corrections, each user, line and category once. Rules of a tenant have no user, and no rule has an access."""
MERCHANT_CHANNELS = (Channel.CARD, Channel.DIRECTDEBIT)
"""Ways of payment that only companies and public bodies offer."""
RULE_CENTS = 2_500
"""The amount of the booking that stands for a rule: most payments are of this size."""


def shared_lines(owner: Owner, weight: float = 1.0) -> pl.DataFrame:
    """The corrections of all tenants that consent (`CORRECTIONS`), for a model that other tenants use too.

    Left out are counterparties that may be private persons, and merchants of the evaluation: a model trained on them would be
    rated too well.
    """
    return _labelled_lines(_corrected_bookings(owner, None), weight, for_all=True)


def tenant_lines(owner: Owner, tenant: UUID, weight: float = 1.0) -> pl.DataFrame:
    """The corrections of one tenant (`CORRECTIONS`), for its own model; none if it does not consent."""
    return _labelled_lines(_corrected_bookings(owner, tenant), weight, for_all=False)


def _corrected_bookings(owner: Owner, tenant: UUID | None) -> pl.DataFrame:
    """Choices, and a booking for every rule with a name (`CORRECTED_BOOKINGS`); categories that no text shows are left out.

    A choice for a booking comes before a rule: it is more exact.
    """
    signs = {item.system_name: item.sign for item in tree("CATEGORIES").items if item.assignable}
    sign = pl.col("category").replace_strict(signs, default="", return_dtype=pl.String)
    rule_rows = rules.of_consenting_tenants(owner, tenant)
    rule_bookings = pl.concat(
        [rule_rows.with_columns(amount_cents=pl.lit(cents, pl.Int64)) for cents in (-RULE_CENTS, RULE_CENTS)]
    ).with_columns(pl.lit("").alias(name) for name in CORRECTED_BOOKINGS if name not in (*rule_rows.columns, "amount_cents"))
    bookings = pl.concat([choices.of_consenting_tenants(owner, tenant), rule_bookings.select(CORRECTED_BOOKINGS.names())])
    booking_sign = pl.when(pl.col("amount_cents") >= 0).then(pl.lit("+")).otherwise(pl.lit("-"))
    return bookings.filter((sign == "±") | (sign == booking_sign), from_text_alone(pl.col("category")))


def _labelled_lines(bookings: pl.DataFrame, weight: float, *, for_all: bool) -> pl.DataFrame:
    """The distinct lines of corrected bookings with their categories (`CORRECTIONS`)."""
    if bookings.is_empty():
        return CORRECTIONS.to_frame()
    keyed_bookings = bookings.with_columns(key=lines.keys(bookings))
    distinct = keyed_bookings.unique(["user", "key", "category"], keep="first", maintain_order=True)
    read_lines = lines.read(distinct.unique("key", keep="first", maintain_order=True).select(lines.READ))
    usable = _without_test_brands(_without_persons(read_lines)) if for_all else read_lines
    examples = distinct.select("user", "access", "category", "key").join(hinted(usable), on="key", maintain_order="left")
    return checked(examples.with_columns(count=pl.lit(weight, pl.Float64), part=pl.lit("train")), CORRECTIONS)


def _without_persons(read_lines: pl.DataFrame) -> pl.DataFrame:
    """The lines whose counterparty is certainly no private person.

    A partner of the catalogue, a legal form and a public body are none. Of the others, a line with a first name may be one,
    and so may whoever was paid by transfer: a surname alone looks like a shop.
    """
    facts = add_facts(read_lines)
    is_known = partners.add_partners(read_lines, knowledge.partners())["partner"] != knowledge.UNKNOWN
    by_merchant = facts["channel"].is_in([str(channel) for channel in MERCHANT_CHANNELS]) & ~facts["is_person"]
    return read_lines.filter(is_known | facts["is_company"] | by_merchant)


def _without_test_brands(read_lines: pl.DataFrame) -> pl.DataFrame:
    """The lines (`LINES`) without partners whose brands are kept for the evaluation."""
    catalogue = knowledge.partners()
    training_catalogue = tagger.without_unseen_partners(Tagger(registry.shipped(), catalogue)).catalogue.frame
    test_partners = catalogue.frame.join(training_catalogue, on="partner", how="anti")["partner"]
    return read_lines.filter(~partners.add_partners(read_lines, catalogue)["partner"].is_in(test_partners.implode()))
