"""PINs and TANs at a FinTS bank: in no log, file, job, state or row of the database, at no moment of a dialogue."""

import base64
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.banks import catalogue
from pipelines.banks.fints_bank import bank as bank_module
from pipelines.banks.fints_bank import methods
from pipelines.banks.fints_bank.customers import BankCustomer, find_customer
from pipelines.banks.fints_bank.server import FintsServer
from tests.spec.dialogues import BACK, IP, codes, moved, rels
from tests.support.stack import Customer, Stack, running_stack

PIN, TAN, WRONG_PIN, WRONG_TAN = "840271936", "59172604", "306918274", "71830459"
SECRETS = (PIN, TAN, WRONG_PIN, WRONG_TAN)
FORMS = {
    form for secret in SECRETS for form in (secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode().rstrip("="))
}


def customer_with_long_pin(user_id: str) -> BankCustomer | None:
    """The customer of the simulated bank, with a PIN that stands nowhere else."""
    customer = find_customer(user_id)
    return customer and replace(customer, behaviour=replace(customer.behaviour, pin=PIN))


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FintsServer]:
    with pytest.MonkeyPatch.context() as patch, FintsServer(tmp_path_factory.mktemp("fints")) as server:
        patch.setattr(bank_module, "find_customer", customer_with_long_pin)
        patch.setattr(methods, "RIGHT_TAN", TAN)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def stack(bank: FintsServer, homes: Path) -> Iterator[Stack]:
    with running_stack(homes / "secrets", KONTOR_FINTS_DEMO_URL=bank.url, KONTOR_WORKERS="1") as running:
        with running.database.operating() as owner:
            catalogue.add_simulated_bank(owner)
        yield running


class Watch:
    """Looks through all rows of the database again and again, until it is stopped."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._stop = threading.Event()
        self._tables = [name for (name,) in stack.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        self.places: set[str] = set()
        self.rounds = 0
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            is_last = self._stop.is_set()
            self.places |= {table for table in self._tables if secrets_in(rows_of(self._stack, table))}
            self.rounds += 1
            if is_last:
                return


def rows_of(stack: Stack, table: str) -> str:
    return "\n".join(str(row[0]) for row in stack.sql(f'SELECT t::text FROM "{table}" t'))


def secrets_in(content: str) -> set[str]:
    return {form for form in FORMS if form in content}


def files_with_secrets(folder: Path) -> list[str]:
    """The files below a folder that have a secret in them, in clear, hexadecimal or base64."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in files if secrets_in(path.read_bytes().decode("latin-1"))]


def added(customer: Customer, user_id: str, pin: str) -> None:
    credentials = customer.tenant.encrypted(userid=user_id, pin=pin)
    entry = {"providerId": str(catalogue.SIMULATED_BANK.id), "credentials": credentials}
    assert customer.call("POST", "/bankzugaenge", json={"bank": entry}).status_code == 201
    customer.wait_idle("bank", 60)


def begun(customer: Customer) -> Any:
    answer = customer.call("POST", "/bankzugaenge/bank/consent", params={"callbackUrl": BACK}, headers=IP)
    return customer.read(answer.headers["Location"])


def test_pins_and_tans_are_nowhere(stack: Stack, bank: FintsServer) -> None:
    customer, mistaken, refused = (stack.tenant().customer() for _ in range(3))
    with Watch(stack) as watch:
        added(customer, "test_long_history_secret", PIN)
        status = moved(customer, begun(customer), "set_method", chosenScaMethodId=922)
        tans = 0
        while "submit_text_tan" in rels(status):
            tans += 1
            status = moved(customer, status, "submit_text_tan", tan=TAN)
        assert tans > 0
        assert codes(status) == ["BA3090"]
        customer.wait_complete("bank", 60)
        added(mistaken, "test_tan_secret", PIN)
        status = moved(mistaken, begun(mistaken), "submit_text_tan", tan=WRONG_TAN)
        assert codes(status) == ["BA1103"]
        added(refused, "test_tan_secret2", WRONG_PIN)
        assert refused.codes("bank") == ["BA1011"]
    assert watch.rounds > 1
    assert watch.places == set()
    assert files_with_secrets(stack.home) == []
    assert files_with_secrets(bank.bank.folder) == []


def test_the_search_finds_what_it_looks_for(stack: Stack, tmp_path: Path) -> None:
    for form in FORMS:
        assert secrets_in(f"… {form} …") == {form}
    (tmp_path / "file.log").write_bytes(b"\xff" + PIN.encode())
    assert files_with_secrets(tmp_path) == [str(tmp_path / "file.log")]
    stack.sql("UPDATE providers SET bic = :pin WHERE id = :id", pin=PIN, id=catalogue.SIMULATED_BANK.id)
    try:
        assert secrets_in(rows_of(stack, "providers")) == {PIN}
    finally:
        stack.sql("UPDATE providers SET bic = NULL WHERE id = :id", id=catalogue.SIMULATED_BANK.id)
