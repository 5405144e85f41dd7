"""Routes of consents: the customer allows the bank to share data, and confirms it step by step."""

from dataclasses import replace
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Body, Query
from pydantic import StringConstraints
from starlette.responses import Response

from api.bodies.dialogues import consent_status
from api.customer import (
    AccessKey,
    CallbackUrl,
    Modifies,
    QueryTanSettings,
    Reads,
    RequiredIp,
    access_request,
    changing_for,
    reading_for,
)
from api.http.errors import Problem
from api.http.mistakes import missing
from api.http.responses import created_response, json_response
from api.http.route import router
from api.schemas.accesses import ACCESS_KEY, ROOT, SOME_CREDENTIALS, NewAccess
from api.schemas.base import shape
from api.schemas.languages import Text
from api.schemas.providers import DEMO_ID
from api.schemas.transfers import ChosenMedium, ChosenMethod, ConsentStatus, EnteredTan
from api.services import AppServices, Services
from api.webform import entry as form_entry
from pipelines.banks.base import Reply
from pipelines.dialogues import requests
from pipelines.dialogues.requests import DialogueOptions
from pipelines.fetching import connect
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access
from warehouse.stores import accesses, tenants
from warehouse.stores import dialogues as store
from warehouse.stores.callers import Caller
from warehouse.stores.dialogues import CONSENT

routes = router("/customer/v2", "Consents")
OTHER_ACCESS = Text(
    "Der Bankzugang im Inhalt ist nicht der in der Adresse.", "The access in the body is not the one in the address."
)
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
    services: AppServices,
    customer_ip: RequiredIp,
    callback_url: CallbackUrl = None,
    query_tan_settings: QueryTanSettings = False,
    max_transactions: History = None,
    entries: ConsentEntries = None,
) -> Response:
    """Begins a consent for an access, which is added or gets another login if the body has one. Answers with its address."""

    def begin() -> tuple[UUID, int] | str:
        with changing_for(services, caller) as owner:
            if not tenants.find(owner, caller.tenant_name).regulated:
                progress = {"anew": query_tan_settings, "history": max_transactions, "ip": customer_ip}
                return _form_url(services, owner, access, entries, callback_url, **progress)
            options = _options(owner, callback_url, customer_ip)
            row = _access(services, owner, access, entries)
            row.history = max_transactions or row.history
            if not query_tan_settings:
                options = replace(options, method=row.sca_method, medium=row.sca_medium)
            dialogue = requests.begin_consent(owner, services.vault, services.settings, row, options)
            return dialogue.id, dialogue.move

    outcome = await services.changes.insist(begin)
    if isinstance(outcome, str):
        return form_entry.redirect_response(outcome)
    await services.arrivals.wait_for_answer(*outcome)
    return created_response(services.links.to(*ROOT, "consent", str(outcome[0])))


@routes.get("/consent/{consent}", response_model=ConsentStatus)
def get_consent(consent: UUID, caller: Reads, services: AppServices) -> Response:
    """How far a consent is. The bank is not asked."""
    with reading_for(services, caller) as owner:
        return json_response(services.zone, consent_status(services.links, caller, store.find(owner, consent, CONSENT)))


@routes.post("/consent/{consent}/method", response_model=ConsentStatus, responses={409: {}})
async def set_consent_method(consent: UUID, choice: ChosenMethod, caller: Modifies, services: AppServices) -> Response:
    """Chooses the method by which the customer confirms."""
    return await _move(services, caller, consent, Reply(method=str(choice.method)))


@routes.post("/consent/{consent}/medium", response_model=ConsentStatus, responses={409: {}})
async def set_consent_medium(consent: UUID, choice: ChosenMedium, caller: Modifies, services: AppServices) -> Response:
    """Chooses the medium with which the customer confirms."""
    return await _move(services, caller, consent, Reply(medium=choice.medium))


@routes.put("/consent/{consent}/tan", response_model=ConsentStatus, responses={409: {}})
async def submit_consent_tan(consent: UUID, tan_input: EnteredTan, caller: Modifies, services: AppServices) -> Response:
    """Submits the TAN that the customer has entered."""
    return await _move(services, caller, consent, Reply(tan=tan_input.tan))


async def _move(services: Services, caller: Caller, consent: UUID, reply: Reply) -> Response:
    """Stores a move, waits for the bank's answer, and responds with the consent's status after it."""

    def store_move() -> int:
        with changing_for(services, caller) as owner:
            return requests.reply(owner, services.vault, store.find(owner, consent, CONSENT, lock=True), reply)

    def status() -> Response:
        with reading_for(services, caller) as owner:
            return json_response(services.zone, consent_status(services.links, caller, store.find(owner, consent, CONSENT)))

    await services.arrivals.wait_for_answer(consent, await services.changes.insist(store_move))
    return await services.changes.run(status)


def _options(owner: Owner, callback_url: str | None, customer_ip: str) -> DialogueOptions:
    if callback_url is None:
        raise Problem(400, mistakes=missing("callbackUrl", place="query"))
    return DialogueOptions(customer_ip, tenants.check_callback(owner, callback_url))


def _access(services: Services, owner: Owner, key: str, entries: dict[str, NewAccess] | None) -> Access:
    """The access to confirm, with the login that the caller sends, if any."""
    if not entries:
        return accesses.find(owner, key, lock=True)
    if list(entries) != [key]:
        raise Problem(400, OTHER_ACCESS)
    entry = entries[key]
    if entry.provider_id is None and entry.credentials is None:
        return accesses.find(owner, key, lock=True)
    (login,) = connect.open_entries(owner, services.vault, services.connectors, [access_request(key, entry)])
    if login.missing:
        raise Problem(400, mistakes=missing(*(f"{key}.credentials.{field}" for field in login.missing)))
    return connect.keep_login(owner, services.vault, services.settings, login)


def _form_url(
    services: Services,
    owner: Owner,
    key: str,
    entries: dict[str, NewAccess] | None,
    callback_url: str | None,
    **progress: str | bool | None,
) -> str:
    """The address of the form, for a redirect tenant."""
    for entry in (entries or {}).values():
        form_entry.refuse_login(providerId=entry.provider_id, credentials=entry.credentials)
    return form_entry.begin_renewal(services, owner, accesses.find(owner, key), callback_url=callback_url, **progress)
