"""Bodies of the OAuth2 interface."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from api.schemas.base import TEXT, Wire, shape
from warehouse import scopes

GRANTS = ("client_credentials", "password")


class TokenBody(Wire):
    """An access token and whom it stands for."""

    scope: str = Field(examples=[f"{scopes.PROVIDERS_READ} {scopes.CUSTOMER_READ}"])
    tenant: str = Field(examples=["demo"])
    tenant_id: UUID = Field(alias="tenantId")
    client: str = Field(examples=["app"])
    user: UUID | None = Field(None, examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"])
    additional_data: dict[str, str] = Field(alias="additionalData", examples=[{"username": "erika"}])
    valid_to: datetime = Field(alias="validTo", examples=["2026-11-15 14:00:00"], json_schema_extra={"format": "timestamp"})
    active: bool = Field(examples=[True])
    issued_at: int = Field(alias="issuedAt", examples=[1794737600])
    expires_at: int = Field(alias="expiresAt", examples=[1794744800])
    access_token: str = Field(examples=["qZ0m6mQyIYwT2v0pYb0oQ3c2r9yC1c7Q0qkQm3yZpXU"])
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 (the name of a scheme)
    expires_in: int = Field(examples=[7200])


Text = Annotated[str, Field(json_schema_extra={"pattern": TEXT})]


def _as_sent(schema: dict[str, Any]) -> None:
    """Removes defaults, since an empty field differs from an absent one."""
    for field in schema["properties"].values():
        field.pop("default", None)


class TokenForm(Wire):
    """The form of the token endpoint."""

    model_config = ConfigDict(json_schema_extra=_as_sent)

    grant_type: Annotated[str, shape("GrantType", GRANTS)] = Field(
        examples=["client_credentials"], description="A token of the client itself, or of a user"
    )
    scope: Text = Field("", examples=[scopes.TENANTS_READ], description="Separated by blanks; without it, all that is granted")
    username: Text = Field("", examples=["erika"], description="With `password`")
    password: Text = Field("", examples=["a long passphrase of the user"], description="With `password`")


class RevokeForm(Wire):
    """The form of the revoke endpoint."""

    model_config = ConfigDict(json_schema_extra=_as_sent)

    token: Text = Field("", examples=["qZ0m6mQyIYwT2v0pYb0oQ3c2r9yC1c7Q0qkQm3yZpXU"])


class OAuthProblem(Wire):
    """An error as RFC 6749 names it."""

    error: str = Field(examples=["invalid_client"])
    error_description: str = Field(examples=["Die Anmeldung fehlt oder ist fehlgeschlagen."])
    error_uri: str = Field(examples=["http://127.0.0.1:8000/docs/errors/invalid_client"], description="The page about this error")
