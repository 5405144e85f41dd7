"""Every setting of Kontor, read from the environment (`KONTOR_…`) or a `.env` file; `docs/operators.md` lists them all.

Here belong names, types, defaults and limits. Secrets have no defaults: the vault's keys come from a file or the environment.
"""

import os
import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, HttpUrl, TypeAdapter, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MEBIBYTE = 1024 * 1024


def _base_url(value: str) -> str:
    """The address without a trailing slash, after checking that it is a URL."""
    TypeAdapter(HttpUrl).validate_python(value)
    return value.rstrip("/")


def _origin(value: str) -> str:
    """The origin as browsers send it: scheme, name, and the port unless it is the usual one of the scheme."""
    url = TypeAdapter(HttpUrl).validate_python(value)
    if url.host is None or url.path not in (None, "/") or url.query or url.fragment or url.username or url.password:
        raise ValueError("must be https://name or https://name:port, without a path")
    usual = {"http": 80, "https": 443}[url.scheme]
    return f"{url.scheme}://{url.host}" + ("" if url.port == usual else f":{url.port}")


def _contact(value: str) -> str:
    if not re.fullmatch(r"(mailto:[^\s@:/]+@[^\s@/]+|https://[^\s]+)", value):
        raise ValueError("must be mailto:name@host or an https address")
    return value


def _zone(value: str) -> str:
    ZoneInfo(value)
    return value


def _scheduler(value: str | None) -> str | None:
    """The address, if it is safe: without TLS, Dask runs the code of everyone who reaches it."""
    if value is None or re.fullmatch(r"tls://.+:\d+|tcp://(127\.0\.0\.1|localhost|\[::1\]):\d+", value):
        return value
    raise ValueError("must be tls://host:port, or tcp://127.0.0.1:port")


def _collector(value: str | None) -> str | None:
    if value is not None:
        TypeAdapter(HttpUrl).validate_python(value)
    return value


def _knowledge(value: Path | None) -> Path | None:
    """The folder, if tagging sees it too: that knows the environment alone."""
    if value is not None and "KONTOR_KNOWLEDGE" not in os.environ:
        raise ValueError("set it in the environment, not in .env")
    return value


def _fints_address(value: str | None) -> str | None:
    """The address, if a PIN may be sent there: without TLS only on this machine."""
    if value is None or re.fullmatch(r"https://[^\s]+|http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(/[^\s]*)?", value):
        return value
    raise ValueError("must be https, or http on this machine")


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="KONTOR_", env_file=".env", extra="ignore", frozen=True)

    home: Path = Field(Path(".kontor"), description="data directory: embedded database, lake, keys, logs, demo.json")
    database_url: str | None = Field(
        None, description="PostgreSQL address of the service's role; none starts the embedded server"
    )
    migration_url: str | None = Field(
        None, description="PostgreSQL address of the role that owns the tables; default: database_url"
    )
    dagster_database_url: str | None = Field(None, description="PostgreSQL address of Dagster's own database")
    backup_database_url: str | None = Field(
        None, repr=False, description="address of the role that `kontor backup` reads an external PostgreSQL with (BYPASSRLS)"
    )
    database_pool: int = Field(10, ge=1, le=200, description="connections each worker keeps for reading and writing")
    database_wait_seconds: float = Field(
        10, ge=0, le=170, description="how long a request waits for a database that is restarting"
    )

    host: str = Field("127.0.0.1", description="address the API listens on")
    port: int = Field(8000, ge=0, le=65535, description="port the API listens on")
    workers: int = Field(2, ge=1, le=64, description="API processes")
    dagster_host: str = Field("127.0.0.1", description="address the Dagster UI listens on, behind its login")
    dagster_port: int = Field(3000, ge=1, le=65535, description="port the Dagster UI listens on")
    dagster_origins: Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], NoDecode] = Field(
        (), description="further addresses of the Dagster UI, for example of a TLS proxy in front, separated by commas"
    )
    dagster_session_seconds: int = Field(43200, ge=1, description="lifetime of a login to the Dagster UI")
    dagster_retention_days: int = Field(
        30, ge=1, description="how long Dagster keeps runs of pulls and analyses with their events and logs"
    )
    base_url: Annotated[str, AfterValidator(_base_url)] = Field(
        default_factory=lambda data: f"http://{data['host']}:{data['port']}",
        description="address under which tenants reach the API, and with which every link starts; default: http://host:port",
    )
    security_contact: Annotated[str, AfterValidator(_contact)] = Field(
        default_factory=lambda data: f"mailto:security@{urlsplit(data.get('base_url', '')).hostname}",
        description="where weaknesses are reported, in /.well-known/security.txt: mailto: or https://; default: security@ and "
        "the host of base_url",
    )
    docs: bool = Field(True, description="serve /docs and /openapi.json; switch off in production")
    timezone: Annotated[str, AfterValidator(_zone)] = Field("Europe/Berlin", description="zone of timestamps without a zone")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="least level that is logged")
    traces_url: Annotated[str | None, AfterValidator(_collector)] = Field(
        None, description="address of a collector that takes traces as OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces"
    )
    traces_share: float = Field(1.0, ge=0, le=1, description="share of the traces that are sent to the collector")
    retired_operations: Annotated[frozenset[str], NoDecode] = Field(
        frozenset(), description="operation ids that answer 410, separated by commas"
    )

    request_timeout_seconds: float = Field(180, gt=0, description="a request that takes longer is answered with 504")
    disk_warning_share: float = Field(
        0.9, gt=0, le=1, description="/ready warns when a disk with data is used to this share; metrics show the share"
    )
    disk_reserve_bytes: int = Field(
        64 * MEBIBYTE, ge=0, description="a disk with data that has less room is full: /ready answers 503 and names the place"
    )
    stop_seconds: int = Field(
        25, ge=6, description="time that running requests have when the API is told to stop; the last five seconds are for 503s"
    )
    worker_stuck_seconds: float = Field(
        6, gt=1, description="an API process whose event loop gives no sign of life for so long is replaced"
    )
    header_timeout_seconds: float = Field(20, gt=0, description="a connection that sends no complete header by then is closed")
    reader_timeout_seconds: float = Field(
        30, gt=0, description="a caller that takes less than 64 KiB of an answer that is ready in this time is cut off"
    )
    unread_answers_per_tenant: int = Field(
        100, ge=1, description="long answers of a tenant that are being sent at the same time, in each worker; more get 429"
    )
    unread_bytes_per_tenant: int = Field(
        256 * MEBIBYTE, ge=MEBIBYTE, description="the same in bytes; a single answer may be larger"
    )
    body_timeout_seconds: float = Field(60, gt=0, description="a request whose body has not arrived by then is answered with 408")
    body_limit_bytes: int = Field(MEBIBYTE, ge=1024, description="largest request body; larger ones are answered with 413")
    large_body_limit_bytes: int = Field(
        10 * MEBIBYTE, ge=1024, description="the same for operations that take many bookings at once"
    )

    token_lifetime_seconds: int = Field(7200, ge=1, description="lifetime of an access token")
    token_form: Literal["opaque", "uuid"] = Field(
        "opaque", description="what access tokens look like: 43 random characters, or UUIDs for clients that read them as such"
    )
    login_failures_allowed: int = Field(10, ge=1, description="wrong logins for one name within the window before it must wait")
    login_window_seconds: int = Field(60, ge=1, description="window in which wrong logins are counted, and length of the wait")
    password_checks_at_once: int = Field(
        1, ge=1, le=64, description="argon2 computations each worker runs at the same time, and one more for another tenant"
    )
    password_checks_waiting: int = Field(
        200, ge=1, description="logins of a tenant that may wait for one; more are answered with 429"
    )

    console: bool = Field(True, description="serve the console at /console")
    console_session_seconds: int = Field(28800, ge=1, description="a login to the console ends after this time")
    console_idle_seconds: int = Field(1800, ge=1, description="a login to the console that is not used for so long ends")
    audit_days: int = Field(400, ge=1, description="how long entries of the console's audit log are kept")

    bank_calls_at_once: int = Field(
        20,
        ge=1,
        le=500,
        description="sessions open at one provider at once, over all workers: half for customers who wait, half for the schedule",
    )
    bank_timeout_seconds: float = Field(
        300, gt=0, description="a fetch that takes longer is given up; its late answer is dropped"
    )
    bank_jobs_at_once: int = Field(
        500, ge=1, le=10_000, description="fetches a worker takes at the same time, over all providers, waiting ones included"
    )
    warm_up: bool = Field(
        True, description="API processes make ready at their start what analyses need (some seconds of a core each)"
    )
    results_at_once: bool = Field(
        True,
        description="workers make the results of a user whose customer waits for new data (300 MB more for each worker); "
        "else they are made when somebody asks for them, or by Dagster",
    )
    cached_lines: int = Field(
        500_000, ge=1000, description="lines whose tags each process remembers, about 300 bytes each; then it begins anew"
    )
    fints_product_id: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9]{1,25}$",
        description="product id of this installation, registered with the Deutsche Kreditwirtschaft; none offers no FinTS bank",
    )
    fints_demo_url: Annotated[str | None, AfterValidator(_fints_address)] = Field(
        None, description="address of the simulated FinTS bank; `kontor up` sets it; none does not offer that bank"
    )
    dialogue_seconds: int = Field(
        600, ge=1, le=3600, description="within this time a customer has to confirm a consent or a payment"
    )
    unattended_sessions_per_day: int = Field(
        4,
        ge=1,
        le=4,
        description="bank sessions without the customer on a day per login and bank, and in any 24 hours per access",
    )
    unsynced_lifetime_seconds: int = Field(
        86400, ge=1, description="lifetime of the data of an access that is not refreshed by itself"
    )
    worker_lost_seconds: float = Field(30, gt=1, description="a worker that is silent for so long is dead; its jobs run again")
    work_late_seconds: float = Field(
        600, gt=0, description="work stands still when a job has waited for so long and no fetch has ended in this time"
    )

    webhook_private_addresses: bool = Field(
        False, description="let webhooks call http and private addresses; for tests and development"
    )
    webhook_calls_at_once: int = Field(
        50, ge=1, le=1000, description="calls to receivers each worker makes at the same time; a tenant has at most half of them"
    )
    webhook_slow_calls_at_once: int = Field(
        20, ge=1, le=1000, description="the same for receivers whose latest call was slow; they take no other calls"
    )
    webhook_slow_seconds: float = Field(2, gt=0, description="a receiver is slow when its latest call took at least so long")
    webhook_timeout_seconds: float = Field(10, gt=0, description="a receiver that takes longer has not taken the event")
    webhook_retry_seconds: Annotated[tuple[float, ...], NoDecode] = Field(
        (0, 5, 30, 120, 300), description="pauses before each attempt to deliver an event, separated by commas"
    )
    webhook_drop_seconds: float = Field(600, gt=0, description="an event that could not be delivered by then is dropped")
    webhook_replay_days: int = Field(30, ge=1, description="how long events can be read again")
    webhook_secret_overlap_seconds: int = Field(
        86400, ge=0, description="after a new secret was made, events are signed with the old one as well for so long"
    )

    knowledge: Annotated[Path | None, AfterValidator(_knowledge)] = Field(
        None, description="folder with own rows for the tables of knowledge; in the environment, not in .env"
    )
    vault_keys: str | None = Field(
        None, repr=False, description="vault keys as id:base64, separated by commas, the active one first"
    )
    vault_keys_file: Path | None = Field(None, description="file with the vault keys; default: keys.json in the data directory")
    tombstones_file: Path | None = Field(
        None,
        description="file with the ids of everything that was erased, which no restore may replace; default: tombstones.csv in "
        "the data directory",
    )
    lake: str | None = Field(
        None, description="location of the Parquet lake: a folder, or s3://bucket/path; default: lake in the data directory"
    )
    landing_days: int = Field(400, ge=1, description="how long what the banks said is kept to be merged again")
    first_slot: str = Field(
        "2026-11-01T00",
        pattern=r"^\d{4}-\d{2}-\d{2}T(00|06|12|18)$",
        description="the first pull that is a partition in Dagster; `kontor up` takes the first that has brought something",
    )
    buckets: int = Field(
        64,
        ge=1,
        le=1000,
        description="parts into which users are divided; chosen for a new lake, changed by `kontor buckets split`",
    )

    piece_bookings: int = Field(
        200_000, ge=1, description="bookings that are worked on at once: small buckets together, large ones piece by piece"
    )

    engine: Literal["inline", "processes", "dask"] = Field(
        "inline", description="where buckets are worked on: in one process, on all cores of this machine, or on a Dask cluster"
    )
    engine_workers: int | None = Field(
        None, ge=1, le=1024, description="processes of the engine on this machine; default: its cores"
    )
    dask_scheduler: Annotated[str | None, AfterValidator(_scheduler)] = Field(
        None, description="Dask scheduler as tls://host:port, tcp:// on this machine only; none starts a cluster here"
    )

    @field_validator("retired_operations", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return frozenset(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("dagster_origins", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("webhook_retry_seconds", mode="before")
    @classmethod
    def _numbers(cls, value: object) -> object:
        return tuple(float(part) for part in value.split(",")) if isinstance(value, str) else value

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def keys_path(self) -> Path:
        return self.vault_keys_file or self.home / "keys.json"

    @property
    def tombstones_path(self) -> Path:
        return self.tombstones_file or self.home / "tombstones.csv"

    @property
    def lake_path(self) -> str:
        return self.lake or str(self.home / "lake")
