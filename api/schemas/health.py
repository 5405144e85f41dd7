"""Bodies of the health endpoints."""

from typing import Annotated, Literal

from pydantic import Field

from api.schemas.base import Wire, shape

Health = Annotated[str, shape("ReadinessStatus", ["ok", "degraded", "unavailable"])]
CheckStatus = Annotated[str, shape("ReadinessCheckStatus", ["ok", "degraded", "unavailable"])]


class Alive(Wire):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Wire):
    """Whether the service can do its work, and what stands in the way."""

    status: Health = Field(examples=["ok"])
    checks: dict[str, CheckStatus] = Field(
        examples=[{"database": "ok", "lake": "ok", "keys": "ok", "work": "ok", "model": "ok", "disk": "ok"}],
        description="What was looked at; `degraded` works, but needs the operator. `work` is what workers do",
    )
    reasons: dict[str, str] | None = Field(
        None, examples=[{"keys": "the vault keys do not open what is stored"}], description="What is wrong, by check"
    )
