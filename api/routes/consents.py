"""Consents: the customer lets the bank give data, and confirms it step by step."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Body, Query
from pydantic import StringConstraints
from starlette.responses import Response

from api.bodies.dialogues import consent_status
from api.http.errors import Problem
from api.http.responses import answer, created, link
from api.http.route import router
from api.routes.accesses import AccessKey, Modifies, Reads, RequiredIp, changing_for, entry_of, reading_for
from api.schemas.accesses import ACCESS_KEY, ROOT, SOME_CREDENTIALS, NewAccess
from api.schemas.base import Flag, shape
from api.schemas.providers import DEMO_ID
from api.schemas.transfers import ChosenMedium, ChosenMethod, ConsentStatus, EnteredTan
from api.services import Held, Services
from api.webform import entry
from pipelines.banks.base import Reply
from pipelines.dialogues import requests
from pipelines.dialogues.requests import DialogueOptions
from pipelines.fetching import connect
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access
from warehouse.stores import accesses, redirect_sessions, tenants
from warehouse.stores import dialogues as store
from warehouse.stores.callers import Caller
from warehouse.stores.dialogues import CONSENT

routes = router("/customer/v2", "Consents")
CallbackUrl = Annotated[
    str | None,
    Query(
        alias="callbackUrl",
        max_length=2048,
        description="where the customer comes back to from the bank's own pages; regulated tenants must say it",
        examples=["https://app.example.de/back"],
    ),
]
QueryTanSettings = Annotated[
    Flag, Query(alias="queryTanSettings", description="ask for method and medium, whatever was chosen the last time")
]
History = Annotated[
    Annotated[Literal["none", "all", "paymentAccounts"], shape("History")] | None,
    Query(alias="maxTransactions", description="of which products bookings older than 90 days are fetched"),
]
ConsentEntries = Annotated[
    Annotated[dict[Annotated[str, StringConstraints(pattern=ACCESS_KEY)], NewAccess], shape("ConsentAccess", max_length=1)]
    | None,
    Body(examples=[{"0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10": {"providerId": DEMO_ID, "credentials": SOME_CREDENTIALS}}]),
]


@routes.post(
    "/bankzugaenge/{access}/consent",
    status_code=201,
    response_class=Response,
    responses={409: {}, 451: {"description": "The customer must go through the redirect form at `Location`."}},
)
async def start_consent(
    access: AccessKey,
    caller: Modifies,
    held: Held,
    customer_ip: RequiredIp,
    callback_url: CallbackUrl = None,
    query_tan_settings: QueryTanSettings = False,
    max_transactions: History = None,
    entries: ConsentEntries = None,
) -> Response:
    """Begins a consent for an access, which is added or gets another login if the body has one. Answers with its address."""

    def begin() -> tuple[UUID, int] | str:
        with changing_for(held, caller) as owner:
            if not tenants.find(owner, caller.tenant_name).regulated:
                about = {"anew": query_tan_settings, "history": max_transactions, "ip": customer_ip}
                return _form(held, owner, access, entries, callback_url, **about)
            wanted = _wanted(owner, callback_url, customer_ip)
            found = _access(held, owner, access, entries)
            found.history = max_transactions or found.history
            if not query_tan_settings:
                wanted = DialogueOptions(wanted.attended_from, wanted.return_to, found.sca_method, found.sca_medium)
            dialogue = requests.begin_consent(owner, held.vault, held.settings, found, wanted)
            return dialogue.id, dialogue.move

    begun = await held.changes.insist(begin)
    if isinstance(begun, str):
        return entry.redirected(begun)
    await held.arrivals.wait_for_answer(*begun)
    return created(link(held, *ROOT, "consent", str(begun[0])))


@routes.get("/consent/{consent}", response_model=ConsentStatus)
def get_consent(consent: UUID, caller: Reads, held: Held) -> Response:
    """How far a consent is. The bank is not asked."""
    with reading_for(held, caller) as owner:
        return answer(held, consent_status(held, caller, store.find(owner, consent, CONSENT)))


@routes.post("/consent/{consent}/method", response_model=ConsentStatus, responses={409: {}})
async def set_consent_method(consent: UUID, chosen: ChosenMethod, caller: Modifies, held: Held) -> Response:
    """Chooses the method by which the customer confirms."""
    return await _move(held, caller, consent, Reply(method=str(chosen.method)))


@routes.post("/consent/{consent}/medium", response_model=ConsentStatus, responses={409: {}})
async def set_consent_medium(consent: UUID, chosen: ChosenMedium, caller: Modifies, held: Held) -> Response:
    """Chooses the medium with which the customer confirms."""
    return await _move(held, caller, consent, Reply(medium=chosen.medium))


@routes.put("/consent/{consent}/tan", response_model=ConsentStatus, responses={409: {}})
async def submit_consent_tan(consent: UUID, entered: EnteredTan, caller: Modifies, held: Held) -> Response:
    """Submits the TAN that the customer has entered."""
    return await _move(held, caller, consent, Reply(tan=entered.tan))


async def _move(held: Services, caller: Caller, consent: UUID, reply: Reply) -> Response:
    """Puts a move down, waits for the bank's answer, and tells how the consent stands then."""

    def put_down() -> int:
        with changing_for(held, caller) as owner:
            return requests.reply(owner, held.vault, store.find(owner, consent, CONSENT, lock=True), reply)

    def told() -> Response:
        with reading_for(held, caller) as owner:
            return answer(held, consent_status(held, caller, store.find(owner, consent, CONSENT)))

    await held.arrivals.wait_for_answer(consent, await held.changes.insist(put_down))
    return await held.changes.run(told)


def _wanted(owner: Owner, callback_url: str | None, customer_ip: str) -> DialogueOptions:
    if callback_url is None:
        raise Problem(400, "callbackUrl: fehlt")
    return DialogueOptions(customer_ip, tenants.check_callback(owner, callback_url))


def _access(held: Services, owner: Owner, key: str, entries: dict[str, NewAccess] | None) -> Access:
    """The access to be confirmed, with the login that the caller sends, if any."""
    if not entries:
        return accesses.find(owner, key, lock=True)
    if list(entries) != [key]:
        raise Problem(400, "Der Bankzugang im Inhalt ist nicht der in der Adresse.")
    given = entries[key]
    if given.provider_id is None and given.credentials is None:
        return accesses.find(owner, key, lock=True)
    (login,) = connect.open_entries(owner, held.vault, held.connectors, [entry_of(key, given)])
    if login.missing:
        raise Problem(400, f"credentials: es fehlen {', '.join(login.missing)}")
    return connect.keep_login(owner, held.vault, held.settings, login)


def _form(
    held: Services,
    owner: Owner,
    key: str,
    entries: dict[str, NewAccess] | None,
    callback_url: str | None,
    **about: str | bool | None,
) -> str:
    """The address of the form, for a tenant whose customers type there."""
    for given in (entries or {}).values():
        entry.refuse_login(providerId=given.provider_id, credentials=given.credentials)
    access = accesses.find(owner, key)
    return entry.begin(
        held,
        owner,
        redirect_sessions.AUTHENTICATE_ACCOUNT,
        callback_url=callback_url,
        access_key=key,
        provider_id=access.provider_id,
        **about,
    )
