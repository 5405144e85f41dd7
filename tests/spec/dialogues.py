"""What tests of consents and payments share: following relations, and reading statuses."""

from typing import Any

from tests.support.stack import Customer

IP = {"Customer-IP-Address": "84.112.10.7"}
BACK = "https://tenant.example/back"
TRANSFER = {
    "recipient": "Stadtwerke",
    "purpose": "Rechnung 4711",
    "iban": "DE02120300000000202051",
    "bic": None,
    "currency": "EUR",
    "amount": 12.5,
}
Status = dict[str, Any]


def codes(status: Status) -> list[str]:
    return [message["code"] for message in status["messages"]]


def rels(status: Status) -> list[str]:
    return [relation["rel"] for relation in status["relations"]]


def href(status: Status, rel: str) -> str:
    return str(next(relation["href"] for relation in status["relations"] if relation["rel"] == rel))


def moved(customer: Customer, status: Status, rel: str, **body: Any) -> Status:
    """The status after following a relation."""
    answer = customer.call("PUT" if rel == "submit_text_tan" else "POST", href(status, rel), json=body)
    assert answer.status_code == 200, answer.text
    next_status: Status = answer.json()
    return next_status


def up_to_tan(customer: Customer, status: Status, method: int) -> Status:
    """The status in which a TAN is wanted, by this method and its first medium."""
    if codes(status) == ["BA3010"]:
        status = moved(customer, status, "set_method", chosenScaMethodId=method)
    if codes(status) == ["BA3020"]:
        status = moved(customer, status, "set_medium", chosenScaMedia=status["scaMediums"][0]["name"])
    return status
