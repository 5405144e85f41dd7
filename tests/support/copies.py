"""A client that keeps a copy of a customer's data: the one that the documentation shows, over HTTP."""

import re
from pathlib import Path
from typing import Any, ClassVar

from tests.support.stack import Customer

PAGE = Path(__file__).parents[2] / "docs" / "tenants" / "sync.md"
SAMPLE: dict[str, Any] = {"__name__": "sample"}
exec(re.findall(r"^cat > follow.py <<'END'\n(.*?)^END$", PAGE.read_text(), re.M | re.S)[0], SAMPLE)


class Copy:
    """The copy of one client, and what the other lists say."""

    KINDS: ClassVar = tuple(SAMPLE["KINDS"])

    def __init__(self, customer: Customer) -> None:
        self.customer = customer
        self.restart()

    def restart(self) -> None:
        """Forgets everything."""
        self.content: dict[str, Any] = SAMPLE["new_copy"]()

    @property
    def cursor(self) -> str:
        return str(self.content["cursor"])

    @property
    def accesses(self) -> dict[str, Any]:
        return dict(self.content["accesses"])

    @property
    def bookings(self) -> dict[str, Any]:
        return dict(self.content["bookings"])

    def read(self, limit: int = 1000) -> dict[str, Any]:
        """The next page, applied."""
        query: dict[str, Any] = {"limit": limit} | ({"cursor": self.content["cursor"]} if self.content["cursor"] else {})
        page: dict[str, Any] = self.customer.read("/changes", params=query)
        SAMPLE["apply"](self.content, page)
        return page

    def follow(self, limit: int = 1000) -> list[dict[str, Any]]:
        """All pages until there are no more."""
        pages = [self.read(limit)]
        while pages[-1]["hasMore"]:
            pages.append(self.read(limit))
        return pages

    def data(self) -> dict[str, Any]:
        """The copy in the form of `truth`: with the names of the other lists, and without those of copies."""
        accesses, products, bookings = (self.content[kind] for kind in self.KINDS)
        return {
            "accesses": {item["id"]: _without(item, "uid") for item in accesses.values()},
            "products": {
                (item["accessId"], item["id"]): _without(item, "uid", "accessUid", "accessId") for item in products.values()
            },
            "bookings": {
                item["id"]: (
                    item["accessId"],
                    item["productId"],
                    _without(item, "accessId", "productId", "accessUid", "productUid"),
                )
                for item in bookings.values()
            },
        }

    def truth(self) -> dict[str, Any]:
        """What the other lists say at this moment."""
        listed = self.customer.read("/bankzugaenge")
        products = {(key, product["id"]): product for key, access in listed.items() for product in access["bankprodukte"]}
        return {
            "accesses": {key: _without(access, "relations", "bankprodukte") for key, access in listed.items()},
            "products": {place: _without(product, "relations") for place, product in products.items()},
            "bookings": {
                row["id"]: (*place, row)
                for place, product in products.items()
                if any(relation["rel"] == "get_kontoumsaetze" for relation in product["relations"])
                for row in self.customer.bookings(*place)
            },
        }


def _without(item: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in names}
