"""`kontor keys`: the vault's keys."""

import typer
from rich.progress import Progress

from api.cli.desk import Desk, Json, desk, read_settings, say, show
from warehouse.errors import Invalid
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import create_ring, write_ring

commands = typer.Typer(help="Keys of the vault, in which secrets rest.", no_args_is_help=True)


@commands.command()
def create(as_json: Json = False) -> None:
    """Make the key file. Never touches one that exists."""
    path = read_settings().keys_path
    say(f"{path} was made. Keep a copy in a safe place." if create_ring(path) else f"{path} is there already.", as_json)


@commands.command("list")
def list_keys(as_json: Json = False) -> None:
    """List the keys by id, and how many values each has sealed."""
    with desk() as at:
        ring = at.vault.ring()
        with at.database.operating() as owner:
            counts = sealed_values.count_by_key(owner)
    rows = [{"id": key, "active": key == ring.active, "values": counts.get(key, 0)} for key in ring.keys]
    show(rows, as_json, "Vault keys")


@commands.command()
def rotate(as_json: Json = False) -> None:
    """Seal everything with a new key, while the service runs. Old keys stay readable until `kontor keys prune`.

    With keys in KONTOR_VAULT_KEYS, put the new key first there, restart, and then run this.
    """
    with desk() as at:
        if not at.vault.from_environment:
            write_ring(at.vault.path, at.vault.ring().with_new_key())
        count = _reseal(at, quiet=as_json)
    say(f"{count} values are sealed with key {at.vault.ring().active} now.", as_json)


@commands.command()
def prune(as_json: Json = False) -> None:
    """Remove keys that have sealed nothing any more from the key file."""
    with desk() as at:
        if at.vault.from_environment:
            raise Invalid("the keys are in KONTOR_VAULT_KEYS: remove them there")
        ring = at.vault.ring()
        with at.database.operating() as owner:
            unused = set(ring.keys) - set(sealed_values.count_by_key(owner)) - {ring.active}
        write_ring(at.vault.path, ring.without(unused))
    say(f"Removed: {', '.join(sorted(unused)) or 'nothing'}.", as_json)


def _reseal(at: Desk, quiet: bool) -> int:
    """Seals values of older keys batch by batch; answers how many."""
    with at.database.operating() as owner:
        counts = sealed_values.count_by_key(owner)
    total = sum(count for key, count in counts.items() if key != at.vault.ring().active)
    done = 0
    with Progress(disable=quiet) as progress:
        task = progress.add_task("Sealing", total=total)
        while True:
            with at.database.operating() as owner:
                batch = sealed_values.reseal_some(owner, at.vault)
            if batch == 0:
                return done
            done += batch
            progress.update(task, completed=done)
