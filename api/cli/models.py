"""`kontor train`, `kontor evaluate`, `kontor model`: training, evaluating and choosing the categoriser."""

import getpass
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from api.cli.installation import Installation, Json, console, open_installation, read_settings, say, show, show_once
from warehouse.errors import Invalid, KontorError
from warehouse.stores import tenants

if TYPE_CHECKING:
    from models.categoriser.storage import CategoryModel

commands = typer.Typer(help="Models of the categoriser.", no_args_is_help=True)
evaluations = typer.Typer(invoke_without_command=True)
FIGURE_COLUMNS = ("analysis", "metric", "value", "95 %", "without model")
SHIPPED = "shipped"
_LISTED_FIGURES = ("category_seen_accuracy", "category_unseen_accuracy", "category_seen_macro_f1", "category_unseen_macro_f1")

Folder = Annotated[Path | None, typer.Option(help="Folder of the models; default: `models` in the data directory.")]
Version = Annotated[str, typer.Argument(help="Version of the model, as `list` shows it.", show_default=False)]
Users = Annotated[int | None, typer.Option(help="How many people are simulated.", min=10)]
Seed = Annotated[int | None, typer.Option(help="Which simulated world.", min=0)]
ModelVersion = Annotated[str | None, typer.Option("--model", help="Version to evaluate, or `shipped`; default: the one in use.")]
Out = Annotated[Path | None, typer.Option(help="Folder for the report: JSON, Markdown, pictures.")]
Who = Annotated[str | None, typer.Option("--by", help="Who does this; default: the operating system's user.")]
Why = Annotated[str, typer.Option(help="Why, for the log.", show_default=False)]
TenantChoice = Annotated[str | None, typer.Option("--tenant", help="A tenant's own models instead of the shared ones.")]


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.command("train")(train)
    app.add_typer(evaluations, name="evaluate")
    app.add_typer(commands, name="model")


def train(
    users: Users = None,
    seed: Seed = None,
    label: Annotated[str | None, typer.Option(help="First part of the new version.")] = None,
    estimator: Annotated[str | None, typer.Option(help="What learns, as `linear`; docs/data-scientists.md lists them.")] = None,
    parameters: Annotated[
        str | None, typer.Option(help='Parameters of the pipeline as JSON: `{"classifier__estimator__alpha": 0.00001}`.')
    ] = None,
    looks: Annotated[int | None, typer.Option(help="Copies of every line to learn from.", min=1, max=50)] = None,
    examples: Annotated[
        Path | None, typer.Option(help="Labelled lines of your own: a file (CSV or Parquet) or a folder of them.", exists=True)
    ] = None,
    weight: Annotated[
        float | None, typer.Option(help="For how many bookings a labelled line stands; default: 10.", min=0.1, max=1000)
    ] = None,
    examined: Annotated[int | None, typer.Option(help="How many other people it is evaluated on.", min=10)] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Train a model on a simulated world, evaluate it, and store it beside the others. The active model stays the same."""
    from analytics.tagging.tag import Tagger
    from models import experiment, registry
    from models.evaluation import single_lines, tagger  # load numba, which no other command needs
    from models.simulator.worlds import TRAINING_WORLD
    from models.training import labelled_files
    from models.training.settings import TrainingSettings

    world = replace(TRAINING_WORLD, **_chosen_options(users=users, seed=seed))
    options = _chosen_options(label=label, estimator=estimator, parameters=_json_object(parameters), looks=looks)
    with model_errors(), progress(as_json) as on_progress:
        settings = TrainingSettings(**options)
        own_lines = labelled_files.read(examples) if examples else labelled_files.LABELLED.to_frame()
        own_examples = labelled_files.examples(own_lines, **_chosen_options(weight=weight))
        model = experiment.train_categoriser(world, settings, on_progress, own_examples)
        test_world = replace(tagger.TEST_WORLD, **_chosen_options(users=examined))
        report = experiment.evaluation_report(model, tagger.evaluate(Tagger(model), test_world, on_progress), test_world)
        path = registry.add(_folder(folder), model, report)
        facts: dict[str, Any] = {"version": model.version, "file": str(path)}
        if examples:
            held_back = labelled_files.held_back(own_lines)
            right_before = single_lines.right_lines(held_back, Tagger(_model(_folder(folder), None)))
            right_after = single_lines.right_lines(held_back, Tagger(model))
            facts |= {"labelled lines": own_lines.height, "held back": held_back.height}
            facts |= {"right before": right_before, "right after": right_after}
    if not as_json:
        _show_gates(report["gates"])
        _show_ungated(report["ungated"])
    show_once(
        facts | {"gates": report["gates"], "ungated": report["ungated"]} if as_json else facts,
        as_json,
        "The model is ready to be promoted.",
    )


@evaluations.callback()
def evaluate(
    context: typer.Context,
    version: ModelVersion = None,
    users: Users = None,
    seed: Seed = None,
    out: Out = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Evaluate the whole tagger with a model: on a simulated world that it has not learned from, and on lines of real banks."""
    if context.invoked_subcommand:
        return
    from analytics.tagging.tag import Tagger
    from models import experiment
    from models.evaluation import reports, tagger

    world = replace(tagger.TEST_WORLD, **_chosen_options(users=users, seed=seed))
    with model_errors(), progress(as_json) as on_progress:
        model = _model(_folder(folder), version)
        report = experiment.evaluation_report(model, tagger.evaluate(Tagger(model), world, on_progress), world)
        paths = reports.write(report, out) if out else []
    if as_json:
        show(report["gates"], as_json, "Gates")
        return
    _show_gates(report["gates"])
    _show_ungated(report["ungated"])
    for path in paths:
        console.print(path, highlight=False)


@evaluations.command("analyses")
def evaluate_analyses(
    people: Annotated[int | None, typer.Option(help="How many people are simulated; default: 300.", min=5)] = None,
    seed: Annotated[int | None, typer.Option(help="Which simulated world; default: that of the test.", min=0)] = None,
    version: ModelVersion = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail if a gate is missed.")] = False,
    out: Out = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Evaluate all analyses of users, from contracts to affordability, on simulated people whose truth and future are known."""
    from analytics.tagging.tag import Tagger
    from models.evaluation import analyses, analysis_reports

    world = replace(analyses.TEST_WORLD, **_chosen_options(users=people, seed=seed))
    with model_errors(), progress(as_json) as on_progress:
        model = _model(_folder(folder), version)
        evaluation = analyses.evaluate(Tagger(model), world, on_progress)
        report = analyses.report(evaluation, model.version, world)
        paths = analysis_reports.write(report, evaluation, out) if out else []
    missed = sum(not row["passed"] for row in report["gates"])
    if as_json:
        show(report["gates"], as_json, "Gates")
    else:
        _show_analyses(analysis_reports.rows(report["gates"]), f"Analyses of {world.users} people, seed {world.seed}")
        for line in (f"{missed} of {len(report['gates'])} gates are missed.", *paths):
            console.print(line, highlight=False)
    if strict and missed:
        raise typer.Exit(1)


@evaluations.command("blind")
def evaluate_blind(
    file: Annotated[
        Path | None, typer.Option(help="A new round: a CSV of labelled lines; default: all rounds.", dir_okay=False, exists=True)
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="Keep the new round and its first score in this checkout.")] = False,
    version: ModelVersion = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Evaluate tags on lines that others have written and labelled, beside the score at the first look at them."""
    from analytics.tagging.tag import Tagger
    from models.evaluation import blind_rounds

    with model_errors():
        tagger = Tagger(_model(_folder(folder), version))
        rounds = {file.stem: blind_rounds.read_round(file)} if file else blind_rounds.rounds()
        figures = {name: blind_rounds.score(lines, tagger) for name, lines in rounds.items()}
        if file and record:
            blind_rounds.record(file, figures[file.stem], _now().date())
    rows = blind_rounds.comparison(figures)
    show(rows, as_json, "Blind rounds")


@evaluations.command("households")
def evaluate_households(
    file: Annotated[
        Path | None,
        typer.Option(help="A new round: a file or folder of households as JSON; default: all rounds.", exists=True),
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="Keep the new round and its first score in this checkout.")] = False,
    faults: Annotated[bool, typer.Option("--faults", help="Show for each household what is wrong.")] = False,
    version: ModelVersion = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Evaluate tags and analyses on households that others have written, beside the score at the first look at them."""
    from analytics.tagging.tag import Tagger
    from models.evaluation import blind_households
    from models.evaluation.households import faults as household_faults
    from models.evaluation.households.documents import read_documents

    figures, fault_rows = {}, []
    with model_errors():
        tagger = Tagger(_model(_folder(folder), version))
        rounds = {blind_households.round_name(file): read_documents(file)} if file else blind_households.rounds()
        for name, documents in rounds.items():
            analysed_round = blind_households.analysed_round(documents, tagger)
            figures[name] = blind_households.score(*analysed_round)
            if file and record:
                blind_households.record(name, documents, figures[name], _now().date())
            if faults:
                fault_rows += [{"round": name, **fault._asdict()} for fault in household_faults.faults(*analysed_round)]
    rows = blind_households.comparison(figures)
    if faults and as_json:
        show_once({"figures": rows, "faults": fault_rows}, as_json, "Blind households")
        return
    for fault in fault_rows:
        console.print(f"{fault['household']} {fault['subject']}: {fault['text']}", highlight=False, markup=False, soft_wrap=True)
    show(rows, as_json, "Blind households")


@commands.command()
def learn(
    tenant: Annotated[str, typer.Option("--tenant", help="Name of the tenant.", show_default=False)],
    weight: Annotated[
        float | None, typer.Option(help="For how many bookings a correction stands; default: 100.", min=0.1, max=1000)
    ] = None,
    examined: Annotated[int | None, typer.Option(help="How many simulated people it is evaluated on.", min=10)] = None,
    as_json: Json = False,
) -> None:
    """Train a tenant's own model: the shared one with the tenant's corrections and rules. It is evaluated, and not in use."""
    from models.evaluation import tagger
    from pipelines import training, training_tenants

    options = _chosen_options(weight=weight)
    with open_installation() as installation, model_errors(), progress(as_json) as on_progress:
        home, tenant_id = installation.settings.home, _tenant_id(installation, tenant)
        new = training_tenants.train_own_model(home, installation.database, tenant_id, **options, on_progress=on_progress)
        test_world = replace(tagger.TEST_WORLD, **_chosen_options(users=examined))
        evaluation = training.evaluate(home, test_world, new.model.version, on_progress, tenant=tenant_id)
    facts = {
        "version": new.model.version,
        "shared": new.shared,
        "lines": new.lines,
        "users": new.users,
        "right before": new.right_before,
        "right after": new.right_after,
        "objections": evaluation.objections,
    }
    changes = new.changes.to_dicts()
    if as_json:
        show([facts | {"changes": changes}], as_json, "Model")
        return
    show([{**row, **_rounded(row)} for row in changes], as_json, "What the corrections changed")
    verdict = "The gate refuses it." if evaluation.objections else "It is ready to be promoted."
    show_once({**facts, "objections": "; ".join(evaluation.objections)}, as_json, verdict)


@commands.command("list")
def list_models(tenant: TenantChoice = None, folder: Folder = None, as_json: Json = False) -> None:
    """List the models with their figures, and say which one is in use."""
    from models import registry

    with model_errors(), _registry_of(tenant, folder) as (models_folder, _, base):
        registered_models = registry.versions(models_folder, base)
    rows = [
        {"version": model.version, "in use": "yes" if model.active else ""}
        | {name: f"{model.figures[name].value:.4f}" if name in model.figures else "" for name in _LISTED_FIGURES}
        for model in registered_models
    ]
    show(rows, as_json, "Models")


@commands.command()
def promote(
    version: Version,
    why: Why,
    by: Who = None,
    override: Annotated[str | None, typer.Option(help="Reason to set objections aside; it is logged.")] = None,
    tenant: TenantChoice = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Put a model into use. Refused if it misses a hard gate or is worse than the one in use."""
    from models import registry
    from pipelines import training

    decision: dict[str, Any] = {"by": by or getpass.getuser(), "at": _now()}
    with model_errors(), _registry_of(tenant, folder) as (models_folder, tenant_id, _), _on_all_machines(tenant_id, folder):
        if tenant_id is None:
            entry = registry.promote(models_folder, version, **decision, why=why, override_reason=override)
            before, after = entry.before, entry.version
        else:
            full_reason = f"{why} ({override})" if override else why
            promotion = training.choose(
                read_settings().home, version, **decision, why=full_reason, override=bool(override), tenant=tenant_id
            )
            before, after = promotion.before, promotion.after
    say(f"{after} is in use, before it {before} was.", as_json)


@commands.command()
def rollback(
    version: Version, why: Why, by: Who = None, tenant: TenantChoice = None, folder: Folder = None, as_json: Json = False
) -> None:
    """Put a model back into use that was in use before, or `shipped`; for a tenant, `shared` is what all others use."""
    from models import registry

    with model_errors(), _registry_of(tenant, folder) as (models_folder, tenant_id, base), _on_all_machines(tenant_id, folder):
        entry = registry.roll_back(models_folder, version, by=by or getpass.getuser(), at=_now(), why=why, base=base)
    say(f"{entry.version} is in use again, before it {entry.before} was.", as_json)


@contextmanager
def _on_all_machines(tenant_id: UUID | None, folder: Path | None) -> Iterator[None]:
    """A block that puts a version into use, then in use on all machines. A folder of its own, or an installation without a
    database yet, concerns nobody else.
    """
    from pipelines import shared_models

    settings = read_settings()
    if folder is not None or not (settings.database_url or (settings.home / "postgres").is_dir()):
        yield
        return
    with open_installation() as installation, shared_models.changing(installation.database, settings.home, tenant_id):
        yield


@contextmanager
def _registry_of(tenant: str | None, folder: Path | None) -> Iterator[tuple[Path, UUID | None, str]]:
    """The folder of the shared models or of a tenant's, the tenant's id, and the name of what is in use without a choice."""
    from models import registry

    if tenant is None:
        yield _folder(folder), None, registry.SHIPPED_NAME
        return
    if folder is not None:
        raise Invalid("--tenant and --folder exclude each other: a tenant's models lie in the data directory")
    with open_installation() as installation:
        tenant_id = _tenant_id(installation, tenant)
    yield registry.tenant_folder(_folder(folder), tenant_id), tenant_id, registry.SHARED_NAME


def _tenant_id(installation: Installation, name: str) -> UUID:
    with installation.database.operating() as operator:
        return tenants.find(operator, name).id


def _rounded(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: f"{value:.2f}" for name, value in row.items() if isinstance(value, float)}


def _folder(folder: Path | None) -> Path:
    return folder or read_settings().home / "models"


def _model(folder: Path, version: str | None) -> "CategoryModel":
    from models import registry

    return registry.shipped() if version == SHIPPED else registry.find(folder, version) if version else registry.active(folder)


def _chosen_options(**values: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in values.items() if value is not None}


def _json_object(text: str | None) -> dict[str, Any] | None:
    """The object of a JSON text; `Invalid` if it is none."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Invalid("--parameters is no JSON object")
    return value


def _now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def model_errors() -> Iterator[None]:
    """Facts about models, as the command line tells facts."""
    from models.errors import ModelError

    try:
        yield
    except ModelError as error:
        raise KontorError(f"{type(error).__name__}: {error}") from error
    except ValueError as error:
        raise Invalid(str(error)) from error


@contextmanager
def progress(silent: bool) -> Iterator[Callable[[str, float], None]]:
    """A bar for each step; none where a script reads along."""
    columns = TextColumn("{task.description:<10}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn()
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=silent) as bars:

        def on_progress(step: str, share: float) -> None:
            if step not in tasks or bars.tasks[tasks[step]].finished:
                tasks[step] = bars.add_task(step, total=1.0)
            bars.update(tasks[step], completed=share)

        yield on_progress


def _show_gates(rows: list[dict[str, Any]]) -> None:
    table = Table(title="Gates", title_justify="left")
    for name in (*FIGURE_COLUMNS, "gate", "moonshot", ""):
        table.add_column(name)
    for row in rows:
        verdict = "[green]moonshot[/]" if row["moonshot_reached"] else "[green]passed[/]" if row["passed"] else "[red]missed[/]"
        sign = "≥" if row["higher_is_better"] else "≤"
        table.add_row(*_figure_cells(row), f"{sign} {row['gate']}", str(row["moonshot"]), verdict)
    console.print(table)


def _show_ungated(rows: list[dict[str, Any]]) -> None:
    table = Table(title="Figures without a gate", title_justify="left")
    for name in FIGURE_COLUMNS:
        table.add_column(name)
    for row in rows:
        table.add_row(*_figure_cells(row))
    console.print(table)


def _figure_cells(row: Mapping[str, Any]) -> list[str]:
    without_model = "" if row["without_model"] is None else f"{row['without_model']:.4f}"
    return [row["analysis"], row["metric"], f"{row['value']:.4f}", f"{row['low']:.4f}–{row['high']:.4f}", without_model]


def _show_analyses(rows: list[dict[str, str]], title: str) -> None:
    table = Table(*rows[0], title=title, title_justify="left")
    colours = {"missed": "red", "reached": "green", "moonshot": "green"}
    for row in rows:
        *cells, verdict = row.values()
        table.add_row(*cells, f"[{colours[verdict]}]{verdict}[/]")
    console.print(table)
