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
class Frame:
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
class Page:
    """The content of a page. `template` is its name in `templates/`."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Terms(Page):
    """What must be accepted before anything is typed: paragraphs, those with `# ` before them are headings."""

    template = "terms"
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Bank:
    id: str
    name: str
    blz: str | None = None
    bic: str | None = None


@dataclass(frozen=True)
class Banks(Page):
    """The search for a bank, and what it found. `query` is None before the first search: then some are shown as a beginning."""

    template = "banks"
    query: str | None
    found: tuple[Bank, ...]
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
class Login(Page):
    """The bank's login. `other`: whether the customer may go back and choose another bank."""

    template = "login"
    bank: Bank
    fields: tuple[Field, ...]
    hint: str | None = None
    other: bool = True


@dataclass(frozen=True)
class Start(Page):
    """Before a consent is renewed: which bank is asked."""

    template = "start"
    bank: Bank


@dataclass(frozen=True)
class Working(Page):
    """The bank is being asked; the page looks again by itself."""

    template = "working"
    bank: Bank


@dataclass(frozen=True)
class Choice:
    value: str
    name: str
    hint: str | None = None


@dataclass(frozen=True)
class Methods(Page):
    """By which method the customer confirms."""

    template = "methods"
    bank: Bank
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Media(Page):
    """With which medium the customer confirms; the hint of a choice is a name of `texts.MEDIA`."""

    template = "media"
    bank: Bank
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Tan(Page):
    """Where the TAN is entered. `flickers` and `photo`: `flicker.svg` and `photo.png` beside the page help to it."""

    template = "tan"
    bank: Bank
    method: str
    instructions: str
    start_code: str | None = None
    flickers: bool = False
    photo: bool = False


@dataclass(frozen=True)
class App(Page):
    """The customer confirms in an app, or has come back from the bank's own page; the page looks again by itself."""

    template = "app"
    bank: Bank
    instructions: str


@dataclass(frozen=True)
class BankPage(Page):
    """The way to the bank's own page."""

    template = "bank_page"
    bank: Bank
    url: str


@dataclass(frozen=True)
class Account:
    """An account, card or depot; `kind` is a name of `texts.KINDS`, `number` an IBAN in groups of four or another number."""

    key: str
    name: str
    kind: str
    owner: str
    number: str | None = None
    chosen: bool = True


@dataclass(frozen=True)
class Accounts(Page):
    """Which accounts the tenant shall see; or with `one` which one shall pay."""

    template = "accounts"
    bank: Bank
    accounts: tuple[Account, ...]
    one: bool = False


@dataclass(frozen=True)
class Summary(Page):
    """What will be connected, before it is."""

    template = "summary"
    bank: Bank
    accounts: tuple[Account, ...]


@dataclass(frozen=True)
class Order(Page):
    """A transfer before it is sent. `amount` is as Germans write it (`1.234,50`); `wrong` names fields with a text of
    `texts.TROUBLES`. With `editable` the customer may change recipient, IBAN, amount and purpose.
    """

    template = "order"
    bank: Bank | None
    account: Account | None
    recipient: str
    iban: str
    amount: str
    purpose: str
    editable: bool
    instant: bool = False
    execute_on: date | None = None
    wrong: dict[str, Trouble] = field(default_factory=dict)


@dataclass(frozen=True)
class Result(Page):
    """How it ended, after something was done: `text` is a name of `texts.RESULTS`. `good`, or else something to know."""

    template = "result"
    text: str
    good: bool
    until: datetime | None = None
    details: str | None = None
    order: Order | None = None


@dataclass(frozen=True)
class Return(Page):
    """The way back to the tenant, which the browser goes by itself. `reentry` is the value that the tenant gets."""

    template = "return"
    url: str
    reentry: str


@dataclass(frozen=True)
class Stopped(Page):
    """A way that ends here, without going back: `text` is a name of `texts.STOPS`; `reentry` what a tenant would get, if any."""

    template = "stopped"
    text: str
    reentry: str | None = None
    correlation_id: str | None = None
