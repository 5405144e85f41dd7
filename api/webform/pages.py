"""The values of each page of the form. `wizard.py` decides which page comes next, `templates/` how it looks."""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar

from api.webform.texts import Language


@dataclass(frozen=True)
class Design:
    """A tenant's design of the form; None where the tenant has set nothing."""

    name: str
    """The name by which customers know the tenant."""
    has_logo: bool = False
    imprint_url: str | None = None
    privacy_url: str | None = None


KONTOR = Design("Kontor")


@dataclass(frozen=True)
class Trouble:
    """Why a page is shown again: a key of `texts.TROUBLES` with its values; `details` are the bank's own words."""

    text: str
    values: dict[str, str] = field(default_factory=dict)
    details: str | None = None


@dataclass(frozen=True)
class PageFrame:
    """What all pages have around their content. Every form carries `turn` and `token`."""

    language: Language
    design: Design = KONTOR
    token: str = field(default="", repr=False)
    turn: int = 0
    steps: tuple[str, ...] = ()
    """The steps of this use case in order, as keys of `texts.STEPS`."""
    step: int = 0
    """The number of completed steps; the next one is the current one."""
    cancels: bool = False
    """Whether the customer can still cancel without any effect."""
    trouble: Trouble | None = None
    seconds_left: int = 0
    """The seconds after which the session ends if nothing happens; 0 for a page outside a session."""
    opener: str | None = None
    """The origin of the page that has opened the form in a window of its own, if one has."""


@dataclass(frozen=True)
class FormPage:
    """The content of a page. `template` is the name of its file in `templates/`."""

    template: ClassVar[str]


POINTS = {
    "CREATE_ACCOUNT": (("lock", "login"), ("choose", "choice"), ("undo", "withdrawal")),
    "AUTHENTICATE_ACCOUNT": (("lock", "login"), ("choose", "choice"), ("undo", "withdrawal")),
    "SINGLE_TRANSFER": (("lock", "login"), ("check", "approval"), ("undo", "once")),
}
"""What the first page says in short, by use case: icons, and keys of `texts.POINTS`."""


@dataclass(frozen=True)
class Terms(FormPage):
    """The terms to accept first, as paragraphs; those that begin with `# ` are headings. `use_case` is a key of `texts.REQUESTS`:
    it decides what the page says in short before them.
    """

    template = "terms"
    paragraphs: tuple[str, ...]
    use_case: str = "CREATE_ACCOUNT"

    @property
    def points(self) -> tuple[tuple[str, str], ...]:
        """What matters most: icons, and keys of `texts.POINTS`."""
        return POINTS[self.use_case]


@dataclass(frozen=True)
class BankChoice:
    """A bank. `disturbed`: it fails for everybody and is paused; `recent`: the customer has connected it before."""

    id: str
    name: str
    blz: str | None = None
    bic: str | None = None
    disturbed: bool = False
    recent: bool = False


@dataclass(frozen=True)
class Banks(FormPage):
    """The search for a bank and its results. Before the first search `query` is None, and some banks are listed."""

    template = "banks"
    query: str | None
    banks: tuple[BankChoice, ...]
    more: int = 0
    """The number of further matches."""
    files: BankChoice | None = None
    """The provider of statement files, where these can take the place of a bank."""


@dataclass(frozen=True)
class Field:
    """A field of the bank's login. `wrong`: the value does not match `pattern`; secrets are never shown again."""

    key: str
    label: str
    secret: bool
    pattern: str
    hint: str | None = None
    value: str = ""
    wrong: bool = False


@dataclass(frozen=True)
class LoginPage(FormPage):
    """The bank's login. `other`: whether the customer may choose another bank."""

    template = "login"
    bank: BankChoice
    fields: tuple[Field, ...]
    hint: str | None = None
    other: bool = True


@dataclass(frozen=True)
class Upload(FormPage):
    """The upload of statement files; `problem` is why the last one could not be read, with its name."""

    template = "upload"
    problem: str | None = None


@dataclass(frozen=True)
class UploadedLine:
    """What a file has brought for one account: its name and number, the period, and the numbers of bookings."""

    name: str
    number: str | None
    period: str
    lines: int
    added: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Uploaded(FormPage):
    """The accounts of the files that were stored last, and a field for further ones."""

    template = "uploaded"
    accounts: tuple[UploadedLine, ...]
    problem: str | None = None


@dataclass(frozen=True)
class Start(FormPage):
    """The start of a renewed consent, with the name of the bank."""

    template = "start"
    bank: BankChoice


@dataclass(frozen=True)
class Working(FormPage):
    """A call to the bank is running; the page polls by itself."""

    template = "working"
    bank: BankChoice


@dataclass(frozen=True)
class Option:
    value: str
    name: str
    hint: str | None = None


@dataclass(frozen=True)
class Methods(FormPage):
    """The choice of the method to confirm by."""

    template = "methods"
    bank: BankChoice
    choices: tuple[Option, ...]


@dataclass(frozen=True)
class Media(FormPage):
    """The choice of the medium to confirm with; hints are keys of `texts.MEDIA`."""

    template = "media"
    bank: BankChoice
    choices: tuple[Option, ...]


@dataclass(frozen=True)
class Tan(FormPage):
    """The input of a TAN. `flickers` and `photo`: the page shows `flicker.svg` or `photo.png`. `order` is the transfer that the
    TAN confirms, `payee` what the payee's bank has said of its name.
    """

    template = "tan"
    bank: BankChoice
    method: str
    instructions: str
    start_code: str | None = None
    flickers: bool = False
    photo: bool = False
    order: "Order | None" = None
    payee: "PayeeResult | None" = None


@dataclass(frozen=True)
class PayeeResult:
    """What the payee's bank has said: `result` is a key of `texts.PAYEE_RESULTS`, `name` the right name of a similar one."""

    result: str
    name: str | None = None


@dataclass(frozen=True)
class PayeePage(FormPage):
    """The decision about a payee whose name and IBAN do not match for certain. `result` is a key of `texts.PAYEES`, `name` the
    right name of a similar one, `notice` the bank's own words.
    """

    template = "payee"
    bank: BankChoice
    recipient: str
    iban: str
    result: str
    name: str | None = None
    notice: str | None = None


@dataclass(frozen=True)
class App(FormPage):
    """The customer confirms in an app, or has come back from the bank's own page; the page polls by itself."""

    template = "app"
    bank: BankChoice
    instructions: str
    order: "Order | None" = None
    payee: "PayeeResult | None" = None


@dataclass(frozen=True)
class BankPage(FormPage):
    """The link to the bank's own page."""

    template = "bank_page"
    bank: BankChoice
    url: str


@dataclass(frozen=True)
class AccountChoice:
    """An account, card or depot; `kind` is a key of `texts.KINDS`, `number` an IBAN in groups of four or another number."""

    key: str
    name: str
    kind: str
    owner: str
    number: str | None = None
    selected: bool = True


@dataclass(frozen=True)
class Accounts(FormPage):
    """The choice of the accounts that the tenant may see; with `one`, of the account that pays."""

    template = "accounts"
    bank: BankChoice
    accounts: tuple[AccountChoice, ...]
    one: bool = False


@dataclass(frozen=True)
class Summary(FormPage):
    """The accounts to connect, for confirmation."""

    template = "summary"
    bank: BankChoice
    accounts: tuple[AccountChoice, ...]


@dataclass(frozen=True)
class Order(FormPage):
    """A transfer before it is sent. `amount` is in German notation (`1.234,50`); `wrong` has the problems by field. With
    `editable` the customer may change recipient, IBAN, amount and purpose.
    """

    template = "order"
    bank: BankChoice | None
    account: AccountChoice | None
    recipient: str
    iban: str
    amount: str
    purpose: str
    editable: bool
    instant: bool = False
    execute_on: date | None = None
    wrong: dict[str, Trouble] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultPage(FormPage):
    """The result after an effect: `text` is a key of `texts.RESULTS`, `good` whether it succeeded."""

    template = "result"
    text: str
    good: bool
    until: datetime | None = None
    details: str | None = None
    order: Order | None = None


@dataclass(frozen=True)
class Return(FormPage):
    """The way back to the tenant, which the browser follows by itself. `reentry` is the value that the tenant receives, with the
    id of a `payment`.
    """

    template = "return"
    url: str
    reentry: str
    payment: str | None = None


@dataclass(frozen=True)
class Stopped(FormPage):
    """An end: `text` is a key of `texts.STOPS`, `reentry` the value that a tenant would receive, if any, `url` the way back to a
    tenant that is known.
    """

    template = "stopped"
    text: str
    reentry: str | None = None
    correlation_id: str | None = None
    url: str | None = None
