"""Logs in with python-fints, lists the accounts and reads their bookings: `python_fints.py URL BLZ USER PIN TAN DAYS`.

Runs in an environment of its own, with the package `fints` alone. Prints JSON: IBAN, balance in cents and the amounts of bookings
in cents for each account.
"""

import json
import sys
from datetime import date, timedelta
from typing import Any
from xml.etree import ElementTree as ET

from fints.client import FinTS3PinTanClient, NeedTANResponse  # type: ignore[import-not-found]

URL, BLZ, USER, PIN, TAN, DAYS = sys.argv[1:]


def answered(client: Any, response: Any) -> Any:
    """The response after the TAN, or after the app has been polled."""
    for _ in range(20):
        if not isinstance(response, NeedTANResponse):
            return response
        response = client.send_tan(response, "" if response.decoupled else TAN)
    raise SystemExit("the bank does not confirm")


def cents(amount: Any) -> int:
    return int(amount * 100)


def camt_amounts(documents: list[bytes]) -> list[int]:
    """The amounts of the entries of CAMT documents."""
    amounts = []
    for document in documents:
        for entry in ET.fromstring(document).iterfind(".//{*}Ntry"):
            amount, mark = entry.findtext("{*}Amt"), entry.findtext("{*}CdtDbtInd")
            amounts.append(round(float(amount or "nan") * 100) * (1 if mark == "CRDT" else -1))
    return amounts


def main() -> None:
    client = FinTS3PinTanClient(BLZ, USER, PIN, URL, product_id="KONTORTEST0123456789ABCDE")
    if not client.get_current_tan_mechanism():
        client.fetch_tan_mechanisms()
    accounts = []
    with client:
        if client.init_tan_response:
            answered(client, client.init_tan_response)
        end, start = date.today(), date.today() - timedelta(days=int(DAYS))
        for account in client.get_sepa_accounts():
            booked, _ = answered(client, client.get_transactions_xml(account, start, end))
            lines = answered(client, client.get_transactions(account, start, end))
            balance = client.get_balance(account)
            accounts.append(
                {
                    "iban": account.iban,
                    "balance": cents(balance.amount.amount),
                    "camt": camt_amounts(booked),
                    "mt940": [cents(line.data["amount"].amount) for line in lines],
                }
            )
    print(json.dumps(accounts))


main()
