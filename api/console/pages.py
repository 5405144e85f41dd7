"""The parts that the pages of the console are made of. Views fill them with values; `templates/` says how they look."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar


@dataclass(frozen=True)
class Cell:
    """A value to show. `kind` is the name of its macro in `templates/parts.html`."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class PlainCell(Cell):
    kind: ClassVar[str] = "plain"
    text: str
    is_number: bool = False
    note: str | None = None


@dataclass(frozen=True)
class IdCell(Cell):
    """An id or another word of machines."""

    kind: ClassVar[str] = "id"
    text: str


@dataclass(frozen=True)
class LinkCell(Cell):
    kind: ClassVar[str] = "link"
    text: str
    href: str


@dataclass(frozen=True)
class StateCell(Cell):
    """A state in a word, with its tone: `good`, `bad`, `warn` or none."""

    kind: ClassVar[str] = "state"
    text: str
    tone: str = ""
    note: str | None = None


@dataclass(frozen=True)
class TimeCell(Cell):
    """A moment; a dash if there is none."""

    kind: ClassVar[str] = "time"
    moment: datetime | None


@dataclass(frozen=True)
class ActionChoice:
    """A field of an action from which one value is chosen."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class PostAction:
    """A button that changes something. One with a warning has to be opened first."""

    label: str
    path: str
    warning: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    choice: ActionChoice | None = None
    subject: str = ""
    """What it is done to, for those who hear the button without its row."""


@dataclass(frozen=True)
class ActionCell(Cell):
    kind: ClassVar[str] = "actions"
    actions: Sequence[PostAction]


@dataclass(frozen=True)
class Block:
    """A part of a page under a heading of its own. `kind` is the name of its macro."""

    kind: ClassVar[str]
    heading: str


@dataclass(frozen=True)
class Pager:
    """Where a page of a list stands: the addresses of the one before and after it."""

    number: int
    previous: str | None
    next: str | None


@dataclass(frozen=True)
class Listing(Block):
    """Rows under columns; `empty` is the text in place of no rows."""

    kind: ClassVar[str] = "listing"
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    empty: str
    pager: Pager | None = None
    lead: str | None = None
    actions: Sequence[PostAction] = ()


@dataclass(frozen=True)
class FactSheet(Block):
    """Names and values of one object, with what can be done to it."""

    kind: ClassVar[str] = "sheet"
    facts: Sequence[tuple[str, Cell]]
    actions: Sequence[PostAction] = ()


@dataclass(frozen=True)
class Concern:
    """Something that somebody should look at."""

    text: str
    tone: str = "bad"
    href: str | None = None


@dataclass(frozen=True)
class Concerns(Block):
    """What is wrong now, the worst first; `well` is the text in place of nothing."""

    kind: ClassVar[str] = "concerns"
    concerns: Sequence[Concern]
    well: str


@dataclass(frozen=True)
class Filters(Block):
    """Fields of a search, sent as a query: each a name, a label and the current value."""

    kind: ClassVar[str] = "filters"
    path: str
    fields: Sequence[tuple[str, str, str]]
    boxes: Sequence[tuple[str, str, bool]]
    button: str


@dataclass(frozen=True)
class SecretNote(Block):
    """A secret that is shown this once."""

    kind: ClassVar[str] = "secret"
    lead: str
    secret: str = field(repr=False)


@dataclass(frozen=True)
class ConsolePage:
    """A page: the places above it, its tabs (text, address, whether it is this one) and its blocks."""

    title: str
    blocks: Sequence[Block]
    place: str = ""
    """The entry of the menu that it belongs to."""
    crumbs: Sequence[tuple[str, str]] = ()
    tabs: Sequence[tuple[str, str, bool]] = ()
    notice: str | None = None
    lead: str | None = None
