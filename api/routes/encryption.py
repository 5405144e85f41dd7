"""Encryption of credentials in transit: the tenant's certificate, and encryption on behalf of the caller."""

import base64
from typing import Annotated, Any

from fastapi import Request
from starlette.responses import Response

from api.http.authorization import TokenKind, needs
from api.http.errors import wrong
from api.http.route import JSON, StrictRequest, require_content_type, router
from api.schemas.languages import Text
from api.services import AppServices
from warehouse.secrets import certificates
from warehouse.stores.callers import Caller

BASE64 = "application/octet-stream+base64"
routes = router("/encrypt", "Encryption")
AnyToken = Annotated[Caller, needs(None, TokenKind.ANY)]


class Base64Response(Response):
    media_type = BASE64
    also_accepted = (JSON,)
    """Clients that ask for JSON everywhere read the text all the same."""


class PemResponse(Response):
    media_type = "application/x-pem-file"


TEXT = {"type": "string", "format": "binary", "contentEncoding": "base64"}
PLAINTEXT = {
    BASE64: {
        "schema": {**TEXT, "minLength": 4, "maxLength": 424, "description": "Base64 of 1 to 318 bytes"},
        "example": "Z2VoZWlt",
    }
}
CIPHERTEXT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The encrypted value, as credentials take it.",
        "content": {BASE64: {"schema": TEXT, "example": "bGFuZ2Vy"}},
    }
}


@routes.put(
    "",
    response_class=Base64Response,
    responses=CIPHERTEXT,
    openapi_extra={"requestBody": {"required": True, "content": PLAINTEXT}},
)
async def encrypt(request: Request, caller: AnyToken, services: AppServices) -> Response:
    """Encrypts a value for the tenant of the token (RSA-OAEP, SHA-256): Base64 in, Base64 out, without line wrapping. With the
    certificate the same is done without calling us.
    """
    require_content_type(request.headers, BASE64)
    try:
        plaintext = base64.b64decode(await StrictRequest(request.scope, request.receive).body(), validate=True)
    except ValueError as error:
        raise wrong("", Text("kein gültiges Base64", "not valid Base64")) from error
    if not 1 <= len(plaintext) <= certificates.MAX_PLAINTEXT_BYTES:
        raise wrong("", Text("1 bis {most} Bytes", "1 to {most} bytes"), most=certificates.MAX_PLAINTEXT_BYTES)

    def encrypt_for_tenant() -> bytes:
        with services.database.acting_for(caller.tenant_id) as owner:
            pem = certificates.current(owner).pem
        return certificates.encrypt(pem, plaintext)

    return Base64Response(base64.b64encode(await services.in_thread(encrypt_for_tenant)))


@routes.get("/certificate", response_class=PemResponse)
def get_certificate(caller: AnyToken, services: AppServices) -> Response:
    """The tenant's certificate in PEM: with it, credentials can be encrypted without calling us."""
    with services.database.acting_for(caller.tenant_id) as owner:
        return PemResponse(certificates.current(owner).pem)
