"""Bodies of the health endpoints."""

from typing import Literal

from pydantic import Field

from api.schemas.base import Wire


class Alive(Wire):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Wire):
    """Whether the service can do its work, and what stands in the way."""

    status: Literal["ok", "unavailable"]
    checks: dict[str, Literal["ok", "unavailable"]] = Field(examples=[{"database": "ok", "lake": "ok"}])
