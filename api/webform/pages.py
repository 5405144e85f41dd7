"""What each page of the form shows: values only. `wizard.py` says which page comes, `templates/` how it looks."""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar

from api.webform.texts import Language


@dataclass(frozen=True)
class Design:
    """How a tenant wants its form to look: what it has not said is None."""

    name: str
    """As customers know the tenant."""
    has_logo: bool = False
    imprint_url: str | None = None
    privacy_url: str | None = None


KONTOR = Design("Kontor")


@dataclass(frozen=True)
class Trouble:
    """Why a page is shown again: a text of `texts.TROUBLES`, with what it names; `details` are the bank's own words."""

    text: str
    values: dict[str, str] = field(default_factory=dict)
    details: str | None = None


@dataclass(frozen=True)
class PageFrame:
    """What all pages have around their own content. `turn` and `token` go with every form."""

    language: Language
    design: Design = KONTOR
    token: str = field(default="", repr=False)
    turn: int = 0
    steps: tuple[str, ...] = ()
    """The steps of this way in order, by their names in `texts.STEPS`."""
    step: int = 0
    """How many of them are done: the next one is shown as the current one."""
    cancels: bool = False
    """Whether the customer can still leave without anything being done."""
    trouble: Trouble | None = None


@dataclass(frozen=True)
class FormPage:
    """The content of a page. `template` is its name in `templates/`."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Terms(FormPage):
    """What must be accepted before anything is typed: paragraphs, those with `# ` before them are headings."""

    template = "terms"
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class BankChoice:
    id: str
    name: str
    blz: str | None = None
    bic: str | None = None


@dataclass(frozen=True)
class Banks(FormPage):
    """The search for a bank, and what it found. `query` is None before the first search: then some are shown as a beginning."""

    template = "banks"
    query: str | None
    found: tuple[BankChoice, ...]
    more: int = 0
    """How many fit besides."""


@dataclass(frozen=True)
class Field:
    """A field of the bank's login. `wrong`: what was typed does not fit `pattern`; secrets are never shown again."""

    key: str
    label: str
    secret: bool
    pattern: str
    hint: str | None = None
    value: str = ""
    wrong: bool = False


@dataclass(frozen=True)
class LoginPage(FormPage):
    """The bank's login. `other`: whether the customer may go back and choose another bank."""

    template = "login"
    bank: BankChoice
    fields: tuple[Field, ...]
    hint: str | None = None
    other: bool = True


@dataclass(frozen=True)
class Start(FormPage):
    """Before a consent is renewed: which bank is asked."""

    template = "start"
    bank: BankChoice


@dataclass(frozen=True)
class Working(FormPage):
    """The bank is being asked; the page looks again by itself."""

    template = "working"
    bank: BankChoice


@dataclass(frozen=True)
class Option:
    value: str
    name: str
    hint: str | None = None


@dataclass(frozen=True)
class Methods(FormPage):
    """By which method the customer confirms."""

    template = "methods"
    bank: BankChoice
    choices: tuple[Option, ...]


@dataclass(frozen=True)
class Media(FormPage):
    """With which medium the customer confirms; the hint of a choice is a name of `texts.MEDIA`."""

    template = "media"
    bank: BankChoice
    choices: tuple[Option, ...]


@dataclass(frozen=True)
class Tan(FormPage):
    """Where the TAN is entered. `flickers` and `photo`: `flicker.svg` and `photo.png` beside the page help to it."""

    template = "tan"
    bank: BankChoice
    method: str
    instructions: str
    start_code: str | None = None
    flickers: bool = False
    photo: bool = False


@dataclass(frozen=True)
class App(FormPage):
    """The customer confirms in an app, or has come back from the bank's own page; the page looks again by itself."""

    template = "app"
    bank: BankChoice
    instructions: str


@dataclass(frozen=True)
class BankPage(FormPage):
    """The way to the bank's own page."""

    template = "bank_page"
    bank: BankChoice
    url: str


@dataclass(frozen=True)
class AccountChoice:
    """An account, card or depot; `kind` is a name of `texts.KINDS`, `number` an IBAN in groups of four or another number."""

    key: str
    name: str
    kind: str
    owner: str
    number: str | None = None
    chosen: bool = True


@dataclass(frozen=True)
class Accounts(FormPage):
    """Which accounts the tenant shall see; or with `one` which one shall pay."""

    template = "accounts"
    bank: BankChoice
    accounts: tuple[AccountChoice, ...]
    one: bool = False


@dataclass(frozen=True)
class Summary(FormPage):
    """What will be connected, before it is."""

    template = "summary"
    bank: BankChoice
    accounts: tuple[AccountChoice, ...]


@dataclass(frozen=True)
class Order(FormPage):
    """A transfer before it is sent. `amount` is as Germans write it (`1.234,50`); `wrong` names fields with a text of
    `texts.TROUBLES`. With `editable` the customer may change recipient, IBAN, amount and purpose.
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
    """How it ended, after something was done: `text` is a name of `texts.RESULTS`. `good`, or else something to know."""

    template = "result"
    text: str
    good: bool
    until: datetime | None = None
    details: str | None = None
    order: Order | None = None


@dataclass(frozen=True)
class Return(FormPage):
    """The way back to the tenant, which the browser goes by itself. `reentry` is the value that the tenant gets."""

    template = "return"
    url: str
    reentry: str


@dataclass(frozen=True)
class Stopped(FormPage):
    """A way that ends here, without going back: `text` is a name of `texts.STOPS`; `reentry` what a tenant would get, if any."""

    template = "stopped"
    text: str
    reentry: str | None = None
    correlation_id: str | None = None
