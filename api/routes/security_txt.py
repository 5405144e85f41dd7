"""Where to report a weakness of this installation (RFC 9116)."""

from datetime import UTC, datetime, timedelta

from starlette.responses import Response

from api.http.route import router
from api.services import AppServices

LIFETIME = timedelta(days=180)
"""How long a copy is good; each answer starts it anew."""
routes = router("", "Health")


class TextResponse(Response):
    media_type = "text/plain"


@routes.get("/.well-known/security.txt", response_class=TextResponse, openapi_extra={"security": []})
async def get_security_contact(services: AppServices) -> Response:
    """Where to report a weakness, for everybody."""
    settings = services.settings
    expires = (datetime.now(UTC) + LIFETIME).strftime("%Y-%m-%dT00:00:00Z")
    lines = (
        f"Contact: {settings.security_contact}",
        f"Expires: {expires}",
        "Preferred-Languages: de, en",
        f"Canonical: {settings.base_url}/.well-known/security.txt",
    )
    return TextResponse("".join(f"{line}\n" for line in lines), headers={"Cache-Control": "public, max-age=86400"})
