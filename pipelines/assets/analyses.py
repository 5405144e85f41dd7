"""The assets that follow from the ledger, by bucket: bookings in the lake, their tags, the analyses, and the served results."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import dagster as dg

from analytics.analyses import suite
from analytics.knowledge.files import version
from pipelines.assets import metadata, training
from pipelines.assets.bank_data import RETRY, ledger
from pipelines.assets.partitions import ALL_AT_ONCE, BUCKETS, Anew, buckets_of, done_within_a_day
from pipelines.assets.resources import Context
from warehouse.lake import tables
from warehouse.lake.buckets import key
from warehouse.postgres.tables import Result

if TYPE_CHECKING:
    from pipelines.results.checks import CheckResult

GROUP = "analyses"
OWNERS = ["team:data-science"]
WARNS = ("drift",)
PROGRESS_LINES = 10
MAX_MOVES = 20
Results = Iterator[dg.MaterializeResult[None]]
bucket_asset = partial(
    dg.asset,
    partitions_def=BUCKETS,
    backfill_policy=ALL_AT_ONCE,
    group_name=GROUP,
    owners=OWNERS,
    retry_policy=RETRY,
    freshness_policy=done_within_a_day(),
)


def _checks(asset: str, **descriptions: str) -> list[dg.AssetCheckSpec]:
    """Checks with their descriptions. A failed check stops publication, except for those in `WARNS`."""
    return [
        dg.AssetCheckSpec(name, asset=asset, description=text, blocking=name not in WARNS) for name, text in descriptions.items()
    ]


@bucket_asset(
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
def transactions(context: dg.AssetExecutionContext, config: Anew, kontor: dg.ResourceParam[Context]) -> Results:
    from pipelines.results import checks, tags, tasks

    buckets = buckets_of(context)
    exports = tasks.run_on_buckets(tasks.export_buckets, buckets, _log_progress(context), everything=config.everything)
    for bucket, counts in exports.items():
        _describe(context, bucket, {"dagster/row_count": counts.bookings, "users": counts.users, "users_changed": counts.changed})
    findings = checks.check_transactions(kontor.database, kontor.lake, buckets, kontor.settings.buckets, tags.NAME)
    yield _result("transactions", findings)


@bucket_asset(
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
def transaction_tags(context: dg.AssetExecutionContext, config: Anew, kontor: dg.ResourceParam[Context]) -> Results:
    from pipelines.assets import charts
    from pipelines.results import checks, tags, tasks

    buckets = buckets_of(context)
    taggings = tasks.run_on_buckets(tasks.tag_buckets, buckets, _log_progress(context), everything=config.everything)
    for bucket, tagging in taggings.items():
        _describe(
            context, bucket, {"dagster/row_count": tagging.bookings, "users": tagging.users, "users_changed": tagging.changed}
        )
    moves: Counter[tuple[str, str]] = sum((Counter(tagging.moves) for tagging in taggings.values()), Counter())
    findings = checks.check_tags(kontor.lake, buckets, sum(tagging.again for tagging in taggings.values()), moves.total())
    checks.store_certainty(kontor.database, kontor.lake, buckets)
    categories = (kontor.lake.read(tables.TRANSACTION_TAGS, [bucket], ["category"])["category"] for bucket in buckets)
    picture = metadata.image(charts.bars(categories, "bookings in the buckets of this run"))
    fullest = max(buckets, key=lambda bucket: taggings[bucket].bookings)
    # on one partition: otherwise each would keep a copy of the image
    _describe(context, fullest, {"categories": picture, **_move_facts(moves)})
    yield _result("transaction_tags", findings, knowledge_version=tags.tagger().version)


def _move_facts(moves: Counter[tuple[str, str]]) -> dict[str, Any]:
    """The number of bookings with a new category, and the most frequent changes."""
    rows = [{"before → now": f"{before} → {now}", "bookings": count} for (before, now), count in moves.most_common(MAX_MOVES)]
    return {"moved": moves.total(), **({"moves": metadata.records(rows)} if rows else {})}


def _spec(analysis: suite.Analysis) -> dg.AssetSpec:
    """The asset of an analysis, with the lineage that the suite declares."""
    return dg.AssetSpec(
        analysis.name,
        deps=[transaction_tags, *analysis.rests_on],
        description=analysis.about,
        metadata=metadata.files(tables.ANALYSES[analysis.name]),
        group_name=GROUP,
        owners=OWNERS,
        kinds={"parquet", "polars"},
        freshness_policy=done_within_a_day(),
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
        *_checks("credit_risk", adds_up="Every score is the sum of the points of its signals."),
    ],
)
def analyses(context: dg.AssetExecutionContext, config: Anew, kontor: dg.ResourceParam[Context]) -> Results:
    """All analyses of the suite in one go: what they share is worked out once."""
    from pipelines.results import checks, tasks

    buckets = buckets_of(context)
    bucket_analyses = tasks.run_on_buckets(tasks.analyse_buckets, buckets, _log_progress(context), everything=config.everything)
    findings = checks.check_analyses(kontor.lake, buckets)
    for analysis in suite.ANALYSES:
        for bucket, counts in bucket_analyses.items():
            facts = {
                "dagster/row_count": counts.rows.get(analysis.name, 0),
                "users": counts.users,
                "users_changed": counts.changed,
            }
            _describe(context, bucket, facts, analysis.name)
        check_results = [findings[analysis.name]] if analysis.name in findings else []
        yield _result(analysis.name, check_results)


@bucket_asset(
    deps=[transaction_tags, *(analysis.name for analysis in suite.ANALYSES)],
    kinds={"postgres"},
    metadata=metadata.rows(Result),
    description="What the API sends without computing: the results of every user, with the revision they were computed from.",
    required_resource_keys={"kontor"},  # which tells that the run is alive
)
def served_results(context: dg.AssetExecutionContext) -> None:
    from pipelines.results import tasks

    for bucket, counts in tasks.run_on_buckets(tasks.publish_buckets, buckets_of(context), _log_progress(context)).items():
        _describe(context, bucket, {"dagster/row_count": counts.users, "users_changed": counts.changed})


def _log_progress(context: dg.AssetExecutionContext) -> Any:
    """A callback that logs progress about ten times: every line is a row in Dagster's database."""

    def tell(finished: int, total: int) -> None:
        if finished * PROGRESS_LINES // total > (finished - 1) * PROGRESS_LINES // total:
            context.log.info("%d of %d pieces of work", finished, total)

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
