"""`kontor certificate`: the certificates with which tenants encrypt credentials."""

from datetime import UTC, datetime

import typer

from api.cli.desk import TenantName, working_on
from warehouse.secrets import certificates

commands = typer.Typer(help="Certificates with which tenants encrypt credentials.", no_args_is_help=True)


@commands.command()
def show(tenant: TenantName) -> None:
    """Print a tenant's certificate in PEM."""
    with working_on(tenant) as (_, owner, _):
        print(certificates.current(owner).pem, end="")


@commands.command()
def renew(tenant: TenantName) -> None:
    """Give a tenant a new key and print its certificate. What was encrypted with the old one can still be opened."""
    with working_on(tenant) as (at, owner, _):
        print(certificates.create(owner, at.vault, tenant, datetime.now(UTC)).pem, end="")
