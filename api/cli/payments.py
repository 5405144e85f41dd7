"""`kontor payments`: payments of which nobody knows whether the bank has executed them."""

from typing import Annotated
from uuid import UUID

import typer

from api.cli.desk import Json, desk, say, show

commands = typer.Typer(help="Payments whose end is unknown.", no_args_is_help=True)
Id = Annotated[UUID, typer.Argument(help="Id of the payment, or of its dialogue.", show_default=False)]


@commands.command("unknown")
def list_unknown(as_json: Json = False) -> None:
    """List payments whose end is unknown, the oldest first, without what they pay."""
    from pipelines.dialogues import unsettled  # loads the lake, which no other command of this group needs

    with desk() as at, at.database.operating() as operator:
        rows = [
            {
                "tenant": tenant,
                "user": found.user_id,
                "payment": found.payment_id,
                "begun": found.created_at.astimezone(at.settings.zone).isoformat(" ", "seconds"),
                "looks": found.looks,
                "nextLook": found.look_at and found.look_at.astimezone(at.settings.zone).isoformat(" ", "seconds"),
            }
            for found, tenant in unsettled.unknown_payments(operator)
        ]
    show(rows, as_json, "Unknown payments")


@commands.command()
def settle(
    payment: Id,
    executed: Annotated[
        bool, typer.Option("--executed/--not-executed", help="What the bank says has become of it.", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """End an unknown payment as the bank has told you. It is never sent again."""
    from pipelines.dialogues import unsettled

    with desk() as at, at.database.operating() as operator:
        unsettled.settle(operator, payment, executed=executed)
    say(f"Payment {payment} counts as {'executed' if executed else 'not executed'}.", as_json)


@commands.command()
def look(payment: Id, as_json: Json = False) -> None:
    """Let a worker ask the bank now what became of an unknown payment."""
    from pipelines.dialogues import unsettled

    with desk() as at, at.database.operating() as operator:
        unsettled.look_now(operator, payment)
    say(f"The bank is asked about payment {payment}.", as_json)
