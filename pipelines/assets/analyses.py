"""What follows from the ledger, bucket by bucket: bookings in the lake, their tags, the analyses, and what the API serves."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import dagster as dg

from analytics.analyses import suite
from analytics.knowledge.files import version
from pipelines.assets import metadata, training
from pipelines.assets.bank_data import RETRY, ledger
from pipelines.assets.partitions import ALL_AT_ONCE, BUCKETS, Anew, buckets_of, done_after
from pipelines.assets.resources import Context
from warehouse.lake import tables
from warehouse.lake.buckets import key
from warehouse.postgres.tables import Result

if TYPE_CHECKING:
    from pipelines.results.checks import CheckResult

GROUP = "analyses"
OWNERS = ["team:data-science"]
WARNS = ("drift",)
TOLD = 10
MOVES = 20
Results = Iterator[dg.MaterializeResult[None]]
bucketed = partial(
    dg.asset,
    partitions_def=BUCKETS,
    backfill_policy=ALL_AT_ONCE,
    group_name=GROUP,
    owners=OWNERS,
    retry_policy=RETRY,
    freshness_policy=done_after(hours=2),
)


def _checks(asset: str, **said: str) -> list[dg.AssetCheckSpec]:
    """Checks with what they say. They keep what follows from being published, but for those that only warn."""
    return [dg.AssetCheckSpec(name, asset=asset, description=text, blocking=name not in WARNS) for name, text in said.items()]


@bucketed(
    deps=[dg.AssetDep(ledger, partition_mapping=dg.MultiToSingleDimensionPartitionMapping("bucket"))],
    kinds={"parquet"},
    metadata=metadata.files(tables.TRANSACTIONS),
    check_specs=_checks(
        "transactions",
        unique="No booking is there twice.",
        of_known_users="Every booking is of a user of its bucket.",
        revision_monotone="No user's bookings are older than the results that are served.",
    ),
    description="The bookings of a bucket's users with their products and wishes, as the ledger has them at one moment.",
)
def transactions(context: dg.AssetExecutionContext, config: Anew, house: dg.ResourceParam[Context]) -> Results:
    from pipelines.results import checks, tags, tasks

    buckets = buckets_of(context)
    found = tasks.on_buckets(tasks.export_buckets, buckets, _told(context), everything=config.everything)
    for bucket, done in found.items():
        _describe(context, bucket, {"dagster/row_count": done.bookings, "users": done.users, "users_changed": done.changed})
    findings = checks.of_transactions(house.database, house.lake, buckets, house.settings.buckets, tags.NAME)
    yield _result("transactions", findings)


@bucketed(
    deps=[transactions, training.categoriser],
    kinds={"parquet", "polars"},
    code_version=version(),
    metadata=metadata.files(tables.TRANSACTION_TAGS),
    check_specs=_checks(
        "transaction_tags",
        complete="Every booking has tags, and there are none without a booking.",
        sign_rule="Categories of income are on income, those of spending on spending; what a user chose stays.",
        drift="Of the bookings that were tagged again, few got another category. It warns and holds nothing up.",
    ),
    description="Every booking with its category, insurance type, business partner and freelancer category, with reasons.",
)
def transaction_tags(context: dg.AssetExecutionContext, config: Anew, house: dg.ResourceParam[Context]) -> Results:
    from pipelines.assets import charts
    from pipelines.results import checks, tags, tasks

    buckets = buckets_of(context)
    found = tasks.on_buckets(tasks.tag_buckets, buckets, _told(context), everything=config.everything)
    for bucket, done in found.items():
        _describe(context, bucket, {"dagster/row_count": done.bookings, "users": done.users, "users_changed": done.changed})
    moves: Counter[tuple[str, str]] = sum((Counter(done.moves) for done in found.values()), Counter())
    findings = checks.of_tags(house.lake, buckets, sum(done.again for done in found.values()), moves.total())
    categories = house.lake.read(tables.TRANSACTION_TAGS, buckets, ["category"])["category"]
    picture = metadata.image(charts.bars(categories, "bookings in the buckets of this run"))
    fullest = max(buckets, key=lambda bucket: found[bucket].bookings)
    # in one place: else every partition keeps a copy
    _describe(context, fullest, {"categories": picture, **_moved(moves)})
    yield _result("transaction_tags", findings, knowledge_version=tags.brain().version)


def _moved(moves: Counter[tuple[str, str]]) -> dict[str, Any]:
    """How many bookings got another category, and if there are any, which one became which."""
    rows = [{"before → now": f"{before} → {now}", "bookings": count} for (before, now), count in moves.most_common(MOVES)]
    return {"moved": moves.total(), **({"moves": metadata.records(rows)} if rows else {})}


def _spec(analysis: suite.Analysis) -> dg.AssetSpec:
    """The asset of an analysis: its lineage is what the suite says."""
    return dg.AssetSpec(
        analysis.name,
        deps=[transaction_tags, *analysis.rests_on],
        description=analysis.about,
        metadata=metadata.files(tables.ANALYSES[analysis.name]),
        group_name=GROUP,
        owners=OWNERS,
        kinds={"parquet", "polars"},
        freshness_policy=done_after(hours=2),
    )


@dg.multi_asset(
    name="analyses",
    specs=[_spec(analysis) for analysis in suite.ANALYSES],
    partitions_def=BUCKETS,
    backfill_policy=ALL_AT_ONCE,
    retry_policy=RETRY,
    check_specs=[
        *_checks("contracts", adds_up="The totals of contracts are the sums of their bookings."),
        *_checks("cashflow", adds_up="The months of all categories, and of all partners, are what was booked."),
        *_checks("disposable_money", adds_up="What will be left is the sum of its four parts."),
        *_checks("affordability", adds_up="Income less expenses is what is left after all luxuries, both ways."),
    ],
)
def analyses(context: dg.AssetExecutionContext, config: Anew, house: dg.ResourceParam[Context]) -> Results:
    """All analyses of the suite in one go: what they share is worked out once."""
    from pipelines.results import checks, tasks

    buckets = buckets_of(context)
    found = tasks.on_buckets(tasks.analyse_buckets, buckets, _told(context), everything=config.everything)
    findings = checks.of_analyses(house.lake, buckets)
    for analysis in suite.ANALYSES:
        for bucket, done in found.items():
            facts = {"dagster/row_count": done.rows.get(analysis.name, 0), "users": done.users, "users_changed": done.changed}
            _describe(context, bucket, facts, analysis.name)
        told = [findings[analysis.name]] if analysis.name in findings else []
        yield _result(analysis.name, told)


@bucketed(
    deps=[transaction_tags, *(analysis.name for analysis in suite.ANALYSES)],
    kinds={"postgres"},
    metadata=metadata.rows(Result),
    description="What the API sends without computing: the results of every user, with the revision they were computed from.",
)
def served_results(context: dg.AssetExecutionContext) -> None:
    from pipelines.results import tasks

    for bucket, done in tasks.on_buckets(tasks.publish_buckets, buckets_of(context), _told(context)).items():
        _describe(context, bucket, {"dagster/row_count": done.users, "users_changed": done.changed})


def _told(context: dg.AssetExecutionContext) -> Any:
    """Tells how far the work is, about ten times: every line is a row in Dagster's database."""

    def tell(done: int, whole: int) -> None:
        if done * TOLD // whole > (done - 1) * TOLD // whole:
            context.log.info("%d of %d pieces of work", done, whole)

    return tell


def _describe(context: dg.AssetExecutionContext, bucket: int, facts: Mapping[str, Any], asset: str | None = None) -> None:
    context.add_asset_metadata(facts, asset_key=asset, partition_key=key(bucket))


def _result(asset: str, findings: "Sequence[CheckResult]", **facts: Any) -> dg.MaterializeResult[None]:
    results = [
        dg.AssetCheckResult(
            asset_key=asset,
            check_name=finding.name,
            passed=finding.passed,
            metadata=dict(finding.facts),
            severity=dg.AssetCheckSeverity.WARN if finding.name in WARNS else dg.AssetCheckSeverity.ERROR,
        )
        for finding in findings
    ]
    return dg.MaterializeResult(asset_key=asset, metadata=facts, check_results=results)


ASSETS = [transactions, transaction_tags, analyses, served_results]
