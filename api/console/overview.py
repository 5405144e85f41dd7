"""The first page: what is wrong now, and then how things are."""

from collections.abc import Iterator
from datetime import timedelta

from starlette.responses import Response

from api import readiness
from api.console import render
from api.console.formats import duration, number, percent
from api.console.pages import Block, Cell, Concern, Concerns, ConsolePage, FactSheet, PlainCell
from api.console.roles import AUDIT_READ
from api.console.visits import Visit, page
from api.services import StoreReport
from pipelines import operations
from pipelines.dialogues import unsettled
from pipelines.operations import InstallationState
from warehouse.runtime import disk
from warehouse.stores import accesses, clients, webhooks
from warehouse.stores.accesses import AccessSummary
from warehouse.stores.webhooks import WebhookSummary

ENDING_DAYS = 14
DROPPED_DAYS = 1


@page("", AUDIT_READ)
async def show_overview(visit: Visit) -> Response:
    """The overview of the installation, or of the own tenant."""
    if not visit.is_operator:
        return await visit.services.in_thread(_tenant_overview, visit)
    report = await readiness.look(visit.services)
    return await visit.services.in_thread(_installation_overview, visit, report)


def _installation_overview(visit: Visit, report: StoreReport) -> Response:
    services, t = visit.services, visit.t
    state = operations.read_installation(services.database, services.settings, visit.now)
    with services.database.surveying() as operator:
        payments = len(unsettled.unknown_payments(operator))
        hooks = webhooks.summaries(operator, dropped_days=DROPPED_DAYS)
    concerns = [
        *_check_concerns(visit, report),
        *_work_concerns(visit, state),
        *_payment_concerns(visit, payments),
        *_bank_concerns(visit, state),
        *_webhook_concerns(visit, hooks, None),
    ]
    work, age, slot = state.work, state.data_age, state.slot_fetches
    facts: list[tuple[str, Cell]] = [
        (
            t("Arbeitsprozesse", "Workers"),
            PlainCell(
                t("{alive} aktiv, {lost} verloren", "{alive} alive, {lost} lost", alive=work.workers, lost=work.lost_workers)
            ),
        ),
        (
            t("Wartende Aufträge", "Waiting jobs"),
            PlainCell(number(sum(queue.waiting for queue in work.queues.values()), visit.language)),
        ),
        (
            t("Abruf von {time} Uhr", "Refresh of {time}", time=f"{state.slot.astimezone(services.zone):%H:%M}"),
            PlainCell(
                t(
                    "{share} von {count} Zugängen",
                    "{share} of {count} accesses",
                    share=percent(slot.fetched / slot.accesses if slot.accesses else 1, visit.language),
                    count=number(slot.accesses, visit.language),
                )
            ),
        ),
        (
            t("Daten älter als ein Tag", "Data older than a day"),
            PlainCell(
                t(
                    "{outdated} von {count} Zugängen",
                    "{outdated} of {count} accesses",
                    outdated=number(age.outdated, visit.language),
                    count=number(age.accesses, visit.language),
                )
            ),
        ),
        *(
            (
                t("Platte: {place}", "Disk: {place}", place=usage.place),
                PlainCell(t("{share} belegt", "{share} used", share=percent(usage.share_used, visit.language))),
            )
            for usage in disk.usages(services.settings)
        ),
    ]
    blocks: list[Block] = [
        Concerns(
            t("Was jetzt nicht stimmt", "What is wrong now"), concerns, t("Nichts. Alles läuft.", "Nothing. Everything works.")
        ),
        FactSheet(t("Stand", "State"), facts),
    ]
    return visit.show(ConsolePage(t("Übersicht", "Overview"), blocks, "overview"))


def _tenant_overview(visit: Visit) -> Response:
    t, name = visit.t, visit.user.tenant_name or ""
    with visit.within(name) as (owner, _):
        summary = accesses.summary(owner, ENDING_DAYS)
        hooks = webhooks.summaries(owner, dropped_days=DROPPED_DAYS)
        disabled_clients = [client.name for client in clients.visible(owner) if not client.active]
    address = f"{render.ROOT}/tenants/{name}"
    concerns = [*_access_concerns(visit, summary, address), *_webhook_concerns(visit, hooks, address)]
    concerns += [
        Concern(
            t("Der Client {client} ist gesperrt.", "The client {client} is disabled.", client=client),
            "warn",
            f"{address}/clients",
        )
        for client in disabled_clients
    ]
    facts: list[tuple[str, Cell]] = [
        (t("Zugänge", "Accesses"), PlainCell(number(summary.accesses, visit.language))),
        (t("Abrufe, die gerade laufen", "Fetches that are running"), PlainCell(number(summary.fetching, visit.language))),
        (t("Webhooks", "Webhooks"), PlainCell(number(len(hooks), visit.language))),
        (
            t("Ereignisse, die auf Zustellung warten", "Events that wait for delivery"),
            PlainCell(number(sum(hook.pending for hook in hooks), visit.language)),
        ),
    ]
    blocks: list[Block] = [
        Concerns(
            t("Was jetzt nicht stimmt", "What is wrong now"), concerns, t("Nichts. Alles läuft.", "Nothing. Everything works.")
        ),
        FactSheet(t("Stand", "State"), facts),
    ]
    return visit.show(ConsolePage(t("Übersicht", "Overview"), blocks, "overview", lead=name))


def _check_concerns(visit: Visit, report: StoreReport) -> Iterator[Concern]:
    t = visit.t
    texts = {
        "database": t("Die Datenbank antwortet nicht.", "The database does not answer."),
        "keys": t("Die Tresorschlüssel passen nicht zu den gespeicherten Daten.", "The vault keys do not fit the stored data."),
        "lake": t("Die Dateien des Datenspeichers sind nicht erreichbar.", "The files of the lake cannot be reached."),
        "model": t("Das gewählte Modell ist nicht lesbar.", "The model in use cannot be read."),
        "disk": t("Eine Platte ist fast voll.", "A disk is nearly full."),
    }
    for name, check in report.checks.items():
        if check.status != readiness.OK and name in texts:
            yield Concern(texts[name], "bad" if check.status == readiness.UNAVAILABLE else "warn")


def _work_concerns(visit: Visit, state: InstallationState) -> Iterator[Concern]:
    """What stands still, in the words of the page."""
    t, work, href = visit.t, state.work, f"{render.ROOT}/jobs"
    if "workers" in state.standstills:
        yield Concern(t("Kein Arbeitsprozess gibt ein Lebenszeichen.", "No worker gives a sign of life."), href=href)
    texts = {
        "awaited": (
            "Aufträge, auf die Kunden warten: {count}, der älteste seit {age}.",
            "Jobs that customers wait for: {count}, the oldest for {age}.",
        ),
        "scheduled": (
            "Geplante Abrufe stehen still: {count}, der älteste seit {age}.",
            "Scheduled fetches stand still: {count}, the oldest for {age}.",
        ),
        "webhooks": (
            "Ereignisse, die niemand zustellt: {count}, das älteste seit {age}.",
            "Events that nobody delivers: {count}, the oldest for {age}.",
        ),
    }
    for name, (german, english) in texts.items():
        if name in state.standstills:
            queue = work.queues[name]
            age = duration(timedelta(seconds=queue.oldest_seconds), visit.language)
            yield Concern(t(german, english, count=number(queue.waiting, visit.language), age=age), href=href)
    if state.data_age.outdated:
        text = t(
            "Zugänge mit Daten, die älter als ein Tag sind: {count}",
            "Accesses with data older than a day: {count}",
            count=number(state.data_age.outdated, visit.language),
        )
        yield Concern(text, "warn", f"{render.ROOT}/freshness")


def _payment_concerns(visit: Visit, payments: int) -> Iterator[Concern]:
    if payments:
        text = visit.t("Zahlungen mit unbekanntem Ergebnis: {count}", "Payments with an unknown outcome: {count}", count=payments)
        yield Concern(text, href=f"{render.ROOT}/payments")


def _bank_concerns(visit: Visit, state: InstallationState) -> Iterator[Concern]:
    t, href = visit.t, f"{render.ROOT}/banks"
    for bank in state.work.paused_banks:
        yield Concern(
            t("{bank} scheitert für alle und pausiert.", "{bank} fails for everybody and is paused.", bank=bank.provider),
            "bad",
            href,
        )
    for provider in state.failing_providers:
        text = t(
            "{bank}: Zugänge, deren letzter Abruf gescheitert ist: {count}",
            "{bank}: accesses whose last fetch has failed: {count}",
            bank=provider.name,
            count=number(provider.accesses, visit.language),
        )
        yield Concern(text, "warn", href)


def _access_concerns(visit: Visit, summary: AccessSummary, address: str) -> Iterator[Concern]:
    t, language = visit.t, visit.language
    if summary.failing:
        text = t(
            "Zugänge mit Fehlern beim letzten Abruf: {count}",
            "Accesses with faults in the last fetch: {count}",
            count=number(summary.failing, language),
        )
        yield Concern(text, "bad", f"{address}/accesses?failing=1")
    if summary.waiting:
        text = t(
            "Zugänge, die auf ihren Kunden warten: {count}",
            "Accesses that wait for their customer: {count}",
            count=number(summary.waiting, language),
        )
        yield Concern(text, "warn", f"{address}/accesses")
    if summary.ending:
        text = t(
            "Zugänge, deren Zustimmung abgelaufen ist oder in {days} Tagen endet: {count}",
            "Accesses whose consent has ended or ends within {days} days: {count}",
            count=number(summary.ending, language),
            days=ENDING_DAYS,
        )
        yield Concern(text, "warn", f"{address}/accesses")


def _webhook_concerns(visit: Visit, hooks: list[WebhookSummary], address: str | None) -> Iterator[Concern]:
    """Webhooks that are disabled, and events that nobody has accepted. The operator is told numbers over all tenants."""
    t, language = visit.t, visit.language
    href = f"{address}/webhooks" if address else f"{render.ROOT}/tenants"
    if disabled := sum(not hook.webhook.enabled for hook in hooks):
        text = t(
            "Webhooks, die ihr Empfänger abgeschaltet hat: {count}",
            "Webhooks that their receiver has switched off: {count}",
            count=number(disabled, language),
        )
        yield Concern(text, "warn", href)
    if dropped := sum(hook.dropped for hook in hooks):
        text = t(
            "Verworfene Ereignisse der letzten 24 Stunden: {count}",
            "Dropped events of the last 24 hours: {count}",
            count=number(dropped, language),
        )
        yield Concern(text, "bad" if address else "warn", href)
