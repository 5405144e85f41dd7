"""Bodies of the provider catalogue."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from api.schemas.base import Relation, Wire, shape
from api.schemas.categories import WireCategory
from pipelines.banks.base import Capability

WIRE_CAPABILITIES: dict[Capability, str] = {
    Capability.ACCOUNTS: "KONTEN",
    Capability.CARDS: "KARTEN",
    Capability.DEPOTS: "DEPOTS",
}
WireCapability = Annotated[str, shape("Capability", WIRE_CAPABILITIES.values())]
DEMO_ID = "00000000-0000-0000-0000-000000000000"


class AuthenticationField(Wire):
    """A field of the login at a provider; credentials name its value by `fieldkey`."""

    fieldkey: str = Field(examples=["userid"], description="Name of the value in the credentials")
    label: str = Field(examples=["Benutzerkennung"], description="Text beside the input")
    secret: bool = Field(examples=[False], description="Hide what is typed, and store it only if the user wishes")
    hint: str | None = Field(None, examples=["Zum Beispiel demo1"], description="Text that helps to fill in")
    format: str = Field(examples=["|~64"], description="Token notation, or an anchored regular expression")


class AuthenticationInfo(Wire):
    """What a login at a provider takes: the first factor only."""

    login_hint: str | None = Field(None, alias="loginHint", examples=["Die Zugangsdaten Ihres Online-Bankings"])
    fields: list[AuthenticationField] = Field(description="In the order in which they are asked for")


class ProviderBody(Wire):
    """A bank, or another service that holds accounts."""

    id: UUID = Field(examples=[DEMO_ID])
    name: str = Field(examples=["Demo Provider"], description="Not unique")
    consumer_relevant: bool = Field(alias="consumerRelevant", examples=[True], description="Has private customers")
    group: str | None = Field(None, examples=["Demo"], description="What providers with the same look have in common")
    blz: str | None = Field(None, examples=["10010010"], description="Bank code, for German banks")
    bic: str | None = Field(None, examples=["PBNKDEFFXXX"], description="For banks that take part in SEPA")
    relations: list[Relation] = Field(examples=[[{"rel": "self", "href": f"http://127.0.0.1:8000/providers/v2/{DEMO_ID}"}]])
    capabilities: list[WireCapability] = Field(examples=[["KONTEN", "KARTEN", "DEPOTS"]])
    channels: list[list[WireCategory]] = Field(
        examples=[[["GIROKONTO", "TAGESGELDKONTO"], ["DEPOT"]]], description="Kinds of products that one login reaches together"
    )
    authentication_info: AuthenticationInfo = Field(alias="authenticationInfo")
    paused_since: datetime | None = Field(
        None,
        alias="pausedSince",
        examples=["2026-11-18 06:12:40"],
        json_schema_extra={"format": "timestamp"},
        description="Since when the bank fails for all users; it is tried again by itself. Absent while it works",
    )
