"""All commands of `kontor` put together, and the entry point that runs them."""

import sys

import structlog
import typer
from rich.console import Console
from rich.markup import escape

from api.cli import (
    api_keys,
    backfill,
    backup,
    certificates,
    clients,
    credit_risk,
    dagster,
    dask,
    demo,
    import_statements,
    keys,
    knowledge,
    lake,
    models,
    payments,
    providers,
    roles,
    server,
    simulate,
    sql,
    statements,
    status,
    tenants,
    users,
    webhooks,
)
from warehouse.errors import KontorError

app = typer.Typer(help="Kontor: the open platform for German bank data.", no_args_is_help=True, pretty_exceptions_enable=False)
server.register(app)
status.register(app)
backup.register(app)
simulate.register(app)
models.register(app)
sql.register(app)
lake.register(app)
statements.register(app)
import_statements.register(app)
backfill.register(app)
users.register(app)
for name, group in {
    "tenant": tenants.commands,
    "client": clients.commands,
    "role": roles.commands,
    "user": users.commands,
    "console": users.console_commands,
    "api-key": api_keys.commands,
    "certificate": certificates.commands,
    "webhook": webhooks.commands,
    "payments": payments.commands,
    "keys": keys.commands,
    "buckets": backfill.commands,
    "dagster": dagster.commands,
    "dask": dask.commands,
    "providers": providers.commands,
    "knowledge": knowledge.commands,
    "credit-risk": credit_risk.commands,
    "demo": demo.commands,
}.items():
    app.add_typer(group, name=name)


def main() -> None:
    """Runs a command. A domain error is printed in one sentence, with exit code 1. Logs go to standard error."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        app()
    except KontorError as error:
        text = escape(str(error) or type(error).__name__)
        Console(stderr=True).print(f"[bold red]{type(error).__name__}[/]: {text}", highlight=False, soft_wrap=True)
        sys.exit(1)
