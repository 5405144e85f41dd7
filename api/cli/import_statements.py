"""`kontor import`: statement files of banks into the data of a user."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from api.cli.installation import Installation, Json, console, open_installation, show
from api.cli.roles import find_user
from warehouse.errors import Invalid
from warehouse.postgres.database import Owner
from warehouse.stores import tenants

if TYPE_CHECKING:
    from pipelines.fetching.statement_files import FileUpload, StatementFile

ACCESS = "kontoauszug"
Files = Annotated[
    list[Path], typer.Argument(help="Statement files: CAMT, MT940 or CSV.", exists=True, dir_okay=False, show_default=False)
]
TenantOption = Annotated[str, typer.Option("--tenant", help="Name of the tenant.", show_default=False)]
UserOption = Annotated[str, typer.Option("--user", help="Name of the user.", show_default=False)]
AccessOption = Annotated[str, typer.Option("--access", help="Id of the access; added if there is none.")]
ProductOption = Annotated[
    str | None, typer.Option("--product", help="Id of the product of lines whose file names no account.", show_default=False)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what the files contain and what would be new.")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("import")(import_statements)


def import_statements(
    files: Files,
    tenant: TenantOption,
    user: UserOption,
    access: AccessOption = ACCESS,
    product: ProductOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Import statement files into the data of a user: all of them, or none if one is no statement.

    Bookings that are there already are not added again.
    """
    from pipelines.fetching import statement_files  # loads Polars, which other commands do not need
    from pipelines.fetching.statement_files import UploadOptions

    now = datetime.now(UTC)
    with open_installation() as installation:
        settings, options = installation.settings, UploadOptions(product, dry_run)
        statements = _read(files, now.astimezone(settings.zone), as_json)
        transaction = _transaction(installation, tenant, user, access)
        uploads = statement_files.upload(transaction, settings, access, statements, now, options)
    rows = [row for upload in uploads for row in _rows(upload)]
    if as_json:
        show(rows, as_json, "Accounts")
        return
    for row in rows:
        _show_account(row)
    if dry_run:
        console.print("Nothing was stored.", style="yellow")


def _read(paths: list[Path], now: datetime, silent: bool) -> list["StatementFile"]:
    """The files, read one after the other beside a progress bar."""
    from pipelines.fetching.statement_files import StatementFileFault, read_statement_files

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    statements: list[StatementFile] = []
    with Progress(*columns, console=console, disable=silent, transient=True) as progress:
        for path in progress.track(paths, description="Reading"):
            try:
                statements += read_statement_files([(path.name, path.read_bytes())], now.date())
            except StatementFileFault as fault:
                raise Invalid(f"{path}: no statement: {fault}; nothing was stored") from fault
    return statements


@contextmanager
def _transaction(installation: Installation, tenant_name: str, username: str, access: str) -> Iterator[Owner]:
    """A transaction for the user, in which the access exists."""
    from pipelines.fetching import connect

    with installation.database.operating() as operator:
        tenant = tenants.find(operator, tenant_name)
        user = find_user(operator.for_tenant(tenant.id), username)
    with installation.database.acting_for(tenant.id, user.id) as owner:
        connect.connect_files(owner, installation.vault, installation.settings, access)
        yield owner


def _rows(upload: "FileUpload") -> list[dict[str, Any]]:
    """What is told about each account of a file; no booking is shown."""
    return [
        {
            "file": upload.name,
            "format": account.format,
            "account": account.iban or account.product,
            "from": account.first_day,
            "to": account.last_day,
            "lines": account.lines,
            "new": account.added,
            "already there": account.lines - account.added,
            "warnings": [
                f"{difference.subject.value.lower()}: declared {difference.declared}, actual {difference.actual}"
                for difference in account.differences
            ],
        }
        for account in upload.accounts
    ]


def _show_account(row: dict[str, Any]) -> None:
    console.print(f"[bold]{escape(row['file'])}[/]: {escape(row['format'])}", highlight=False, soft_wrap=True)
    facts = {
        "account": row["account"],
        "period": f"{row['from']} to {row['to']}",
        "lines": f"{row['lines']}, {row['new']} of them new, {row['already there']} already there",
    }
    lines = [f"{label}: {value}" for label, value in facts.items()] + [f"warning: {text}" for text in row["warnings"]]
    for line in lines:
        console.print(f"  {line}", highlight=False, soft_wrap=True, markup=False)
