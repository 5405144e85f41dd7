"""The refresh of 200 logins with 1,500 bookings each at a FinTS bank by one worker, beside the time that the bank itself needs.

The simulated bank runs in a process of its own. Its own time is that of a bare program that sends the same orders for the same
logins, as many at once as the worker does, and looks at no answer. The worker signs in, reads, checks, lands and merges.

Nothing is new at the bank in either case. Mostly its answers are those of the last refresh, byte for byte, and are recognised.
Once a day other days are asked for, so that everything is read and compared: then no digest is stored here.
"""

import base64
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console

from pipelines.banks import catalogue
from pipelines.banks.demo import answers
from pipelines.banks.fints.syntax import segment
from pipelines.banks.fints_bank import books
from pipelines.banks.fints_bank.customers import find_customer
from pipelines.banks.fints_bank.parameters import OLD_STORED_DAYS
from tests.support.fints_program import Program, preparation
from tests.support.stack import Stack, running_stack, start_python, wait_until
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access
from warehouse.stores import accesses

MAX_RATIO = 2.0
AT_ONCE = 10
"""Sessions of the schedule at one bank: half of `KONTOR_BANK_CALLS_AT_ONCE`."""
WAIT_SECONDS = 1800
BANK = ("280", "99999991")
console = Console()


def main(
    logins: Annotated[int, typer.Option(min=1, help="Logins.")] = 200,
    bookings: Annotated[int, typer.Option(min=10, help="Bookings that each login has in the time that is asked for.")] = 1500,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds; the best ratio counts.")] = 2,
) -> None:
    """Measure the refresh as a ratio to the time of the bank; ends with 1 above the limit."""
    with tempfile.TemporaryDirectory() as folder, served_bank(Path(folder) / "bank") as (url, process):
        rows = rows_for(bookings)
        user_ids = [f"test_many_one_step_{rows}_{number}" for number in range(logins)]
        with running_stack(Path(folder) / "home", start_python, KONTOR_FINTS_DEMO_URL=url, KONTOR_WORKERS="1") as stack:
            with console.status("Adding accesses …"):
                add_accesses(stack, user_ids)
            next_day = min(measure(stack, process, url, user_ids, is_same_day=False) for _ in range(rounds))
            same_day = min(measure(stack, process, url, user_ids, is_same_day=True) for _ in range(rounds))
            count = stack.sql("SELECT count(*) FROM transactions")[0][0]
    console.print(
        f"bookings of each login: {count / logins:.0f}; ratio where answers are read: {next_day:.2f}, "
        f"where they are recognised: {same_day:.2f} (limit {MAX_RATIO})"
    )
    if max(next_day, same_day) > MAX_RATIO:
        raise typer.Exit(1)


@contextmanager
def served_bank(folder: Path) -> Iterator[tuple[str, int]]:
    """The address of the simulated bank, and the id of its process."""
    command = [sys.executable, "-m", "pipelines.banks.fints_bank", "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


def rows_for(bookings: int) -> int:
    """The number of made-up rows of which this many lie in the days that the bank tells."""
    probe = 10_000
    customer, now = find_customer(f"test_many_one_step_{probe}"), datetime.now(UTC)
    assert customer is not None
    account, today = books.accounts(customer, now)[0], answers.today(now)
    page = books.page(customer, account, (today - timedelta(days=OLD_STORED_DAYS), None), "", now)
    assert page is not None
    days = (page.closing_on - page.opening_on).days + 1
    return round(bookings * probe / page.bookings.height * days / OLD_STORED_DAYS)


def add_accesses(stack: Stack, user_ids: list[str]) -> None:
    """Adds an access of a customer of its own for each login, and waits for their first fetches."""
    with stack.database.operating() as owner:
        catalogue.add_simulated_bank(owner)
    tenant = stack.tenant()
    for user_id in user_ids:
        customer = tenant.customer()
        credentials = tenant.encrypted(userid=user_id, pin="12345")
        entry = {"providerId": str(catalogue.SIMULATED_BANK.id), "credentials": credentials}
        assert customer.call("POST", "/bankzugaenge", json={"bank": entry}).status_code == 201
    wait_for_fetches(stack)
    failed = stack.sql("SELECT count(*) FROM accesses WHERE jsonb_array_length(issues) > 0 OR fetched_at IS NULL")
    assert failed[0][0] == 0, failed


def measure(stack: Stack, bank_process: int, url: str, user_ids: list[str], *, is_same_day: bool) -> float:
    """The ratio of the worker's time to that of the bank, for answers that are recognised or are not."""
    before = processor_seconds(bank_process)
    began_at = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(lambda user_id: replay(url, user_id), user_ids))
    bank_seconds = time.monotonic() - began_at
    bank_work = processor_seconds(bank_process) - before
    stack.sql("UPDATE products SET status = :header", header=accesses.HEADER)  # so that everything is asked for
    stack.sql("DELETE FROM bank_sessions")
    stack.sql("DELETE FROM unattended_sessions")
    if not is_same_day:
        stack.sql("UPDATE products SET answer_digest = NULL")
    worker_before, before = processor_seconds(stack.worker.pid), processor_seconds(bank_process)
    with stack.database.operating() as operator:
        for access in operator.session.query(Access).all():
            accesses.begin_fetch(Owner(operator.session, access.tenant_id, access.user_id), access, is_awaited=False)
    began_at = time.monotonic()  # the worker sees the jobs from now on
    wait_for_fetches(stack)
    worker_seconds = time.monotonic() - began_at
    failed = stack.sql("SELECT count(*) FROM accesses WHERE jsonb_array_length(issues) > 0")[0][0]
    unasked = stack.sql("SELECT count(*) FROM products WHERE status = :header", header=accesses.HEADER)[0][0]
    assert (failed, unasked) == (0, 0), "some logins were not refreshed: no result"
    console.print("answers that are recognised:" if is_same_day else "answers that are read:")
    console.print(
        f"the bank alone {bank_seconds:.1f} s (processor {bank_work:.1f} s); one worker {worker_seconds:.1f} s "
        f"(its processor {processor_seconds(stack.worker.pid) - worker_before:.1f} s, "
        f"the bank's {processor_seconds(bank_process) - before:.1f} s); ratio {worker_seconds / bank_seconds:.2f}"
    )
    return worker_seconds / bank_seconds


def replay(url: str, user_id: str) -> None:
    """The orders of a refresh, as the connector sends them with what it remembers."""
    with httpx.Client(verify=False, trust_env=False) as client:
        program = Program(lambda message: sent(client, url, message), user_id)
        program.exchange(program.identification(), preparation(program.product, "7"))
        program.exchange(segment("HKSPA", 1))
        number = program.one("HISPA").text(1, 4)
        account = (number, "", *BANK)
        program.exchange(segment("HKSAL", 5, account, "N"))
        today = answers.today(datetime.now(UTC))
        first_day, page = today - timedelta(days=OLD_STORED_DAYS), ""
        while True:
            program.exchange(segment("HKKAZ", 5, account, "N", f"{first_day:%Y%m%d}", f"{today:%Y%m%d}", "", page))
            if "3040" not in program.codes():
                break
            page = str(program.parameters("3040")[0])
        program.end()


def sent(client: httpx.Client, url: str, message: bytes) -> bytes:
    return base64.b64decode(client.post(url, content=base64.b64encode(message), timeout=60).content)


def wait_for_fetches(stack: Stack) -> None:
    running = "SELECT count(*) FROM accesses WHERE fetch_id IS NOT NULL"
    wait_until(lambda: stack.sql(running)[0][0] == 0, WAIT_SECONDS)


def processor_seconds(process: int) -> float:
    """The seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    typer.run(main)
