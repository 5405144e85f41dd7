"""`kontor providers`: the catalogue of banks."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from api.cli.installation import Json, console, open_installation, say, show, show_once
from pipelines.banks import catalogue
from pipelines.banks.base import BankFault, CatalogueBank
from pipelines.banks.connectors import as_bank, connectors
from pipelines.banks.fints import institute_list
from pipelines.banks.fints.bank import FINTS, FintsConnector
from warehouse.errors import Invalid
from warehouse.postgres.tables import Provider
from warehouse.stores import bank_logins, providers

NO_PRODUCT_ID = (
    "KONTOR_FINTS_PRODUCT_ID is not set. Register the product, free of charge, at https://www.fints.org: see docs/operators.md."
)
NO_ADDRESS = "The FinTS address of this bank is not known."
commands = typer.Typer(help="The catalogue of banks.", no_args_is_help=True)
ProviderId = Annotated[UUID, typer.Argument(metavar="ID", help="Id of the provider.", show_default=False)]


@commands.command("list")
def list_providers(
    everything: Annotated[bool, typer.Option("--all", help="Include providers that are disabled or have no connector.")] = False,
    as_json: Json = False,
) -> None:
    """List the providers that tenants can use."""
    with open_installation() as installation, installation.database.operating() as owner:
        connectors_by_name = connectors(installation.settings)
        rows = [
            _row(provider, served=catalogue.offer_of(provider, connectors_by_name) is not None)
            for provider in providers.visible(owner, include_disabled=everything)
        ]
    show([row for row in rows if everything or row["served"]], as_json, "Providers")


@commands.command("import")
def import_banks(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="The list of FinTS banks that the Deutsche Kreditwirtschaft sends (CSV).",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Update the German banks in the catalogue, or the addresses of FinTS banks from the official list.

    Never deletes a provider, nor enables or disables an existing one.
    """
    if file is not None:
        _import_institutes(file, as_json)
        return
    with (
        console.status("Importing German banks …"),
        open_installation() as installation,
        installation.database.operating() as owner,
    ):
        changes = catalogue.import_banks(owner)
    show_once(vars(changes), as_json, "The German banks are up to date.")


@commands.command()
def check(
    blz: Annotated[str, typer.Argument(metavar="BLZ", help="Bank code of the bank.", show_default=False)], as_json: Json = False
) -> None:
    """Ask a FinTS bank, without any login, what it offers."""
    with open_installation() as installation, installation.database.operating() as owner:
        settings = installation.settings
        rows = [as_bank(row) for row in providers.visible(owner, include_disabled=True) if row.blz == blz]
    bank = FintsConnector(settings.fints_product_id, settings.fints_demo_url)
    address = next((row.address for row in rows if row.address), None)  # of an imported list
    provider = CatalogueBank(UUID(int=0), "", FINTS, blz=blz, address=address)
    if bank.offer(provider) is None:
        raise Invalid(NO_ADDRESS if settings.fints_product_id else NO_PRODUCT_ID)
    try:
        parameters = bank.parameters(provider, datetime.now(UTC))
    except BankFault as fault:
        raise Invalid(f"The bank does not answer as a FinTS bank does ({type(fault).__name__}).") from fault
    offered = {
        "name": parameters.name,
        "parameters": parameters.version,
        "methods": ", ".join(f"{method.code} {method.name}" for method in parameters.methods) or "one step only",
        "orders": ", ".join(f"{order} {version}" for order, version in sorted(parameters.versions.items())),
        "orders with TAN": ", ".join(parameters.with_tan) or "none",
        "bookings": parameters.camt_format or "MT940",
        "days of bookings": parameters.camt_days if parameters.camt_format else parameters.statement_days,
    }
    show_once(offered, as_json, "The bank answers.")


@commands.command()
def health(
    days: Annotated[int, typer.Option(min=1, max=90, help="Number of days to look back, today included.")] = 7,
    as_json: Json = False,
) -> None:
    """Show how each bank did: sessions, faults by kind, duration, last contact, share of sessions that needed a confirmation."""
    from pipelines import operations  # loads Polars, which no other command of this group needs

    with open_installation() as installation:
        rows = operations.read_health(installation.database, installation.settings, datetime.now(UTC), days)
    if as_json:
        show([asdict(row) for row in rows], as_json, "")
        return
    zone = installation.settings.zone
    show([operations.shown_health(row, zone) for row in rows], as_json, f"Health of banks, {days} days")


@commands.command()
def resume(provider: ProviderId, as_json: Json = False) -> None:
    """End the pause of a bank that failed for everybody, and fetch its accesses again."""
    from pipelines.fetching import outages

    with open_installation() as installation:
        with installation.database.operating() as operator:
            name = providers.find(operator, provider).name
            was_paused = bool(providers.resume(operator, {provider}))
        count = outages.fetch_again(installation.database, provider) if was_paused else 0
    say(f"{name} is asked again; accesses that are being fetched: {count}." if was_paused else f"{name} is not paused.", as_json)


@commands.command("failing")
def list_failing(as_json: Json = False) -> None:
    """List the providers with accesses whose last fetch failed."""
    from warehouse.stores import fetches  # loads Polars, which no other command of this group needs

    with open_installation() as installation, installation.database.operating() as operator:
        rows = [asdict(provider) for provider in fetches.failing_providers(operator)]
    show(rows, as_json, "Failing providers")


@commands.command("fetch-again")
def fetch_again(provider: ProviderId, as_json: Json = False) -> None:
    """Fetch all accesses of a provider whose last fetch failed, now instead of in the next slot."""
    from pipelines.fetching import outages

    with open_installation() as installation:
        with installation.database.operating() as owner:
            name = providers.find(owner, provider).name
        count = outages.fetch_again(installation.database, provider)
    say(f"Accesses of {name} that are being fetched again: {count}.", as_json)


@commands.command("forget-refusals")
def forget_refusals(provider: ProviderId, as_json: Json = False) -> None:
    """Forget the logins that a provider has refused, after it refused right ones by mistake. Customers enter them again."""
    with open_installation() as installation, installation.database.operating() as operator:
        name = providers.find(operator, provider).name
        count = bank_logins.forget_refusals(operator, provider)
    say(f"Refusals of {name} that are forgotten: {count}.", as_json)


@commands.command()
def enable(provider: ProviderId, as_json: Json = False) -> None:
    """Offer a provider to tenants, if a connector supports it."""
    _set_enabled(provider, True, as_json)


@commands.command()
def disable(provider: ProviderId, as_json: Json = False) -> None:
    """Stop offering a provider. Existing accesses stay."""
    _set_enabled(provider, False, as_json)


def _import_institutes(file: Path, as_json: bool) -> None:
    institutes = institute_list.read_institutes(file.read_bytes())
    with open_installation() as installation, installation.database.operating() as owner:
        changes, new_addresses = catalogue.import_institutes(owner, institutes)
    facts = {"banks": len(institutes), "new banks": changes.new, "new addresses": new_addresses}
    show_once(facts, as_json, "The addresses of FinTS banks are up to date.")


def _set_enabled(provider_id: UUID, enabled: bool, as_json: bool) -> None:
    with open_installation() as installation, installation.database.operating() as owner:
        provider = providers.set_enabled(owner, provider_id, enabled)
        say(f"{provider.name} is {'enabled' if enabled else 'disabled'}.", as_json)


def _row(provider: Provider, *, served: bool) -> dict[str, Any]:
    return {
        "id": str(provider.id),
        "name": provider.name,
        "group": provider.group_name,
        "blz": provider.blz,
        "bic": provider.bic,
        "connector": provider.connector,
        "enabled": provider.enabled,
        "served": served,
    }
