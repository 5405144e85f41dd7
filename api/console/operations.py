"""The pages of the installation for operators: banks, jobs, freshness, and payments whose outcome nobody knows."""

from datetime import timedelta
from uuid import UUID

from starlette.responses import Response

from api.console import render
from api.console.formats import duration, number, percent, seconds
from api.console.pages import (
    ActionCell,
    ActionChoice,
    Block,
    Cell,
    ConsolePage,
    FactSheet,
    IdCell,
    LinkCell,
    Listing,
    PlainCell,
    PostAction,
    StateCell,
    TimeCell,
)
from api.console.roles import OPERATIONS_READ, PAYMENTS_SETTLE
from api.console.visits import PAGE_ROWS, Visit, back_to, page
from pipelines import operations
from pipelines.dialogues import unsettled
from pipelines.operations import BankHealth
from warehouse.errors import Invalid, NotFound
from warehouse.lake import buckets
from warehouse.postgres import jobs
from warehouse.postgres.audit_log import Deed
from warehouse.postgres.tables import Dialogue
from warehouse.stores import results
from warehouse.stores.results import BucketState

PAYMENTS = f"{render.ROOT}/payments"
OUTCOMES = {"executed": True, "not_executed": False}


@page("/banks", OPERATIONS_READ)
def list_banks(visit: Visit) -> Response:
    """How each bank did in the last days; those that are paused or fail come first."""
    t, window, services = visit.t, visit.window(), visit.services
    health = operations.read_health(services.database, services.settings, visit.now)
    health.sort(key=lambda bank: (bank.paused_at is None, -sum(bank.faults.values()), bank.name))
    rows = health[window.offset :][: window.limit]
    columns = (
        t("Bank", "Bank"),
        t("Stand", "State"),
        t("Sitzungen", "Sessions"),
        t("mit Daten", "with data"),
        t("Fehler", "Faults"),
        t("Bestätigungen", "Confirmations"),
        t("Dauer", "Duration"),
        t("letzter Kontakt", "last contact"),
        t("nächster Versuch", "next attempt"),
    )
    listing = Listing(
        t("Banken mit Abrufen", "Banks with fetches"),
        columns,
        [_bank_row(visit, bank) for bank in rows[:PAGE_ROWS]],
        t("In den letzten sieben Tagen wurde nichts abgerufen.", "Nothing was fetched in the last seven days."),
        visit.pager(window, len(rows)),
        lead=t("Die letzten sieben Tage.", "The last seven days."),
    )
    return visit.show(ConsolePage(t("Banken", "Banks"), [listing], "banks"))


@page("/jobs", OPERATIONS_READ)
def list_jobs(visit: Visit) -> Response:
    """Workers, queues, and the jobs that wait and run by task."""
    t, language, services = visit.t, visit.language, visit.services
    work = operations.read_work(services.database, services.settings)
    reasons = operations.standstills(work, services.settings, visit.now)
    with services.database.operating() as operator:
        tasks = jobs.counts(operator)
    sign_of_life = "–" if work.heartbeat_seconds is None else duration(timedelta(seconds=work.heartbeat_seconds), language)
    facts: list[tuple[str, Cell]] = [
        (
            t("Stand", "State"),
            StateCell(t("steht still", "stands still"), "bad") if reasons else StateCell(t("läuft", "works"), "good"),
        ),
        (
            t("Arbeitsprozesse", "Workers"),
            PlainCell(
                t("{alive} aktiv, {lost} verloren", "{alive} alive, {lost} lost", alive=work.workers, lost=work.lost_workers)
            ),
        ),
        (t("Letztes Lebenszeichen vor", "Last sign of life"), PlainCell(sign_of_life)),
        (t("Letzter Abruf beendet", "Last fetch ended"), TimeCell(work.last_fetch_at)),
    ]
    names = {
        "awaited": t("Kunden warten", "customers wait"),
        "scheduled": t("nach Plan", "scheduled"),
        "webhooks": t("Webhooks", "webhooks"),
    }
    queues = Listing(
        t("Warteschlangen", "Queues"),
        (
            t("Warteschlange", "Queue"),
            t("Stand", "State"),
            t("warten", "waiting"),
            t("laufen", "running"),
            t("die älteste seit", "the oldest for"),
        ),
        [
            (
                PlainCell(names[name]),
                StateCell(t("steht still", "stands still"), "bad") if name in reasons else StateCell(t("läuft", "works"), "good"),
                PlainCell(number(queue.waiting, language), is_number=True),
                PlainCell(number(queue.running, language), is_number=True),
                PlainCell(duration(timedelta(seconds=queue.oldest_seconds), language) if queue.waiting else "–"),
            )
            for name, queue in work.queues.items()
        ],
        "",
    )
    by_task = Listing(
        t("Aufträge", "Jobs"),
        (
            t("Aufgabe", "Task"),
            t("warten", "waiting"),
            t("laufen", "running"),
            t("Versuche höchstens", "most attempts"),
            t("geplant für", "planned for"),
        ),
        [
            (
                IdCell(task.task),
                PlainCell(number(task.waiting, language), is_number=True),
                PlainCell(number(task.running, language), is_number=True),
                PlainCell(number(task.max_attempts, language), is_number=True),
                TimeCell(task.planned_at),
            )
            for task in tasks
        ],
        t("Kein Auftrag wartet oder läuft.", "No job waits or runs."),
    )
    blocks: list[Block] = [FactSheet(t("Stand", "State"), facts), queues, by_task]
    return visit.show(ConsolePage(t("Aufträge", "Jobs"), blocks, "jobs"))


@page("/freshness", OPERATIONS_READ)
def show_freshness(visit: Visit) -> Response:
    """How old data and results are, over all and by bucket."""
    t, language, services, window = visit.t, visit.language, visit.services, visit.window()
    state = operations.read_installation(services.database, services.settings, visit.now)
    count = services.settings.buckets
    ranges = [buckets.bounds(bucket, count) for bucket in range(count)]
    with services.database.surveying() as operator:
        states = results.bucket_states(operator, ranges)
    rows = states[window.offset :][: window.limit]
    age, slot = state.data_age, state.slot_fetches
    facts: list[tuple[str, Cell]] = [
        (t("Zugänge ohne Kunden abrufbar", "Accesses fetched without customers"), PlainCell(number(age.accesses, language))),
        (
            t("davon älter als ein Tag", "of these older than a day"),
            StateCell(number(age.outdated, language), "bad" if age.outdated else "good"),
        ),
        (t("Älteste Daten", "Oldest data"), TimeCell(age.oldest_at)),
        (t("Abruf", "Refresh"), TimeCell(state.slot)),
        (
            t("davon abgerufen", "of it fetched"),
            PlainCell(
                t(
                    "{done} von {count}",
                    "{done} of {count}",
                    done=number(slot.fetched, language),
                    count=number(slot.accesses, language),
                )
            ),
        ),
        (
            t("Benutzer mit überholten Ergebnissen", "Users with outdated results"),
            PlainCell(number(sum(row.stale_users for row in states), language)),
        ),
    ]
    listing = Listing(
        t("Buckets", "Buckets"),
        (
            t("Bucket", "Bucket"),
            t("Benutzer", "Users"),
            t("mit Daten", "with data"),
            t("älteste Daten", "oldest data"),
            t("Ergebnisse vom", "results of"),
            t("überholt", "outdated"),
        ),
        [_bucket_row(visit, row) for row in rows[:PAGE_ROWS]],
        "",
        visit.pager(window, len(rows)),
        lead=t(
            "Benutzer sind nach ihrer Id auf Buckets verteilt. Überholte Ergebnisse sind älter als die Daten; sie entstehen bei"
            " der nächsten Frage oder in Dagster neu.",
            "Users are divided into buckets by their ids. Outdated results are older than the data; they are made anew with the"
            " next question or in Dagster.",
        ),
    )
    blocks: list[Block] = [FactSheet(t("Stand", "State"), facts), listing]
    return visit.show(ConsolePage(t("Aktualität", "Freshness"), blocks, "freshness"))


@page("/payments", PAYMENTS_SETTLE)
def list_payments(visit: Visit) -> Response:
    """Payments with an unknown outcome, without amounts, recipients and customers."""
    t, window = visit.t, visit.window()
    with visit.services.database.surveying() as operator:
        rows = list(unsettled.unknown_payments(operator))[window.offset :][: window.limit]
    columns = (
        t("Zahlung", "Payment"),
        t("Mandant", "Tenant"),
        t("begonnen", "begun"),
        t("Nachfragen", "looks"),
        t("nächste", "next look"),
        t("Aktionen", "Actions"),
    )
    listing = Listing(
        t("Ergebnis unbekannt", "Outcome unknown"),
        columns,
        [
            (
                IdCell(str(dialogue.payment_id or dialogue.id)),
                LinkCell(tenant, f"{render.ROOT}/tenants/{tenant}"),
                TimeCell(dialogue.created_at),
                PlainCell(number(dialogue.looks, visit.language), is_number=True),
                TimeCell(dialogue.look_at),
                ActionCell(_payment_actions(visit, dialogue)),
            )
            for dialogue, tenant in rows[:PAGE_ROWS]
        ],
        t("Von jeder Zahlung ist das Ergebnis bekannt.", "The outcome of every payment is known."),
        visit.pager(window, len(rows)),
        lead=t(
            "Fragen Sie die Bank, bevor Sie ein Ergebnis eintragen. Eine Zahlung wird nie ein zweites Mal gesendet.",
            "Ask the bank before you record an outcome. A payment is never sent a second time.",
        ),
    )
    return visit.show(ConsolePage(t("Zahlungen", "Payments"), [listing], "payments"))


@page("/payments/{payment}/settle", PAYMENTS_SETTLE, "POST")
def settle_payment(visit: Visit) -> Response:
    """Records the outcome of a payment, as the bank has told it."""
    outcome = visit.form_fields.get("outcome", "")
    if outcome not in OUTCOMES:
        raise Invalid("outcome")
    with visit.services.database.operating() as operator:
        dialogue = unsettled.settle(operator, _payment_id(visit), executed=OUTCOMES[outcome])
        visit.record(operator, _payment_deed("payment_settled", dialogue, outcome=outcome))
    return back_to(PAYMENTS, "payment_settled")


@page("/payments/{payment}/look", PAYMENTS_SETTLE, "POST")
def look_up_payment(visit: Visit) -> Response:
    """Lets a worker ask the bank about a payment now."""
    with visit.services.database.operating() as operator:
        dialogue = unsettled.look_now(operator, _payment_id(visit))
        visit.record(operator, _payment_deed("payment_looked_up", dialogue))
    return back_to(PAYMENTS, "payment_looked_up")


def _payment_id(visit: Visit) -> UUID:
    try:
        return UUID(visit.path_value("payment"))
    except ValueError as error:
        raise NotFound("payment") from error


def _payment_deed(action: str, dialogue: Dialogue, **details: str) -> Deed:
    object_id = str(dialogue.payment_id or dialogue.id)
    return Deed(action, object_id, dialogue.tenant_id, dialogue.user_id, dict(details))


def _payment_actions(visit: Visit, dialogue: Dialogue) -> list[PostAction]:
    t, subject = visit.t, str(dialogue.payment_id or dialogue.id)
    address = f"{PAYMENTS}/{subject}"
    outcomes = [("executed", t("ausgeführt", "executed")), ("not_executed", t("nicht ausgeführt", "not executed"))]
    warning = t("Das Ergebnis gilt endgültig und wird dem Mandanten gemeldet.", "The outcome is final, and the tenant is told.")
    choice = ActionChoice("outcome", t("Laut Bank", "According to the bank"), outcomes)
    return [
        PostAction(t("Klären", "Settle"), f"{address}/settle", warning, choice=choice, subject=subject[:8]),
        PostAction(t("Bank fragen", "Ask the bank"), f"{address}/look", subject=subject[:8]),
    ]


def _bank_row(visit: Visit, bank: BankHealth) -> tuple[Cell, ...]:
    t, language = visit.t, visit.language
    faults = ", ".join(f"{code}: {number(count, language)}" for code, count in bank.faults.items())
    state = StateCell(t("läuft", "works"), "good") if bank.paused_at is None else StateCell(t("pausiert", "paused"), "bad")
    return (
        PlainCell(bank.name),
        state,
        PlainCell(number(bank.sessions, language), is_number=True),
        PlainCell(number(bank.fetched + bank.incomplete, language), is_number=True),
        PlainCell(faults or "–"),
        PlainCell(percent(bank.share_sca, language), is_number=True),
        PlainCell(seconds(bank.mean_seconds, language), is_number=True),
        TimeCell(bank.last_contact_at),
        TimeCell(bank.retry_at),
    )


def _bucket_row(visit: Visit, state: BucketState) -> tuple[Cell, ...]:
    language = visit.language
    pattern = "%Y-%m-%d" if language == "en" else "%d.%m.%Y"
    return (
        IdCell(buckets.key(state.bucket)),
        PlainCell(number(state.users, language), is_number=True),
        PlainCell(number(state.users_with_data, language), is_number=True),
        PlainCell(state.oldest_day.strftime(pattern) if state.oldest_day else "–"),
        TimeCell(state.published_at),
        PlainCell(number(state.stale_users, language), is_number=True),
    )
