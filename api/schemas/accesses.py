"""Bodies of the customer interface: customer, accesses, products."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints, WithJsonSchema

from api.schemas.base import Line, Message, Number, Relation, Wire, shape
from api.schemas.categories import WireCategory
from warehouse.stores.accesses import COMPLETE, HEADER, STARTED

WIRE_STATUS = {STARTED: "GESTARTET", HEADER: "KOPFDATEN", COMPLETE: "VOLLSTAENDIG"}
WIRE_MEDIUM = {"LIST": "LISTE", "GENERATOR": "GENERATOR", "MOBILE": "MOBIL", "SECODER": "SECODER", "PUSH_TAN": "PUSHTAN"}
ROOT = ("customer", "v2")
ACCESSES = (*ROOT, "bankzugaenge")
"""The path segments of a customer and of the accesses."""
ACCESS_KEY = r"^[A-Za-z0-9_-]{1,64}$"
WHEN = "2026-11-15 06:00:12"
STATUS = "A fetch has begun; products and balances are there; everything is there"
MAX_ENTRIES = 20
Status = Annotated[str, shape("FetchStatus", WIRE_STATUS.values())]
MediumClass = Annotated[str, shape("MediumClass", WIRE_MEDIUM.values())]
Moment = Annotated[datetime, Field(json_schema_extra={"format": "timestamp"})]
TextMoment = Annotated[datetime, WithJsonSchema({"type": "string"})]
"""A timestamp that the OpenAPI document describes as plain text."""
Credentials = Annotated[
    dict[Annotated[str, StringConstraints(max_length=64)], Annotated[str, StringConstraints(max_length=4096)]],
    shape("Credentials", max_length=20),
]
"""Values of the login by their field keys, encrypted for the tenant."""
SOME_CREDENTIALS = {"userid": "bGFuZ2Vy…", "pin": "Y2hpZmZy…"}


class MethodBody(Wire):
    """A security method of the bank."""

    code: str = Field(alias="kodierung", examples=["942"])
    name: str = Field(examples=["pushTAN"])
    hint: str | None = Field(None, alias="hinweis", examples=["Bitte bestätigen Sie in der App."])


class MediumBody(Wire):
    """A thing that TANs come from."""

    name: str = Field(examples=["Handy von Erika"])
    kind: MediumClass = Field(alias="medienklasse", examples=["MOBIL"])
    valid_from: TextMoment | None = Field(None, alias="gueltigVon", examples=[WHEN])
    valid_to: TextMoment | None = Field(None, alias="gueltigBis", examples=[WHEN])


class ProductBody(Wire):
    """An account, card, depot or contract."""

    key: str = Field(alias="id", examples=["DE02120300000000202051"])
    status: Status = Field(description=STATUS)
    name: str = Field(alias="bezeichnung", examples=["Girokonto"])
    category: WireCategory = Field(alias="kategorie")
    balance: Number | None = Field(None, alias="saldo", examples=[1234.56])
    fetched_at: Moment = Field(alias="aktualisierungszeitpunkt", examples=[WHEN])
    balance_at: Moment | None = Field(None, alias="saldoDatum", examples=[WHEN])
    currency: str | None = Field(None, alias="waehrung", examples=["EUR"])
    account_number: str | None = Field(None, alias="kontonummer", examples=["202051"])
    iban: str | None = Field(None, examples=["DE02120300000000202051"])
    bic: str | None = Field(None, examples=["BYLADEM1001"])
    blz: str | None = Field(None, examples=["12030000"])
    bank_name: str | None = Field(None, alias="kreditinstitut", examples=["Demo Provider"])
    owner_name: str = Field(alias="inhaber", examples=["Erika Mustermann"])
    relations: list[Relation]
    messages: list[Message]
    transfer_support: bool = Field(alias="transferSupport", examples=[True])
    balance_source: Annotated[str, shape("BalanceSource", ["SWIFTMSG", "SONSTIGES"])] | None = Field(
        None, alias="saldoDatenquelle", examples=["SWIFTMSG"]
    )
    overdraft_limit: Number | None = Field(None, alias="ueberziehungslimit", examples=[2000])
    credit_line: Number | None = Field(None, alias="verfuegungsrahmen", examples=[3234.56])
    credit_drawn: Number | None = Field(None, alias="verfuegterBetrag", examples=[0])
    contract_number: str | None = Field(None, alias="vertragsnummer", examples=["BSV-100200"])
    contract_type: str | None = Field(None, alias="vertragstyp", examples=["Bausparvertrag"])
    contract_status: str | None = Field(None, alias="vertragsstatus", examples=["AKTIV"])
    rating: Number | None = Field(None, examples=[12.5])
    contract_sum: Number | None = Field(None, alias="vertragssumme", examples=[50000])
    saving_rate: Number | None = Field(None, alias="sparzinssatz", examples=[0.25])
    debt_rate: Number | None = Field(None, alias="schuldzinssatz", examples=[2.35])
    saving_progress: Number | None = Field(None, alias="sparfortschritt", examples=[42.5])
    in_saving_phase: bool | None = Field(None, alias="sparzustand", examples=[True])
    contract_on: str | None = Field(None, alias="vertragsDatum", examples=["2019-03-01 00:00:00"])


class AccessBody(Wire):
    """A customer's login at a bank, with its products."""

    key: str = Field(alias="id", examples=["0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10"], description="Chosen by the caller")
    provider_id: str = Field(alias="providerId", examples=["00000000-0000-0000-0000-000000000000"])
    status: Status = Field(description=STATUS)
    media: list[MediumBody] | None = Field(None, alias="tanMedien")
    methods: list[MethodBody] | None = Field(None, alias="sicherheitsverfahren")
    active_method: MethodBody | None = Field(None, alias="aktivesSicherheitsverfahren")
    fetched_at: Moment = Field(alias="aktualisierungszeitpunkt", examples=[WHEN])
    expires_at: Moment | None = Field(
        None, alias="timeout", examples=[WHEN], description="When the data are deleted, without `sync`"
    )
    messages: list[Message]
    products: list[ProductBody] = Field(alias="bankprodukte")
    relations: list[Relation]
    sync: bool = Field(examples=[True], description="Is refreshed by itself, four times a day")


class IssuesBody(Wire):
    """What went wrong in the latest attempt to fetch an access."""

    key: str = Field(alias="id", examples=["0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10"])
    media: list[MediumBody] | None = Field(None, alias="tanMedien")
    provider_id: str = Field(alias="providerId", examples=["00000000-0000-0000-0000-000000000000"])
    methods: list[MethodBody] | None = Field(None, alias="sicherheitsverfahren")
    attempted_at: Moment = Field(alias="aktualisierungszeitpunkt", examples=[WHEN])
    messages: list[Message]
    relations: list[Relation]


AccessBodies = Annotated[dict[str, AccessBody], shape("BankAccesses")]
"""Accesses by their ids."""


class CustomerBody(Wire):
    """A customer with all accesses."""

    messages: list[Message] = Field(default_factory=list)
    accesses: AccessBodies = Field(alias="bankzugaenge", description="By their ids")
    relations: list[Relation]


class PositionBody(Wire):
    """A security in a depot."""

    name: str | None = Field(None, examples=["ETF Welt"])
    quantity: Number | None = Field(None, alias="menge", examples=[12.5])
    unit: Annotated[str, shape("TradingUnit", ["STUECK", "NOMINAL"])] | None = Field(
        None, alias="handelseinheit", examples=["STUECK"]
    )
    isin: str | None = Field(None, examples=["IE00B4L5Y983"])
    wkn: str | None = Field(None, examples=["A0RPWH"])
    price: Number | None = Field(None, alias="kurs", examples=[101.23])
    price_at: Moment | None = Field(None, alias="kursDatum", examples=[WHEN])
    currency: str | None = Field(None, alias="waehrung", examples=["EUR"])
    exchange_rate: Number | None = Field(None, alias="waehrungskurs", examples=[1])
    venue: str | None = Field(None, alias="handelsplatz", examples=["XETRA"])
    total: Number | None = Field(None, alias="gesamtwert", examples=[1265.38])


class NewAccess(Wire):
    """An access to add. Redirect tenants send an empty object: their customers choose and type in the form."""

    provider_id: Line | None = Field(None, alias="providerId", examples=["00000000-0000-0000-0000-000000000000"])
    credentials: Credentials | None = Field(None, examples=[SOME_CREDENTIALS])
    sync: Annotated[bool, Field(strict=True)] | None = Field(
        None, examples=[True], description="refresh by itself; true for a new access, unchanged for a known one"
    )
    selected: list[Annotated[Line, StringConstraints(min_length=1, max_length=64)]] | None = Field(
        None,
        alias="selectedBankProducts",
        max_length=200,
        json_schema_extra={"minItems": 1},  # `require_selection` checks it: an empty list of a redirect tenant is none
        examples=[["DE02120300000000202051"]],
        description="the products that are wanted; null for all",
    )


class BalanceBody(Wire):
    """The balance in one currency of a multicurrency account."""

    balance: Number | None = Field(examples=[100])
    balance_date: TextMoment | None = Field(alias="balanceDate", examples=[WHEN])
    currency: str | None = Field(examples=["USD"])


class EnglishProductBody(Wire):
    """A product in the English-named form. Every field is there; those that do not apply are null."""

    account_number: str | None = Field(alias="accountNumber", examples=["202051"])
    balance: Number | None = Field(examples=[1234.56])
    balance_source: str | None = Field(alias="balanceDataSource", examples=["SWIFTMSG"])
    balance_at: Moment | None = Field(alias="balanceDate", examples=[WHEN])
    balances: Annotated[dict[str, BalanceBody], shape("Balances")] | None
    blz: str | None = Field(alias="bankCode", examples=["12030000"])
    bic: str | None = Field(examples=["BYLADEM1001"])
    bulk_transfer_support: bool | None = Field(alias="bulkTransferSupport", examples=[False])
    contract_sum: Number | None = Field(alias="contractAmount", examples=[50000])
    contract_on: str | None = Field(alias="contractDate", examples=["2019-03-01 00:00:00"])
    contract_number: str | None = Field(alias="contractNumber", examples=["BSV-100200"])
    contract_status: str | None = Field(alias="contractStatus", examples=["AKTIV"])
    contract_type: str | None = Field(alias="contractType", examples=["Bausparvertrag"])
    credit_drawn: Number | None = Field(alias="creditDrawn", examples=[0])
    overdraft_limit: Number | None = Field(alias="creditLimit", examples=[2000])
    currency: str | None = Field(examples=["EUR"])
    id: str | None = Field(examples=["DE02120300000000202051"])
    access: str | None = Field(examples=["0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10"])
    provider: str | None = Field(examples=["00000000-0000-0000-0000-000000000000"])
    category: WireCategory | None = Field(examples=["GIROKONTO"])
    name: str | None = Field(examples=["Girokonto"])
    status: Status | None = Field(examples=["VOLLSTAENDIG"])
    fetched_at: Moment | None = Field(alias="updatedAt", examples=[WHEN])
    iban: str | None = Field(examples=["DE02120300000000202051"])
    bank_name: str | None = Field(alias="bankName", examples=["Demo Provider"])
    owner_name: str | None = Field(alias="owner", examples=["Erika Mustermann"])
    transfer_support: bool | None = Field(alias="transferSupport", examples=[True])
    credit_line: Number | None = Field(alias="availableAmount", examples=[3234.56])
    rating: Number | None = Field(examples=[12.5])
    saving_rate: Number | None = Field(alias="savingInterestRate", examples=[0.25])
    debt_rate: Number | None = Field(alias="debtInterestRate", examples=[2.35])
    saving_progress: Number | None = Field(alias="savingProgress", examples=[42.5])
    in_saving_phase: bool | None = Field(alias="savingPhase", examples=[True])
    messages: list[Message]
    relations: list[Relation]
