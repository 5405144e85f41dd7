"""Bodies of the health endpoints."""

from typing import Annotated, Literal

from pydantic import Field

from api.schemas.base import Wire, shape

Health = Annotated[str, shape("ReadinessStatus", ["ok", "unavailable"])]


class Alive(Wire):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Wire):
    """Whether the service can do its work, and what stands in the way."""

    status: Health = Field(examples=["ok"])
    checks: dict[str, Health] = Field(examples=[{"database": "ok", "lake": "ok"}])
