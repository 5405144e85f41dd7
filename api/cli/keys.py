"""`kontor keys`: the encryption keys of the vault."""

import typer
from rich.progress import Progress

from api.cli.installation import Installation, Json, open_installation, read_settings, say, show
from warehouse.errors import Invalid
from warehouse.postgres import watched
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import create_ring, write_ring

commands = typer.Typer(help="Encryption keys of the vault.", no_args_is_help=True)


@commands.command()
def create(as_json: Json = False) -> None:
    """Create the key file. Never changes an existing one."""
    path = read_settings().keys_path
    say(f"{path} was created. Store a copy in a safe place." if create_ring(path) else f"{path} already exists.", as_json)


@commands.command("list")
def list_keys(as_json: Json = False) -> None:
    """List the ids of the keys, with the number of values that each encrypts."""
    with open_installation() as installation:
        ring = installation.vault.ring()
        with installation.database.operating() as owner:
            counts = sealed_values.count_by_key(owner)
    rows = [{"id": key, "active": key == ring.active, "values": counts.get(key, 0)} for key in ring.keys]
    show(rows, as_json, "Vault keys")


@commands.command()
def rotate(as_json: Json = False) -> None:
    """Encrypt all values with a new key while the service runs. Old keys stay in the file until `kontor keys prune`.

    If the keys are in KONTOR_VAULT_KEYS, put the new key first there and restart the service before you run this command.
    """
    with open_installation() as installation:
        if not installation.vault.from_environment:
            write_ring(installation.vault.path, installation.vault.ring().with_new_key())
        with installation.database.operating() as operator:
            watched.note_key(operator, installation.vault.ring().active)
        count = _reseal(installation, quiet=as_json)
    say(f"{count} values are now encrypted with key {installation.vault.ring().active}.", as_json)


@commands.command()
def prune(as_json: Json = False) -> None:
    """Remove keys from the key file that no longer encrypt any value."""
    with open_installation() as installation:
        if installation.vault.from_environment:
            raise Invalid("the keys are in KONTOR_VAULT_KEYS: remove unused ones there")
        ring = installation.vault.ring()
        with installation.database.operating() as owner:
            unused = set(ring.keys) - set(sealed_values.count_by_key(owner)) - {ring.active}
        write_ring(installation.vault.path, ring.without(unused))
    say(f"Removed: {', '.join(sorted(unused)) or 'nothing'}.", as_json)


def _reseal(installation: Installation, quiet: bool) -> int:
    """Encrypts the values of older keys again, batch by batch; returns their number."""
    with installation.database.operating() as owner:
        counts = sealed_values.count_by_key(owner)
    total = sum(count for key, count in counts.items() if key != installation.vault.ring().active)
    count = 0
    with Progress(disable=quiet) as progress:
        task = progress.add_task("Encrypting", total=total)
        while True:
            with installation.database.operating() as owner:
                batch = sealed_values.reseal_some(owner, installation.vault)
            if batch == 0:
                return count
            count += batch
            progress.update(task, completed=count)
