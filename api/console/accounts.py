"""The accounts of the console, and the audit log of what was done with them."""

from starlette.responses import Response

from api.console import render
from api.console.notices import ACTIONS
from api.console.pages import ActionCell, Cell, ConsolePage, IdCell, Listing, PlainCell, PostAction, StateCell, TimeCell
from api.console.roles import ACCOUNTS_CHANGE, AUDIT_READ
from api.console.visits import PAGE_ROWS, Visit, back_to, page
from api.schemas.languages import say
from warehouse import scopes
from warehouse.errors import Invalid
from warehouse.postgres import audit_log, console_accounts
from warehouse.postgres.audit_log import Deed
from warehouse.postgres.console_accounts import ConsoleRole
from warehouse.postgres.tables import AuditEntry, ConsoleAccount

ACCOUNTS = f"{render.ROOT}/accounts"


@page("/accounts", ACCOUNTS_CHANGE)
def list_accounts(visit: Visit) -> Response:
    """Who may use the console."""
    t, window = visit.t, visit.window()
    with visit.services.database.surveying() as operator:
        rows = console_accounts.visible(operator)[window.offset :][: window.limit]
    roles = {ConsoleRole.OPERATOR: t("Betreiber", "operator"), ConsoleRole.TENANT: t("Mandant", "tenant")}
    columns = (
        t("Name", "Name"),
        t("Rolle", "Role"),
        t("Mandant", "Tenant"),
        t("Stand", "State"),
        t("zweiter Faktor", "second factor"),
        t("letzte Anmeldung", "last login"),
        t("Aktionen", "Actions"),
    )
    listing = Listing(
        t("Konten der Konsole", "Accounts of the console"),
        columns,
        [
            (
                IdCell(account.name),
                PlainCell(roles[ConsoleRole(account.role)]),
                PlainCell(tenant or "–"),
                StateCell(t("aktiv", "active"), "good") if account.active else StateCell(t("gesperrt", "disabled"), "bad"),
                StateCell(t("ja", "yes"), "good") if account.code_sealed else StateCell(t("nein", "no"), "warn"),
                TimeCell(account.last_login_at),
                ActionCell(_actions(visit, account)),
            )
            for account, tenant in rows[:PAGE_ROWS]
        ],
        "",
        visit.pager(window, len(rows)),
        lead=t(
            "Neue Konten, Passwörter und zweite Faktoren: kontor console",
            "New accounts, passwords and second factors: kontor console",
        ),
    )
    return visit.show(ConsolePage(t("Konten", "Accounts"), [listing], "accounts"))


@page("/accounts/{name}/disable", ACCOUNTS_CHANGE, "POST")
def disable_account(visit: Visit) -> Response:
    """Disables an account and ends its sessions. Nobody can disable the own one."""
    if visit.path_value("name") == visit.user.name:
        raise Invalid("the own account")
    with visit.services.database.operating() as operator:
        account = console_accounts.find(operator, visit.path_value("name"), lock=True)
        account.active = False
        console_accounts.end_sessions(operator, account.id)
        visit.record(operator, Deed("account_disabled", account.name, account.tenant_id))
    return back_to(ACCOUNTS, "account_disabled")


@page("/accounts/{name}/enable", ACCOUNTS_CHANGE, "POST")
def enable_account(visit: Visit) -> Response:
    """Enables a disabled account."""
    with visit.services.database.operating() as operator:
        account = console_accounts.find(operator, visit.path_value("name"), lock=True)
        account.active = True
        visit.record(operator, Deed("account_enabled", account.name, account.tenant_id))
    return back_to(ACCOUNTS, "account_enabled")


@page("/audit", AUDIT_READ)
def list_audit(visit: Visit) -> Response:
    """Who did what: the operator sees all of it, a tenant what was done in it."""
    t, window, user = visit.t, visit.window(), visit.user
    database = visit.services.database
    with database.surveying() if user.tenant_id is None else database.reading_for(user.tenant_id) as owner:
        rows = audit_log.page(owner, offset=window.offset, limit=window.limit)
    columns = [t("Wann", "When"), t("Wer", "Who"), t("Was", "What"), t("Objekt", "Object")]
    listing = Listing(
        t("Die neuesten zuerst", "Newest first"),
        [*columns, *([t("Mandant", "Tenant")] if visit.is_operator else []), t("Anfrage", "Request")],
        [
            (
                TimeCell(entry.at),
                PlainCell(_actor(visit, entry)),
                PlainCell(
                    _action(visit, entry), note=", ".join(f"{name}: {value}" for name, value in entry.details.items()) or None
                ),
                _object(visit, entry),
                *([PlainCell(tenant or "–")] if visit.is_operator else []),
                IdCell(entry.correlation_id or "–"),
            )
            for entry, tenant in rows[:PAGE_ROWS]
        ],
        t("Noch hat niemand etwas getan.", "Nobody has done anything yet."),
        visit.pager(window, len(rows)),
    )
    return visit.show(ConsolePage(t("Protokoll", "Audit log"), [listing], "audit"))


def _actions(visit: Visit, account: ConsoleAccount) -> list[PostAction]:
    t, address = visit.t, f"{ACCOUNTS}/{account.name}"
    if account.name == visit.user.name:
        return []
    if not account.active:
        return [PostAction(t("Freigeben", "Enable"), f"{address}/enable", subject=account.name)]
    warning = t("Alle Anmeldungen des Kontos enden sofort.", "All logins of the account end at once.")
    return [PostAction(t("Sperren", "Disable"), f"{address}/disable", warning, subject=account.name)]


def _actor(visit: Visit, entry: AuditEntry) -> str:
    """Who it was. A tenant is told that it was an operator, and not which one."""
    return entry.actor if visit.is_operator or entry.role == ConsoleRole.TENANT else visit.t("Betreiber", "operator")


def _action(visit: Visit, entry: AuditEntry) -> str:
    return say(ACTIONS[entry.action], visit.language) if entry.action in ACTIONS else entry.action


def _object(visit: Visit, entry: AuditEntry) -> Cell:
    """What it was done to; a user only for those who may see users."""
    user_id = str(entry.user_id) if entry.user_id and visit.may(scopes.USERS_READ) else "–"
    return IdCell(entry.object_id or user_id)
