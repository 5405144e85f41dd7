"""`kontor backup` and `kontor restore`: an installation as a folder, and back."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from api.cli.installation import Json, console, read_settings, say
from warehouse.errors import Invalid
from warehouse.postgres import embedded

Folder = Annotated[Path, typer.Argument(help="Folder of the backup.", show_default=False)]
KEYS = "keys.json"


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.command("backup")(back_up)
    app.command("restore")(restore)


def back_up(
    folder: Folder,
    keys: Annotated[Path | None, typer.Option(help="Folder for a copy of the vault keys, apart from the backup.")] = None,
    as_json: Json = False,
) -> None:
    """Write database, lake, models and tombstones into a new folder, while the service runs. The keys belong elsewhere."""
    from pipelines import backup as flow  # loads the lake, which few commands need

    settings = read_settings()
    if keys is not None and keys.absolute().is_relative_to(folder.absolute()):
        raise Invalid("keep the keys apart from the backup: together they open everything")
    with embedded.addresses(settings) as addresses:
        manifest = flow.back_up(settings, addresses, folder, datetime.now(UTC), lambda step: _tell(step, as_json))
    if keys is not None:
        keys.mkdir(parents=True, exist_ok=True)
        shutil.copy2(settings.keys_path, keys / KEYS)
    say(f"{folder} has {len(manifest.files)} files, of {manifest.created_at}. Without the vault keys it cannot be used.", as_json)


def restore(
    folder: Folder,
    keys: Annotated[Path | None, typer.Option(help="Folder with the copy of the vault keys.")] = None,
    as_json: Json = False,
) -> None:
    """Restore a backup into an empty installation (KONTOR_HOME, KONTOR_DATABASE_URL). Whoever was erased since stays erased."""
    from pipelines import backup as flow

    settings = read_settings()
    with embedded.addresses(settings) as addresses:
        manifest = flow.restore(settings, addresses, folder, lambda step: _tell(step, as_json))
    if keys is not None:
        flow.place(keys / KEYS, settings.keys_path)
    say(f"The backup of {manifest.created_at} is restored. Next: 'kontor user erase-again', then 'kontor inventory'.", as_json)


def _tell(step: str, as_json: bool) -> None:
    if not as_json:
        console.print(f"{step} …", highlight=False)
