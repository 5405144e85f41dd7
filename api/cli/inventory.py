"""`kontor inventory`: what there is, to compare a restored house with the one that was backed up."""

from dataclasses import asdict

import typer

from api.cli.desk import Json, desk, show


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("inventory")(take_stock)


def take_stock(as_json: Json = False) -> None:
    """Count all rows and files, with checksums. Equal houses have equal inventories."""
    from warehouse.lake.lake import Lake
    from warehouse.stores import inventory  # these load the lake, which few commands need

    with desk() as at:
        with at.database.surveying() as operator:
            rows = list(inventory.database_tables(operator))
        rows += inventory.lake_tables(Lake(at.settings.lake_path))
    show([asdict(row) for row in rows], as_json, "Tables")
