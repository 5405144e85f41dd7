"""Bodies of the management interface: tenants, clients, client roles, users."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from api.schemas.base import CONTROLS, TEXT, Line, Relation, Wire
from warehouse import scopes
from warehouse.errors import Invalid
from warehouse.inputs import naming, passwords

MAX_PASSWORD_CHARACTERS = 1024
MAX_NAME_CHARACTERS = 200


def _username(value: str) -> str:
    try:
        return naming.username(value)
    except Invalid as error:
        raise ValueError("not a user name") from error


class TenantBody(Wire):
    """A tenant."""

    name: str = Field(examples=["demo"])
    description: str | None = Field(None, examples=["Regulated demo tenant"])
    relations: list[Relation]


class ClientRoleBody(Wire):
    """A role that users of a client can have."""

    name: str = Field(examples=["customer"])
    description: str | None = Field(None, examples=["Reads and changes its own bank accesses"])
    default_role: bool = Field(alias="defaultRole", examples=[True])
    granted_scopes: list[str] = Field(alias="grantedScopes", examples=[[scopes.CUSTOMER_READ]])
    relations: list[Relation]


class ClientBody(Wire):
    """A client of a tenant."""

    name: str = Field(examples=["app"])
    username: str = Field(examples=["demo/app"])
    description: str | None = Field(None, examples=["Application client"])
    granted_scopes: list[str] = Field(alias="grantedScopes", examples=[[scopes.PROVIDERS_READ, scopes.CUSTOMER_READ]])
    client_roles: list[ClientRoleBody] = Field(alias="clientRoles")
    relations: list[Relation]


class UserBody(Wire):
    """A user."""

    user_reference: UUID = Field(alias="userReference", examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"])
    username: str = Field(examples=["erika"])
    active: bool = Field(examples=[True], description="false after it was deactivated")
    relations: list[Relation]


class UserReferenceBody(Wire):
    """A user of a client role."""

    user_reference: UUID = Field(alias="userReference", examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"])


class NewUser(Wire):
    """What creating or reactivating a user takes."""

    username: Annotated[str, AfterValidator(_username)] = Field(
        min_length=1,
        max_length=naming.MAX_USERNAME_LENGTH,
        examples=["erika"],
        json_schema_extra={"pattern": rf"^[^{CONTROLS}]*[^{CONTROLS}\s][^{CONTROLS}]*$"},
    )
    password: str = Field(
        max_length=MAX_PASSWORD_CHARACTERS,
        examples=["a long passphrase of the user"],
        description="Neither a common password nor the user's name",
        json_schema_extra={"pattern": TEXT, "minLength": passwords.MIN_PASSWORD_CHARACTERS},
    )
    firstname: Annotated[Line, StringConstraints(max_length=MAX_NAME_CHARACTERS)] | None = Field(None, examples=["Erika"])
    lastname: Annotated[Line, StringConstraints(max_length=MAX_NAME_CHARACTERS)] | None = Field(None, examples=["Mustermann"])
