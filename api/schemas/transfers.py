"""Bodies of transfers, of the dialogue in which a customer confirms, and of the verification of payee.

Lengths of texts are limited here; `pipelines/dialogues/payments.py` has the rules of payments. Fields have the same names as in
`Transfer` and `Payment`, so that errors there can name the fields of the caller's form.
"""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from api.schemas.accesses import SOME_CREDENTIALS, WHEN, Credentials, MediumClass, Moment
from api.schemas.base import DAY, Amount, Line, Message, Number, Relation, Wire, day_of
from api.schemas.providers import DEMO_ID
from pipelines.banks.base import PayeeMatch
from pipelines.dialogues.payments import TRANSFERS_LIMIT

SOME_ID = "6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10"
IBAN = "DE02120300000000202051"
CONVERTED = "converted to the SEPA character set; the answer shows what the bank gets"


def _day(value: Any) -> date:
    """The day of a text of the form yyyy-mm-dd; anything else is refused."""
    if not isinstance(value, str) or not DAY.fullmatch(value):
        raise ValueError("not a day")
    return day_of(value)


def _whole(value: Any) -> int:
    """The value of a whole JSON number; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or value != int(value):
        raise ValueError("not a whole number")
    return int(value)


def _absent_if_empty(value: Any) -> Any:
    """The value, or None for an empty text: fields of redirect tenants that are empty count as absent."""
    return None if value == "" else value


Text = Annotated[Line, StringConstraints(min_length=1, max_length=512)]
Short = Annotated[Line, StringConstraints(min_length=1, max_length=64)]
Truth = Annotated[bool, Field(strict=True)]
BodyDay = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
Bic = Annotated[Short | None, Field(examples=["BYLADEM1001"], description="null where the IBAN alone says which bank it is")]
MethodId = Annotated[int, Field(ge=0, le=999_999), BeforeValidator(_whole)]


# Orders.


class LegacyTransfer(Wire):
    """A transfer in the older form."""

    credentials: Credentials = Field(examples=[SOME_CREDENTIALS], description="of this order only", repr=False)
    recipient: Text = Field(alias="empfaenger", examples=["Stadtwerke"], description=f"up to 70 characters, {CONVERTED}")
    purpose: Text = Field(alias="verwendungszweck", examples=["Rechnung 4711"], description=f"up to 140 characters, {CONVERTED}")
    iban: Short = Field(examples=[IBAN], description="of a country of SEPA; blanks and lower case are accepted")
    bic: Bic
    currency: Short = Field(alias="waehrung", examples=["EUR"], description="only EUR")
    amount: Amount = Field(alias="betrag", examples=[12.5], description="from 0.01 to 999999999.99")
    execute_on: BodyDay | None = Field(
        None, alias="ausfuehrungsdatum", examples=["2026-12-01"], description="from today to 365 days ahead; null for at once"
    )
    method: Short = Field(alias="sicherheitsverfahrenKodierung", examples=["942"], description="`kodierung` of a method")
    medium: Annotated[Line, StringConstraints(max_length=64)] | None = Field(
        None, alias="tanMediumName", examples=["Handy von Erika"], description="may be empty where the method needs none"
    )


class TransferDetails(Wire):
    """One transfer of an order."""

    recipient: Text = Field(examples=["Stadtwerke"], description=f"up to 70 characters, {CONVERTED}")
    purpose: Text = Field(examples=["Rechnung 4711"], description=f"up to 140 characters, {CONVERTED}")
    iban: Short = Field(examples=[IBAN], description="of a country of SEPA; blanks and lower case are accepted")
    bic: Bic
    currency: Short = Field(examples=["EUR"], description="only EUR")
    amount: Amount = Field(examples=[12.5], description="from 0.01 to 999999999.99")
    end_to_end_id: Short | None = Field(
        None, alias="endToEndId", examples=["RE-4711"], description="up to 35 characters of the SEPA set, taken as it is"
    )
    purpose_code: Short | None = Field(
        None, alias="purposeCode", examples=["SALA"], description="a code of ISO 20022: four capital letters or digits"
    )
    ultimate_debtor: Text | None = Field(
        None, alias="ultimateDebtor", examples=["Max Mustermann"], description=f"up to 70 characters, {CONVERTED}"
    )
    ultimate_creditor: Text | None = Field(
        None, alias="ultimateCreditor", examples=["Stadtwerke Vertrieb"], description=f"up to 70 characters, {CONVERTED}"
    )


class TransferOrder(Wire):
    """What orders of one and of many transfers share."""

    instant: Truth = Field(examples=[False], description="in real time; then there is no execution date")
    execute_on: BodyDay | None = Field(
        None,
        alias="requestedExecutionDate",
        examples=["2026-12-01"],
        description="from today to 365 days ahead; null for at once",
    )


class ProductTransfer(TransferOrder):
    """An order for a single transfer from the product of the path."""

    vop_id: UUID | None = Field(None, alias="vopId", examples=[SOME_ID], description="verification of payee that goes before it")
    details: TransferDetails = Field(alias="transferDetails")


class ProviderTransfer(TransferOrder):
    """An order for a single transfer from an account that is not connected. Redirect tenants send no login."""

    provider: Annotated[UUID | None, BeforeValidator(_absent_if_empty)] = Field(
        None, examples=[DEMO_ID], description="regulated tenants only, and always"
    )
    credentials: Credentials | None = Field(
        None, examples=[SOME_CREDENTIALS], description="regulated tenants only, and always; of this order only", repr=False
    )
    product: Annotated[Short | None, BeforeValidator(_absent_if_empty)] = Field(
        None, examples=[IBAN], description="regulated tenants only, and always"
    )
    details: TransferDetails = Field(alias="transferDetails")


class BulkTransfer(TransferOrder):
    """An order for several transfers from the product of the path, confirmed together."""

    transfers: list[TransferDetails] = Field(min_length=1, max_length=TRANSFERS_LIMIT)


# The customer's moves.


class ChosenMethod(Wire):
    """The method by which the customer wants to confirm."""

    method: MethodId = Field(alias="chosenScaMethodId", examples=[942], description="`code` of one of `scaMethods`")


class ChosenMedium(Wire):
    """The medium with which the customer wants to confirm."""

    medium: Text = Field(alias="chosenScaMedia", examples=["Handy von Erika"], description="`name` of one of `scaMediums`")


class EnteredTan(Wire):
    """The TAN that the customer has entered."""

    tan: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[ -~]+$")] = Field(
        examples=["123456"], description="printable ASCII", repr=False
    )


# What is answered.


class ChallengeContent(Wire):
    """What the customer needs for a TAN."""

    instructions: str = Field(examples=["Bitte geben Sie die TAN aus Ihrer App ein."])
    hhd: str | None = Field(None, alias="HHD", examples=["2908881344731012345678900,00"], description="chipTAN, what is typed")
    hhduc: str | None = Field(
        None, alias="HHDUC", examples=["1784011041875F051234567890041203000044302C323015"], description="chipTAN, what flickers"
    )
    photo: str | None = Field(None, examples=["iVBORw0KGgo="], description="photoTAN: a picture in Base64")


class Challenge(Wire):
    """A challenge of the bank."""

    name: str = Field(examples=["chipTAN optisch"], description="name of the method")
    content: ChallengeContent


class DialogueStatus(Wire):
    """How far the customer's confirmation is."""

    messages: list[Message]
    timeout: Moment | None = Field(None, examples=[WHEN], description="until when the customer can act")
    relations: list[Relation]
    challenge: Challenge | None = Field(None, description="while a TAN is awaited")
    hint: str | None = Field(
        None,
        alias="hinweis",
        examples=["Die TAN war falsch. Noch 2 Versuche."],
        description="after a wrong TAN: what happened, and how often another one may be entered",
    )


class LegacyTransferStatus(DialogueStatus):
    """How far a transfer in the older form is."""


class ScaMethodBody(Wire):
    """A method to confirm by."""

    code: int = Field(examples=[942])
    name: str = Field(examples=["pushTAN"])
    hint: str | None = Field(None, examples=["Bitte bestätigen Sie in der App."])


class ScaMediumBody(Wire):
    """A thing to confirm with."""

    name: str = Field(examples=["Handy von Erika"])
    kind: MediumClass = Field(alias="mediaClass", examples=["MOBIL"])


class ConsentStatus(DialogueStatus):
    """How far a consent is. The bank is not asked."""

    methods: list[ScaMethodBody] | None = Field(None, alias="scaMethods", description="while one must be chosen")
    media: list[ScaMediumBody] | None = Field(None, alias="scaMediums", description="while one must be chosen")


class TransferDetailsBody(Wire):
    """One transfer as the bank gets it and the customer confirms it."""

    recipient: str = Field(examples=["Stadtwerke"])
    purpose: str = Field(examples=["Rechnung 4711"])
    iban: str = Field(examples=[IBAN])
    bic: str | None = Field(None, examples=["BYLADEM1001"])
    currency: str = Field(examples=["EUR"])
    amount: Number = Field(examples=[12.5])
    end_to_end_id: str | None = Field(None, alias="endToEndId", examples=["RE-4711"])
    purpose_code: str | None = Field(None, alias="purposeCode", examples=["SALA"])
    ultimate_debtor: str | None = Field(None, alias="ultimateDebtor", examples=["Max Mustermann"])
    ultimate_creditor: str | None = Field(None, alias="ultimateCreditor", examples=["Stadtwerke Vertrieb"])


class TransferBody(Wire):
    """An order as it was given to the bank."""

    provider: str = Field(examples=[DEMO_ID])
    product: str = Field(examples=[IBAN])
    payment_id: UUID = Field(alias="paymentId", examples=[SOME_ID])
    ebics: bool = Field(examples=[False], description="whether it goes to the bank through EBICS")
    instant: bool = Field(examples=[False])
    execute_on: date | None = Field(None, alias="requestedExecutionDate", examples=["2026-12-01"])
    details: TransferDetailsBody | None = Field(None, alias="transferDetails", description="of a single transfer")
    transfers: list[TransferDetailsBody] | None = Field(None, description="of several ones")


class TransferStatus(ConsentStatus):
    """How far a transfer is."""

    transfer: TransferBody


# Verification of payee.


class PayeeQuestion(Wire):
    """Asks whether an account is a recipient's, before the order of the same `paymentId`."""

    payment_id: UUID = Field(alias="paymentId", examples=[SOME_ID])
    recipient: Text = Field(alias="name", examples=["Stadtwerke"], description=f"up to 70 characters, {CONVERTED}")
    iban: Short = Field(examples=[IBAN])


class PayeeAnswer(Wire):
    """What the recipient's bank says."""

    vop_id: UUID = Field(alias="vopId", examples=[SOME_ID], description="to be given with the order")
    result: PayeeMatch = Field(examples=[PayeeMatch.CLOSE_MATCH])
    name: str | None = Field(None, examples=["Stadtwerke GmbH"], description="the right name, with `CLOSE_MATCH`")
