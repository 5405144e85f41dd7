"""The documents of analyses over a small simulated world: true to their schemas, exact, and the same in any company."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any

import polars as pl
import pytest
from pydantic import TypeAdapter, ValidationError

from analytics import trees
from analytics.analyses.suite import Frames
from api.schemas import analyses as schemas
from pipelines.results.documents.cashflow import VIEWS, CashflowView
from pipelines.results.documents.suite import NAMES, cashflow_document, documents, nothing
from pipelines.results.documents.tags import tag_writer
from tests.support import worlds

WRITER = tag_writer("https://api.example.de")
SCHEMAS: dict[str, Any] = {
    "contracts": list[schemas.ContractBody],
    "contracts-insurance": list[schemas.ContractBody],
    "contracts-insurance-extended": list[schemas.ContractBody],
    "cashflow": list[schemas.CashflowBody],
    "disposable-money": schemas.DisposableMoneyBody | schemas.Nothing,
    "life-events": list[schemas.LifeEventBody],
    "life-stages": list[schemas.LifeStageBody],
    "sales-triggers": list[schemas.SalesTriggerBody],
    "affordability": schemas.AffordabilityBody | schemas.Nothing,
    "credit-risk": schemas.CreditRiskBody | schemas.Nothing,
}
AMOUNT, RATE = re.compile(r"-?\d+\.\d{2}"), re.compile(r"-?\d+(\.\d{1,4})?")
RATES = {"confidenceLevel", "periodConfidenceLevel", "growthRate", "interestRate", "value"}
COUNTS = {"systemId", "version", "daysAge", "daysUntilSalary", "months", "creditCards", "installmentsPaid", "termMonths"}
COUNTS |= {"score", "points", "maxPoints", "transactionCount", "accountsConnected"}
OPTIONAL = {"amount_total", "interest_rate", "term_months", "remaining_amount", "date_end"}
"""What of a loan need not be known."""
SUMS = {"NET", "INCOME", "EXPENSES"}
CATEGORY_VIEWS = [view for view in VIEWS if view.tree == "CATEGORIES"]


class Figure(str):
    """A number as it is written."""


@cache
def told() -> dict[str, dict[str, bytes]]:
    corpus, tagged, frames = worlds.world()
    return dict(documents(WRITER, frames, worlds.as_of(corpus, tagged)))


@cache
def shown(view: CashflowView) -> dict[str, list[dict[str, Any]]]:
    corpus, tagged, frames = worlds.world()
    few = worlds.as_of(corpus, tagged).gather_every(3)  # a view has megabytes
    return {user: exact(body) for user, body in cashflow_document(WRITER, frames, few, view)}


def exact(body: bytes) -> Any:
    return json.loads(body, parse_float=Decimal, parse_constant=pytest.fail)


def every(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """All instances of a document, with whose they are."""
    for user, bodies in told().items():
        found = exact(bodies[name])
        for instance in found if isinstance(found, list) else [found] if found else []:
            yield user, instance


def frame(name: str) -> pl.DataFrame:
    return worlds.world()[2][name]


def in_cents(amount: Decimal) -> int:
    assert amount == amount.quantize(Decimal("0.01"))
    return int(amount * 100)


def by_user(frames: Frames, user: str) -> Frames:
    return {name: rows.filter(pl.col("user") == user) for name, rows in frames.items()}


def figures(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All numbers of a document, with the names of their fields; those of a map by day have the name of the map."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from figures(part, key if re.fullmatch(r"\d{4}-\d{2}-\d{2}", name) else name)
    elif isinstance(value, list):
        for part in value:
            yield from figures(part, key)
    elif isinstance(value, Figure):
        yield key, value


@pytest.mark.parametrize("name", NAMES)
def test_every_document_has_the_fields_of_its_schema_and_no_others(name: str) -> None:
    adapter = TypeAdapter(SCHEMAS[name])
    for bodies in told().values():
        adapter.validate_json(bodies[name], strict=True, extra="forbid")
    assert any(bodies[name] != nothing(name) for bodies in told().values())
    unknown = next(body for body in (bodies[name] for bodies in told().values()) if len(body) > 2)
    with pytest.raises(ValidationError):
        adapter.validate_json(unknown.replace(b'"details":{', b'"details":{"other":1,', 1), strict=True, extra="forbid")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_of_cashflow_has_the_fields_of_the_schema(view: CashflowView) -> None:
    _, _, frames = worlds.world()
    one = frames["cashflow"]["user"][0]
    as_of = pl.DataFrame({"user": [one], "as_of": [worlds.world()[0].as_of]})
    [(user, body)] = cashflow_document(WRITER, frames, as_of, view)
    assert user == one
    assert TypeAdapter(list[schemas.CashflowBody]).validate_json(body, strict=True, extra="forbid")


def test_ids_are_unique_and_none_is_that_of_a_tag_on_a_booking() -> None:
    ids: Counter[str] = Counter()
    for name in set(NAMES) - {"contracts-insurance", "contracts-insurance-extended"}:
        for user, instance in every(name):
            tree = trees.tree(instance["tagTreeItem"]["tagTree"]["systemName"])
            assert re.fullmatch(rf"{user}\.{tree.id}\.\S+", instance["id"])
            assert instance["entity"] == {"displayName": "Kunde", "entityClass": "USER", "id": user, "userId": user}
            ids[instance["id"]] += 1
    assert max(ids.values()) == 1
    assert len(ids) > 20 * len(told())


def test_a_user_alone_gets_the_same_bytes_as_among_others() -> None:
    corpus, tagged, frames = worlds.world()
    as_of = worlds.as_of(corpus, tagged)
    for user in as_of["user"].gather([0, 4]):
        alone = dict(documents(WRITER, by_user(frames, user), as_of.filter(pl.col("user") == user)))
        assert alone == {user: told()[user]}


def test_the_order_of_rows_does_not_matter() -> None:
    corpus, tagged, frames = worlds.world()
    mixed = {name: rows.sample(fraction=1, shuffle=True, seed=3) for name, rows in frames.items()}
    assert dict(documents(WRITER, mixed, worlds.as_of(corpus, tagged).reverse())) == told()


def test_users_of_whom_nothing_is_known_get_empty_documents_in_their_place() -> None:
    corpus, tagged, frames = worlds.world()
    known = worlds.as_of(corpus, tagged)
    strange = pl.DataFrame({"user": ["a", 'u0000002"\n'], "as_of": [corpus.as_of] * 2})
    found = dict(documents(WRITER, frames, pl.concat([strange, known])))
    assert list(found) == sorted([*known["user"], *strange["user"]])
    assert {user: found[user] for user in known["user"]} == told()
    assert {body for name in NAMES for body in (nothing(name),)} == {b"[]", b"{}"}
    for user in strange["user"]:
        assert found[user] == {name: nothing(name) for name in NAMES}
    no_rows = {name: rows.clear() for name, rows in frames.items()}
    assert all(found == {name: nothing(name) for name in NAMES} for _, found in documents(WRITER, no_rows, known))
    for view in VIEWS:
        assert {body for _, body in cashflow_document(WRITER, no_rows, known, view)} == {b"[]"}


def test_only_the_documents_that_are_wanted_are_written() -> None:
    corpus, tagged, frames = worlds.world()
    few = {name: frames[name] for name in ("life_stages", "contracts", "contract_bookings", "loans")}
    wanted = ("life-stages", "contracts-insurance")
    for user, bodies in documents(WRITER, few, worlds.as_of(corpus, tagged), wanted):
        assert bodies == {name: told()[user][name] for name in wanted}


def test_amounts_have_two_decimals_and_rates_at_most_four() -> None:
    seen = set()
    for bodies in told().values():
        for body in bodies.values():
            for key, figure in figures(json.loads(body, parse_float=Figure, parse_int=Figure, parse_constant=pytest.fail)):
                rate = key in RATES or key.startswith("ratio")
                pattern = re.compile(r"\d+") if key in COUNTS else RATE if rate else AMOUNT
                assert pattern.fullmatch(figure), (key, figure)
                assert figure not in {"-0.00", "-0.0", "-0"}
                seen.add(key)
    assert {"amount", "cashflow", "costDevelopmentNonRegular", "standardDeviation", "ratioExpensesToIncome"} <= seen


def test_contracts_add_up() -> None:
    for _, instance in every("contracts"):
        details = instance["details"]
        assert details["amountTotal"] == details["amountTotalRegular"] + details["amountTotalNonRegular"]
        for part in ("", "Regular", "NonRegular"):
            assert details[f"amountTotal{part}"] == sum(details[f"costDevelopment{part}"].values())
            assert list(details[f"costDevelopment{part}"]) == sorted(details[f"costDevelopment{part}"])
        regular, other = details["transactionIdsRegular"], details["transactionIdsNonRegular"]
        assert sorted(details["transactionIds"]) == sorted([*regular, *other])
        assert min(details["costDevelopmentRegular"]) == details["dateFirst"]
        assert instance["tagTreeItem"] == instance["tagTreeItemCategory"]
        assert "dateNext" in details or details["status"] == "INACTIVE"


def test_a_contract_has_the_twelve_relations_to_its_items() -> None:
    for _, instance in every("contracts"):
        links = {relation["rel"]: relation["href"] for relation in instance["relations"]}
        assert len(links) == len(instance["relations"]) == 4 + 12
        for ending, field in (
            ("category", "Category"),
            ("insurance_type", "InsuranceType"),
            ("period", "Period"),
            ("business_partner", "BusinessPartner"),
        ):
            item = instance[f"tagTreeItem{field}"]
            tree = f"https://api.example.de/tags/v1/tag-trees/{item['tagTree']['systemId']}/"
            assert links[f"tag_tree_{ending}"] == tree
            assert links[f"tag_tree_items_{ending}"] == f"{tree}tag-tree-items/"
            assert links[f"tag_tree_item_{ending}"] == f"{tree}tag-tree-items/{item['systemId']}/"


def test_contracts_say_what_their_frame_says() -> None:
    told_by_id = {instance["id"]: instance for _, instance in every("contracts")}
    lent = {row["contract"]: row for row in frame("loans").iter_rows(named=True)}
    ids = dict(frame("contract_bookings").sort("booked_on", "id").group_by("contract", maintain_order=True).agg("id").iter_rows())
    assert len(told_by_id) == frame("contracts").height
    for row in frame("contracts").iter_rows(named=True):
        instance = told_by_id[f"{row['user']}.1.{row['id']}"]
        details = instance["details"]
        for name, column in (("Mean", "amount_mean"), ("Median", "amount_median")):
            assert details[f"amount{name}"] * 100 == Decimal(row[column]).quantize(Decimal(1), ROUND_HALF_UP)
        assert in_cents(details["amountLatest"]) == row["amount_latest"]
        assert details["transactionIds"] == ids[row["id"]]
        assert ("periodConfidenceLevel" in details) == (row["period_confidence"] is not None)
        assert [in_cents(change["amountAfter"]) for change in details["priceChanges"]] == [
            change["after"] for change in row["price_changes"]
        ]
        assert ("loan" in details) == (row["id"] in lent)
        if "loan" in details:
            assert in_cents(details["loan"]["installment"]) == lent[row["id"]]["installment"]
            assert ("remainingAmount" in details["loan"]) == (lent[row["id"]]["remaining_amount"] is not None)
        for tree, column in (("BusinessPartner", "partner"), ("InsuranceType", "insurance"), ("Period", "period")):
            assert instance[f"tagTreeItem{tree}"]["systemName"] == row[column]
    assert lent


def test_a_loan_is_told_as_far_as_it_is_known() -> None:
    corpus, tagged, frames = worlds.world()
    one = frames["loans"].head(1)
    known = one.with_columns(amount_total=1_000_050, interest_rate=0.069949, term_months=48, remaining_amount=0)
    ends = known.with_columns(date_end=pl.lit(corpus.as_of))
    parts = []
    for lent in (ends, one.with_columns(pl.lit(None, kind).alias(name) for name, kind in one.schema.items() if name in OPTIONAL)):
        [(_, bodies)] = documents(
            WRITER,
            {**frames, "loans": lent},
            worlds.as_of(corpus, tagged).filter(pl.col("user") == one["user"][0]),
            ("contracts",),
        )
        TypeAdapter(list[schemas.ContractBody]).validate_json(bodies["contracts"], strict=True, extra="forbid")
        parts += [details["loan"] for details in (each["details"] for each in exact(bodies["contracts"])) if "loan" in details]
    full, bare = parts
    estimated = {"amountTotal": Decimal("10000.50"), "interestRate": Decimal("0.0699"), "termMonths": 48}
    rest = {"remainingAmount": Decimal("0.00"), "dateEnd": corpus.as_of.isoformat()}
    assert full == {**bare, **estimated, **rest}
    assert bare.keys() == {"installment", "installmentsPaid", "confidenceLevel", "reason"}


def test_insurances_are_chosen_from_all_contracts() -> None:
    def chosen(name: str) -> list[str]:
        return [instance["id"] for _, instance in every(name)]

    insured, saved = [], []
    for _, instance in every("contracts"):
        is_insured = instance["tagTreeItemInsuranceType"]["systemName"] != "UNRELATED_OTHER"
        insured += [instance["id"]] if is_insured else []
        saved += [instance["id"]] if is_insured or instance["tagTreeItem"]["systemName"] == "SAVINGS_LIFEBUILDING" else []
    assert 0 < len(insured) < len(saved) < len(chosen("contracts"))
    assert (chosen("contracts-insurance"), chosen("contracts-insurance-extended")) == (insured, saved)


Cells = dict[tuple[str, str, str], Decimal]
"""Amounts by list, tag and time item."""


def cells(view: CashflowView, user: str) -> Cells:
    found: Cells = {}
    for instance in shown(view)[user]:
        outer = instance["tagTreeItem"]["systemName"]
        for part, elements in instance["details"].items():
            for element in elements:
                inner = element["tagTreeItem"]["systemName"]
                key = (part, outer, inner) if view.focus == "time" else (part, inner, outer)
                assert key not in found
                found[key] = element["cashflow"]
    return found


@pytest.mark.parametrize("view", VIEWS)
def test_items_of_each_kind_add_up_to_the_whole_time(view: CashflowView) -> None:
    for user in shown(view):
        sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for (part, tag, item), amount in cells(view, user).items():
            if part == "statistics":
                sums[tag, item[5:6] if item != "TOTAL_TOTAL" else "T"] += amount
        tags = {tag for tag, _ in sums}
        assert len(tags) > 5
        for tag in tags:
            assert {sums[tag, kind] for kind in "TYQMW"} == {sums[tag, "T"]}


@pytest.mark.parametrize("view", [view for view in VIEWS if view.focus == "time"])
def test_elements_stand_in_the_order_of_time(view: CashflowView) -> None:
    for instances in shown(view).values():
        for instance in instances:
            for elements in instance["details"].values():
                names = [element["tagTreeItem"]["systemName"] for element in elements]
                assert names == sorted(names, key=lambda name: ("_YQMW".index(name[5]), name))
            for element in instance["details"]["predictions"]:
                assert element["cashflow"] == element["cashflowFixed"] + element["cashflowFlex"]
                assert element["cashflowLower"] <= element["cashflow"] <= element["cashflowUpper"]


@pytest.mark.parametrize("exclude_savings", [False, True])
def test_main_categories_are_the_sums_of_their_subcategories(exclude_savings: bool) -> None:
    fine, coarse = (CashflowView("tag", "CATEGORIES", level, exclude_savings) for level in ("sub", "main"))
    for user in shown(fine):
        sums: Cells = defaultdict(Decimal)
        for (part, tag, item), amount in cells(fine, user).items():
            assert not (exclude_savings and tag.startswith("SAVINGS"))
            sums[part, trees.tree("CATEGORIES").item(tag).parent or tag, item] += amount
        assert sums == cells(coarse, user)


@pytest.mark.parametrize("view", CATEGORY_VIEWS)
def test_sums_stand_only_where_the_focus_is_on_time_and_agree(view: CashflowView) -> None:
    for user in shown(view):
        found = cells(view, user)
        if view.focus == "tag":
            assert not {"NET", "EXPENSES"} & {tag for _, tag, _ in found}
            continue
        assert {tag for _, tag, _ in found} >= SUMS
        for part, tag, item in found:
            if tag == "NET":
                both = [found.get((part, each, item), Decimal(0)) for each in ("INCOME", "EXPENSES")]
                assert found[part, tag, item] == sum(both)
        assert found["statistics", "INCOME", "TOTAL_TOTAL"] > 0 > found["statistics", "EXPENSES", "TOTAL_TOTAL"]


@pytest.mark.parametrize("view", [view for view in VIEWS if view.focus == "time"])
def test_the_focus_on_tags_is_the_transpose_of_that_on_time(view: CashflowView) -> None:
    for user in shown(view):
        plain = {key: amount for key, amount in cells(view, user).items() if key[1] not in SUMS}
        turned = {key: amount for key, amount in cells(view._replace(focus="tag"), user).items() if key[1] != "INCOME"}
        assert plain == turned


def test_partners_have_one_level() -> None:
    plain = CashflowView(tree="BUSINESS_PARTNERS")
    assert shown(plain._replace(level="main")) == shown(plain)


def test_disposable_money_adds_up() -> None:
    found = [instance["details"] for _, instance in every("disposable-money")]
    assert len(found) == frame("disposable_money").height > 0
    for details in found:
        left = details["amountSalaryLatest"] + details["amountCashflow"]
        assert details["amountCurrentlyLeft"] == left
        assert details["amountDisposableMoney"] == left + details["amountExpectedFixedCashflow"]
        assert details["amountExpectedLeft"] == details["amountDisposableMoney"] + details["amountExpectedFlexCashflow"]
    assert {user for user, bodies in told().items() if bodies["disposable-money"] == b"{}"} == set(told()) - set(
        frame("disposable_money")["user"]
    )


def test_affordability_adds_up() -> None:
    found = [instance["details"] for _, instance in every("affordability")]
    assert len(found) == frame("affordability").height > 0
    for details in found:
        income, expenses = details["income"], details["expenses"]
        luxuries, necessities = expenses["luxuries"], expenses["necessities"]
        left = income["amount"] - expenses["amount"]
        assert left == details["discretionary"] - details["shortfall"] - luxuries["amount"]
        rest = details["discretionaryForIrregularLuxuries"] - details["shortfallForIrregularLuxuries"]
        assert left == rest - luxuries["irregular"]["amount"]
        assert expenses["amount"] == luxuries["amount"] + necessities["amount"]
        for part in (income, luxuries, necessities):
            assert part["amount"] == part["regular"]["amount"] + part["irregular"]["amount"]
            for kind in (part["regular"], part["irregular"]):
                assert kind["amount"] == sum(element["amount"] for element in kind["amountsPerTagTreeItem"])
        assert ("mostRecentRentalPayment" in details) == details["rentalPayments"]
        for flag, evidence in details["evidence"].items():
            if isinstance(details.get(flag), bool):
                assert bool(evidence["transactionIds"]) == details[flag]
                assert evidence["reason"].startswith("keine ") != details[flag]


@pytest.mark.parametrize(
    ("name", "source", "dates"),
    [
        ("life-events", "life_events", {"eventDate": "event_date", "knownSince": "known_since"}),
        ("life-stages", "life_stages", {"dateSince": "since"}),
        ("sales-triggers", "sales_triggers", {"triggerDate": "trigger_date", "eventDate": "event_date"}),
    ],
)
def test_findings_say_what_their_frame_says(name: str, source: str, dates: dict[str, str]) -> None:
    def row(user: str, details: dict[str, Any], item: str) -> tuple[Any, ...]:
        days = tuple(details[wire] for wire in dates)
        amount = in_cents(details["amount"]) if "amount" in details else None
        return user, item, *days, details["reason"], details["transactionIds"], float(details["confidenceLevel"]), amount

    written = [row(user, instance["details"], instance["tagTreeItem"]["systemName"]) for user, instance in every(name)]
    rows = frame(source)
    amounts = rows["amount"] if "amount" in rows.columns else [None] * rows.height
    days = zip(*(rows[column].cast(pl.String) for column in dates.values()), strict=True)
    plain = rows.select("user", "item", "reason", "bookings", pl.col("confidence").round(4)).iter_rows()
    found = [
        (user, item, *day, reason, ids, sure, amount)
        for (user, item, reason, ids, sure), day, amount in zip(plain, days, amounts, strict=True)
    ]
    assert sorted(written, key=str) == sorted(found, key=str)
    assert written


@pytest.mark.parametrize("left", [-12_345, 0, 12_345])
def test_what_is_left_is_never_below_zero_and_a_shortfall_stands_alone(left: int) -> None:
    corpus, tagged, frames = worlds.world()
    poor = frames["affordability"].with_columns(
        discretionary=pl.lit(left, pl.Int64), discretionary_for_irregular_luxuries=pl.lit(left - 100, pl.Int64)
    )
    bodies = documents(WRITER, {**frames, "affordability": poor}, worlds.as_of(corpus, tagged))
    details = next(exact(body["affordability"])["details"] for _, body in bodies if body["affordability"] != b"{}")
    assert (details["discretionary"], details["shortfall"]) == (Decimal(max(left, 0)) / 100, Decimal(max(-left, 0)) / 100)
    rest = left - 100
    assert details["discretionaryForIrregularLuxuries"] == Decimal(max(rest, 0)) / 100
    assert details["shortfallForIrregularLuxuries"] == Decimal(max(-rest, 0)) / 100
