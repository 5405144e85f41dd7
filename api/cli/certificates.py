"""`kontor certificate`: the certificates for the encryption of credentials."""

from datetime import UTC, datetime

import typer

from api.cli.installation import TenantName, open_tenant
from warehouse.secrets import certificates

commands = typer.Typer(help="Certificates for the encryption of credentials.", no_args_is_help=True)


@commands.command()
def show(tenant: TenantName) -> None:
    """Print the certificate of a tenant as PEM."""
    with open_tenant(tenant) as (_, owner, _):
        print(certificates.current(owner).pem, end="")


@commands.command()
def renew(tenant: TenantName) -> None:
    """Create a new key for a tenant and print its certificate. Values encrypted with the old one can still be decrypted."""
    with open_tenant(tenant) as (installation, owner, _):
        print(certificates.create(owner, installation.vault, tenant, datetime.now(UTC)).pem, end="")
