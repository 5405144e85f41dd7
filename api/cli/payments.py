"""`kontor payments`: payments for which it is unknown whether the bank has executed them."""

from typing import Annotated
from uuid import UUID

import typer

from api.cli.installation import Json, open_installation, say, show

commands = typer.Typer(help="Payments with an unknown outcome.", no_args_is_help=True)
Id = Annotated[UUID, typer.Argument(help="Id of the payment, or of its dialogue.", show_default=False)]


@commands.command("unknown")
def list_unknown(as_json: Json = False) -> None:
    """List payments with an unknown outcome, oldest first, without amounts and recipients."""
    from pipelines.dialogues import unsettled  # loads the lake, which no other command of this group needs

    with open_installation() as installation, installation.database.operating() as operator:
        rows = [
            {
                "tenant": tenant,
                "user": dialogue.user_id,
                "payment": dialogue.payment_id,
                "begun": dialogue.created_at.astimezone(installation.settings.zone).isoformat(" ", "seconds"),
                "looks": dialogue.looks,
                "nextLook": dialogue.look_at
                and dialogue.look_at.astimezone(installation.settings.zone).isoformat(" ", "seconds"),
            }
            for dialogue, tenant in unsettled.unknown_payments(operator)
        ]
    show(rows, as_json, "Unknown payments")


@commands.command()
def settle(
    payment: Id,
    executed: Annotated[
        bool, typer.Option("--executed/--not-executed", help="The outcome according to the bank.", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """Record the outcome of an unknown payment, as reported by the bank. The payment is never sent again."""
    from pipelines.dialogues import unsettled

    with open_installation() as installation, installation.database.operating() as operator:
        unsettled.settle(operator, payment, executed=executed)
    say(f"Payment {payment} is settled as {'executed' if executed else 'not executed'}.", as_json)


@commands.command()
def look(payment: Id, as_json: Json = False) -> None:
    """Let a worker ask the bank now for the outcome of an unknown payment."""
    from pipelines.dialogues import unsettled

    with open_installation() as installation, installation.database.operating() as operator:
        unsettled.look_now(operator, payment)
    say(f"A worker will ask the bank about payment {payment}.", as_json)
