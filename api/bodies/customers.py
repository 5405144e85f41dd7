"""Customer, accesses and products as the interface shows them: bodies with links, built from rows."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from analytics.products import CARDS, WITH_POSITIONS, ProductCategory
from api.bodies.messages import message_bodies
from api.bodies.relations import usable_relations
from api.http.responses import Links
from api.schemas.accesses import (
    ACCESSES,
    ROOT,
    WIRE_MEDIUM,
    WIRE_STATUS,
    AccessBody,
    BalanceBody,
    CustomerBody,
    EnglishProductBody,
    IssuesBody,
    MediumBody,
    MethodBody,
    PositionBody,
    ProductBody,
)
from api.schemas.base import Message, Relation, amount
from api.schemas.categories import WIRE_CATEGORIES
from api.schemas.transactions import MIDNIGHT
from pipelines.banks.base import Code
from pipelines.dialogues.steps import ASK_FOR_CONSENT
from pipelines.fetching.connect import needs_login
from warehouse.postgres.tables import Access, Position, Product
from warehouse.stores.accesses import COMPLETE
from warehouse.stores.callers import Caller

RENEWAL = timedelta(days=14)
"""How long before its end a consent can be renewed."""
VIEWS = {
    "get_kontoumsaetze": "",
    "get_kontoumsaetze_tagged": "?tag=true",
    "get_kontoumsaetze_insurances": "?tag=insurance-types",
    "get_kontoumsaetze_business_partners": "?tag=business-partners",
    "get_kontoumsaetze_freelancer_categories": "?tag=freelancer-categories",
    "get_kontoumsaetze_kategorisiert": "?categorize=true",
}
"""The relations of a product to its bookings, with the query of each."""
NO_ACCOUNTS = CARDS | WITH_POSITIONS | {ProductCategory.OTHER_PRODUCT}
OF_ACCOUNTS = ("overdraft_limit", "credit_line", "credit_drawn")
"""Fields of the German-named form that only accounts have."""


def customer_body(links: Links, caller: Caller, accesses: Iterable[Access], products: dict[Any, list[Product]]) -> CustomerBody:
    """A customer with all accesses."""
    root, accesses_url = links.to(*ROOT), links.to(*ACCESSES)
    return CustomerBody(
        accesses=accesses_body(links, caller, accesses, products),
        relations=usable_relations(
            caller,
            [
                Relation(rel="self", href=root),
                Relation(rel="get_bankzugaenge", href=accesses_url),
                Relation(rel="add_bankzugaenge", href=accesses_url),
                Relation(rel="delete_bankzugaenge", href=accesses_url),
                Relation(rel="delete_regprotect_sessions", href=links.to(*ROOT, "regprotect", "sessions")),
            ],
        ),
    )


def accesses_body(
    links: Links, caller: Caller, accesses: Iterable[Access], products: dict[Any, list[Product]]
) -> dict[str, AccessBody]:
    """Accesses by their keys."""
    return {access.key: access_body(links, caller, access, products[access.id]) for access in accesses}


def access_body(links: Links, caller: Caller, access: Access, products: Iterable[Product]) -> AccessBody:
    """An access with its products. During a fetch, its status is the progress of the fetch; a fetch that has ended is complete,
    also if it failed, which the messages then say.
    """
    methods = _methods(access)
    return AccessBody(
        key=access.key,
        provider_id=str(access.provider_id),
        status=WIRE_STATUS[access.fetch_phase or (COMPLETE if access.fetch_id is None else access.status)],
        media=_media(access),
        methods=methods,
        active_method=next((method for method in methods or [] if method.code == access.active_method), None),
        fetched_at=access.fetched_at or access.created_at,
        expires_at=access.expires_at,
        messages=_messages(caller, access.messages),
        products=[product_body(links, caller, access, product) for product in products],
        relations=_access_relations(links, caller, access),
        sync=access.sync,
    )


def issues_body(links: Links, caller: Caller, access: Access) -> IssuesBody:
    """The problems of the latest attempt to fetch an access."""
    return IssuesBody(
        key=access.key,
        media=_media(access),
        provider_id=str(access.provider_id),
        methods=_methods(access),
        attempted_at=access.attempted_at or access.fetched_at or access.created_at,
        messages=_messages(caller, access.issues),
        relations=_access_relations(links, caller, access),
    )


def product_body(links: Links, caller: Caller, access: Access, product: Product) -> ProductBody:
    """A product in the German-named form."""
    facts = _facts(links, caller, access, product)
    if ProductCategory(product.category) in NO_ACCOUNTS:
        facts |= dict.fromkeys(OF_ACCOUNTS)
    return ProductBody(key=product.key, messages=message_bodies(product.messages), **facts)


def english_product(links: Links, caller: Caller, access: Access, product: Product) -> dict[str, Any]:
    """A product in the English-named form, with its nulls."""
    body = EnglishProductBody(
        id=product.key,
        access=access.key,
        provider=str(access.provider_id),
        balances=_balances(product),
        bulk_transfer_support=product.bulk_transfer_support,
        messages=message_bodies(product.messages),
        **_facts(links, caller, access, product),
    )
    return body.model_dump(by_alias=True)


def _facts(links: Links, caller: Caller, access: Access, product: Product) -> dict[str, Any]:
    """The fields that both forms of a product have."""
    return {
        "status": WIRE_STATUS[product.status],
        "name": product.name,
        "category": WIRE_CATEGORIES[ProductCategory(product.category)],
        "balance": _amount(product.balance_cents),
        "fetched_at": product.fetched_at,
        "balance_at": product.balance_at,
        "currency": product.currency,
        "account_number": product.account_number,
        "iban": product.iban,
        "bic": product.bic,
        "blz": product.blz,
        "bank_name": product.bank_name,
        "owner_name": product.owner_name,
        "relations": _product_relations(links, caller, access, product),
        "transfer_support": product.transfer_support,
        "balance_source": _source(product),
        "overdraft_limit": _amount(product.overdraft_limit_cents),
        "credit_line": _amount(product.credit_line_cents),
        "credit_drawn": _amount(product.credit_drawn_cents),
        **_home_savings(product.home_savings or {}),
    }


def position_body(position: Position) -> PositionBody:
    """A security in a depot."""
    return PositionBody(
        name=position.name,
        quantity=position.quantity,
        unit=None if position.by_piece is None else "STUECK" if position.by_piece else "NOMINAL",
        isin=position.isin,
        wkn=position.wkn,
        price=position.price,
        price_at=position.price_at,
        currency=position.currency,
        exchange_rate=position.exchange_rate,
        venue=position.venue,
        total=_amount(position.total_cents),
    )


def _access_relations(links: Links, caller: Caller, access: Access) -> list[Relation]:
    href, consent = links.to(*ACCESSES, access.key), links.to(*ACCESSES, access.key, "consent")
    relations = [
        Relation(rel="self", href=href),
        Relation(rel="delete_bankzugang", href=href),
        Relation(rel="get_issues", href=links.to(*ACCESSES, access.key, "issues")),
        *([Relation(rel="start_sca", href=consent)] if _leads_to_consent(caller, access) else []),
    ]
    return usable_relations(caller, relations)


def _leads_to_consent(caller: Caller, access: Access) -> bool:
    """Whether a consent is offered: it is needed, or a redirect tenant's customer must enter a login, which the form asks for."""
    return _needs_consent(access) or (not caller.regulated and needs_login(access))


def _needs_consent(access: Access) -> bool:
    """Whether the customer should confirm again: the bank requires it, or the consent has ended or will end soon."""
    ends_at = access.consent_ends_at
    soon = ends_at is not None and ends_at - datetime.now(UTC) <= RENEWAL
    return soon or any(item["code"] in ASK_FOR_CONSENT for item in access.messages)


def _messages(caller: Caller, stored_messages: Iterable[dict[str, Any]]) -> list[Message]:
    """The messages of an access. Redirect tenants are not told which fields of a login are missing: the form asks for them."""
    hidden = () if caller.regulated else (Code.FIELDS_MISSING,)
    return message_bodies({**item, "details": None} if item["code"] in hidden else item for item in stored_messages)


def _product_relations(links: Links, caller: Caller, access: Access, product: Product) -> list[Relation]:
    place = (*ACCESSES, access.key, product.key)
    self_link = Relation(rel="self", href=links.to(*place))
    if ProductCategory(product.category) in WITH_POSITIONS:
        return [self_link, Relation(rel="get_depotpositionen", href=links.to(*place, "depotpositionen"))]
    bookings = links.to(*place, "kontoumsaetze")
    views = (Relation(rel=rel, href=bookings + query) for rel, query in VIEWS.items())
    return [self_link, *views, *usable_relations(caller, _payment_relations(links, access, product, place))]


def _payment_relations(links: Links, access: Access, product: Product, place: tuple[str, ...]) -> list[Relation]:
    """The ways to pay from a product, if there are any."""
    if not product.transfer_support:
        return []
    legacy = links.to(*ROOT, "ueberweisung", str(access.provider_id), product.key)
    single, bulk = (links.to(*place, "payment", f"{kind}-transfer") for kind in ("single", "bulk"))
    return [
        Relation(rel="start_ueberweisung", href=legacy),
        Relation(rel="initiate_single_transfer", href=single),
        *([Relation(rel="initiate_bulk_transfer", href=bulk)] if product.bulk_transfer_support else []),
    ]


def _methods(access: Access) -> list[MethodBody] | None:
    return [MethodBody(code=item["code"], name=item["name"], hint=item.get("hint")) for item in access.methods] or None


def _media(access: Access) -> list[MediumBody] | None:
    return [
        MediumBody(
            name=item["name"],
            kind=WIRE_MEDIUM[item["kind"]],
            valid_from=_moment(item.get("valid_from")),
            valid_to=_moment(item.get("valid_to")),
        )
        for item in access.media
    ] or None


def _balances(product: Product) -> dict[str, BalanceBody] | None:
    return {
        item["currency"]: BalanceBody(
            balance=_amount(item["balance_cents"]),
            balance_date=_moment(item.get("balance_at")),
            currency=item["currency"],
        )
        for item in product.balances
    } or None


def _home_savings(contract: dict[str, Any]) -> dict[str, Any]:
    rates = ("rating", "saving_rate", "debt_rate", "saving_progress")
    return {
        **{name: contract.get(name) for name in ("contract_number", "contract_type", "contract_status", "in_saving_phase")},
        **{name: Decimal(contract[name]) if name in contract else None for name in rates},
        "contract_sum": _amount(contract.get("contract_sum_cents")),
        "contract_on": contract["contract_on"] + MIDNIGHT if "contract_on" in contract else None,
    }


def _source(product: Product) -> str | None:
    if product.balance_by_statement is None:
        return None
    return "SWIFTMSG" if product.balance_by_statement else "SONSTIGES"


def _amount(cents: int | None) -> Decimal | None:
    return None if cents is None else amount(cents)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
