"""Foreign FinTS programs at the simulated bank, by TLS: they log in, list the accounts, and read balances and bookings.

They are python-fints, lib-fints (npm) and AqBanking (Debian). The first two are downloaded into a folder of their own, which
`FOREIGN_CLIENTS` names if it is to be kept. What is not there and cannot be downloaded is skipped.
"""

import json
import os
import shutil
import ssl
import subprocess
import threading
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines.banks.demo import answers
from pipelines.banks.fints_bank import books
from pipelines.banks.fints_bank.bank import FintsBank, read_journal
from pipelines.banks.fints_bank.customers import find_customer
from pipelines.banks.fints_bank.server import FintsServer
from tests.pipelines.banks.test_fints_connection import certificate

pytestmark = pytest.mark.thorough
HERE = Path(__file__).parent / "foreign"
BLZ, PIN, TAN, DAYS = "99999991", "12345", "123456", 60
SECONDS = 180


@dataclass(frozen=True)
class TlsBank:
    """The simulated bank behind TLS, with the file of its certificate."""

    url: str
    folder: Path
    certificate: Path

    def environment(self, home: Path) -> dict[str, str]:
        trust = dict.fromkeys(("REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"), str(self.certificate))
        return {**os.environ, **trust, "HOME": str(home)}

    def orders_of(self, user_id: str) -> set[str]:
        return {order for entry in read_journal(self.folder) if entry["user_id"] == user_id for order in entry["orders"]}


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[TlsBank]:
    pem = certificate(tmp_path, "localhost", 60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with FintsServer(tmp_path / "bank") as server:
        url = server.url.replace("http://127.0.0.1", "https://localhost")
        server.bank = FintsBank(tmp_path / "bank", url)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield TlsBank(url, tmp_path / "bank", pem)
        server.shutdown()


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of clients that are downloaded."""
    kept = os.environ.get("FOREIGN_CLIENTS")
    return Path(kept).resolve() if kept else tmp_path_factory.mktemp("clients")


def installed(command: list[str], folder: Path) -> None:
    try:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{command[0]} cannot download the client: {type(error).__name__}")
    if result.returncode:
        pytest.skip(f"{command[0]} cannot download the client: {result.stderr[-300:]}")


def run(command: list[str], bank: TlsBank, home: Path, folder: Path, stdin: str = "") -> str:
    result = subprocess.run(
        command,
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        env=bank.environment(home),
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


def booked_amounts(user_id: str, iban: str) -> tuple[int, list[int]]:
    """Balance and amounts of the booked lines of an account, from the bank's books."""
    customer, now = find_customer(user_id), datetime.now(UTC)
    assert customer is not None
    account = next(account for account in books.accounts(customer, now) if account.product.iban == iban)
    first_day = answers.today(now) - timedelta(days=DAYS)
    page = books.page(customer, account, (first_day, None), "", now)
    assert page is not None
    assert page.touchdown is None
    return account.product.balance_cents or 0, page.bookings["amount_cents"].to_list()


def check_accounts(user_id: str, accounts: list[dict[str, Any]]) -> None:
    with_iban = [account for account in accounts if account["iban"]]
    assert with_iban
    for account in with_iban:
        balance, amounts = booked_amounts(user_id, account["iban"])
        assert account["balance"] == balance
        assert sorted(account["mt940"]) == sorted(amounts)
        assert sorted(account["camt"]) == sorted(amounts)


@pytest.mark.parametrize("user_id", ["test_tan_py", "test_app_py"])
def test_python_fints(bank: TlsBank, clients: Path, tmp_path: Path, user_id: str) -> None:
    folder = clients / "python"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        installed([str(python), "-m", "pip", "install", "--quiet", "fints==5.0.1"], clients)
    command = [str(python), str(HERE / "python_fints.py"), bank.url, BLZ, user_id, PIN, TAN, str(DAYS)]
    check_accounts(user_id, json.loads(run(command, bank, tmp_path, clients).splitlines()[-1]))
    assert bank.orders_of(user_id) >= {"HKSYN", "HKTAN", "HKSPA", "HKSAL", "HKKAZ", "HKCAZ", "HKEND"}


@pytest.mark.parametrize("user_id", ["test_tan_js", "test_app_js"])
def test_lib_fints(bank: TlsBank, clients: Path, tmp_path: Path, user_id: str) -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("there is no Node")
    folder = clients / "node"
    if not (folder / "node_modules" / "lib-fints").exists():
        folder.mkdir(parents=True, exist_ok=True)
        installed(["npm", "install", "--silent", "--no-audit", "--no-fund", "lib-fints@1.5.0"], folder)
    command = ["node", str(HERE / "lib_fints.mjs"), bank.url, BLZ, user_id, PIN, TAN, str(DAYS)]
    check_accounts(user_id, json.loads(run(command, bank, tmp_path, folder).splitlines()[-1]))
    assert bank.orders_of(user_id) >= {"HKSYN", "HKTAN", "HKSAL", "HKKAZ", "HKCAZ", "HKEND"}


def test_aqbanking(bank: TlsBank, tmp_path: Path) -> None:
    """AqBanking reads MT940, and knows no HKTAN of version 7."""
    if shutil.which("aqhbci-tool4") is None or shutil.which("aqbanking-cli") is None:
        pytest.skip("there is no AqBanking: install the package aqbanking-tools")
    user_id = "test_mt940_aq"
    pins = tmp_path / "pins"
    pins.write_text(f'PIN_{BLZ}_{user_id} = "{PIN}"\n')
    settings = [f"--cfgdir={tmp_path / 'aqbanking'}", "-P", str(pins)]

    def aqhbci(*arguments: str, stdin: str = "", asks: bool = False) -> str:
        return run(["aqhbci-tool4", *settings, *([] if asks else ["-n"]), *arguments], bank, tmp_path, tmp_path, stdin)

    def aqbanking(*arguments: str) -> list[list[str]]:
        lines = run(["aqbanking-cli", *settings, "-n", *arguments], bank, tmp_path, tmp_path).splitlines()
        return [line.split("\t") for line in lines if "\t" in line]

    identity = ["-b", BLZ, "-u", user_id, "-c", user_id]
    aqhbci("adduser", "-N", "Test", *identity, "-t", "pintan", "-s", bank.url, "--hbciversion=300")
    aqhbci("getcert", "-u", "1", stdin="1\n" * 5, asks=True)  # accepts the certificate
    aqhbci("getsysid", "-u", "1")
    aqhbci("setitanmode", "-u", "1", "-m", "6922")
    aqhbci("getaccounts", "-u", "1")
    customer, now = find_customer(user_id), datetime.now(UTC)
    assert customer is not None
    accounts = books.accounts(customer, now)
    assert all(f"Account Number: {account.number}" in aqhbci("listaccounts") for account in accounts)
    giro = accounts[0]
    context = str(tmp_path / "context")
    first_day = answers.today(now) - timedelta(days=DAYS)
    period = [f"--fromdate={first_day:%Y%m%d}", f"--ctxfile={context}"]
    aqbanking("request", f"--bank={BLZ}", f"--account={giro.number}", "--balance", "--transactions", *period)
    balance, amounts = booked_amounts(user_id, giro.product.iban or "")
    lines = aqbanking("listtrans", f"--ctxfile={context}")
    pending = books.page(customer, giro, (first_day, None), "", now)
    assert pending is not None
    assert sorted(cents(line[1]) for line in lines if line[0][:1].isdigit()) == sorted(
        [*amounts, *pending.pending["amount_cents"].to_list()]
    )
    assert cents(aqbanking("listbal", f"--ctxfile={context}")[-1][1]) == balance
    assert bank.orders_of(user_id) >= {"HKSYN", "HKTAN", "HKSAL", "HKKAZ", "HKEND"}


def cents(text: str) -> int:
    return round(float(text) * 100)
