"""The connectors that the contract suite runs, and what it must know of each to play all parts. A new bank is one more `Case`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from pipelines.banks.base import CatalogueBank, Code, Connector, FetchRequest, Header, Part, Reply, Transfer
from pipelines.banks.demo import DemoBank, security
from tests.support import fints_line

NOW = datetime(2026, 11, 16, 11, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Case:
    """A connector with logins that work, logins for each fault, and the moves through a dialogue."""

    name: str
    build: Callable[[Path], Connector]
    provider: CatalogueBank
    logins: tuple[Mapping[str, str], ...] = field(repr=False)
    faults: Mapping[Code, Mapping[str, str]] = field(repr=False)
    """A login for every code that a fetch can end with, or fail a product with."""
    dialogues: Mapping[str, tuple[Reply, ...]] = field(default_factory=dict)
    """Moves of the login that needs a method, from the first step to the end; none at a bank that only tells."""
    payer: Mapping[str, str] = field(default_factory=dict, repr=False)
    """A login that can pay, and makes the same moves."""
    remembered: Mapping[str, str] = field(default_factory=dict, repr=False)
    """A login whose data come only with what the connector remembers of a consent by the same moves, if there is one."""
    approver: Mapping[str, str] = field(default_factory=dict, repr=False)
    """A login whose customer approves elsewhere, within a minute and without a move, if there is one."""
    checked: Mapping[str, str] = field(default_factory=dict, repr=False)
    """A login whose payments to `stranger` must be confirmed before the moves, if there is one."""
    stranger: str = "DE84370400440532013090"
    long: Mapping[str, str] = field(default_factory=dict, repr=False)
    """A login whose old bookings come only with a consent by the same moves, if there is one."""

    def request(self, login: Mapping[str, str]) -> FetchRequest:
        return FetchRequest(self.provider, dict(login), NOW)


def demo(user_id: str, pin: str | None = None) -> Mapping[str, str]:
    """The login of a demo customer, or of a special user id, whose PIN is the id."""
    return {"userid": user_id, "pin": pin or ("demo" if user_id.startswith("demo") else user_id)}


def fints(user_id: str) -> Mapping[str, str]:
    """A login at the simulated FinTS bank."""
    return {"userid": user_id, "pin": "12345"}


DEMO = Case(
    "demo",
    lambda folder: DemoBank(folder, pause=lambda seconds: None),
    CatalogueBank(UUID(int=0), "Demobank", "demo"),
    tuple(demo(f"demo{number}") for number in range(1, 9)),
    {
        Code.WRONG_CREDENTIALS: demo("test_wrong_pin"),
        Code.LOCKED: demo("test_locked"),
        Code.FIELDS_MISSING: demo("test_incomplete"),
        Code.UNREACHABLE: demo("test_unreachable"),
        Code.INCOMPLETE: demo("test_unusable"),
        Code.METHOD_NEEDED: demo("test_sca_method_media"),
        Code.PRODUCT_FAILED: demo("test_partial"),
        Code.BOOKINGS_FAILED: demo("test_partial"),
        Code.POSITIONS_FAILED: demo("test_partial"),
    },
    {
        "right": (Reply(method="1"), Reply(medium=security.GENERATOR.name), Reply(tan="42")),
        "wrong": (Reply(method="1"), Reply(medium=security.GENERATOR.name), *[Reply(tan="41")] * 3),
        "unknown method": (Reply(method="no such method"),),
        "unknown medium": (Reply(method="1"), Reply(medium="no such medium")),
    },
    demo("test_sca_method_media"),
    demo("test_device"),
    demo("test_consent_app"),
    demo("test_payee"),
    long=demo("test_long_history"),
)
FINTS = Case(
    "fints",
    lambda folder: fints_line.connector(folder, NOW),
    CatalogueBank(UUID(int=8), "Demo FinTS", "fints", blz="99999991"),
    (fints("test_one_step"),),
    {
        Code.WRONG_CREDENTIALS: fints("test_wrong_pin"),
        Code.LOCKED: fints("test_locked"),
        Code.UNREACHABLE: fints("test_unreachable"),
        Code.METHOD_NEEDED: fints("test_tan"),
    },
)
CASES = (DEMO, FINTS)


def transfer(amount_cents: int = 1_250, iban: str = "DE89370400440532013000", recipient: str = "Max Mustermann") -> Transfer:
    """A transfer in which every field is filled."""
    return Transfer(
        recipient,
        iban,
        amount_cents,
        "Rechnung 4711, vielen Dank",
        bic="COBADEFFXXX",
        end_to_end_id="E2E-4711",
        purpose_code="OTHR",
        ultimate_debtor="Erika Muster",
        ultimate_creditor="Moritz Muster",
    )


def header_of(parts: Iterator[Part]) -> Header:
    """The header, which comes first; the session is left after it."""
    first = next(parts)
    assert isinstance(first, Header)
    return first
