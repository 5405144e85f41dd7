"""`kontor statement` and `kontor anonymise`: statement files of banks, looked at without storing anything."""

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from api.cli.installation import Json, console, show
from warehouse.errors import KontorError

if TYPE_CHECKING:
    from pipelines.statements.statement import Statement

Files = Annotated[
    list[Path], typer.Argument(help="Statement files: CAMT, MT940 or CSV.", exists=True, dir_okay=False, show_default=False)
]
Sample = Annotated[Path, typer.Argument(help="A statement file.", exists=True, dir_okay=False, show_default=False)]
Out = Annotated[
    Path | None, typer.Option("--out", help="Where to write; default: beside the file, with `anonymised` in its name.")
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("statement")(show_statements)
    app.command("anonymise")(anonymise_file)


def show_statements(files: Files, as_json: Json = False) -> None:
    """Read statement files and show what they contain. Nothing is stored. Exits with code 1 if a file is no statement."""
    from pipelines.statements.reading import read
    from pipelines.statements.statement import StatementFault

    results: list[dict[str, Any]] = []
    for path in files:
        try:
            statements = [_summary(statement) for statement in read(path.read_bytes())]
            results.append({"file": str(path), "statements": statements, "problem": None})
        except StatementFault as fault:
            results.append({"file": str(path), "statements": [], "problem": {"reason": fault.reason.value, "line": fault.line}})
    if as_json:
        show(results, as_json, "Files")
    else:
        for result in results:
            _show_file(result)
    if any(result["problem"] for result in results):
        raise typer.Exit(1)


def anonymise_file(file: Sample, out: Out = None) -> None:
    """Replace names, accounts, references and amounts of a statement file, so that it can be shown to others."""
    from pipelines.statements.anonymise import anonymised

    target = out or file.with_name(f"{file.stem}.anonymised{file.suffix}")
    content = anonymised(file.read_bytes(), secrets.token_bytes(32))
    try:
        with target.open("xb") as stream:
            stream.write(content)
    except FileExistsError as error:
        raise KontorError(f"{target} exists; choose another file with --out") from error
    console.print(f"Written to {target}. Read it before you send it.", highlight=False, soft_wrap=True, markup=False)


def _summary(statement: "Statement") -> dict[str, Any]:
    """What a statement says about itself; no booking is shown."""
    account = statement.account
    return {
        "format": statement.format,
        "account": account.iban or account.number,
        "currency": account.currency,
        "first_day": statement.first_day,
        "last_day": statement.last_day,
        "lines": statement.bookings.height,
        "pending": int(statement.bookings["pending"].sum()),
        "opening_cents": statement.opening.cents if statement.opening else None,
        "closing_cents": statement.closing.cents if statement.closing else None,
        "differences": [vars(difference) for difference in statement.differences],
    }


def _show_file(result: dict[str, Any]) -> None:
    name = escape(result["file"])
    if result["problem"]:
        line = f", line {result['problem']['line']}" if result["problem"]["line"] else ""
        console.print(f"[bold red]{name}[/]: no statement: {result['problem']['reason']}{line}", highlight=False, soft_wrap=True)
    for statement in result["statements"]:
        console.print(f"[bold]{name}[/]: {escape(statement['format'])}", highlight=False, soft_wrap=True)
        for label, value in _facts(statement):
            console.print(f"  {label}: {value}", highlight=False, soft_wrap=True, markup=False)


def _facts(statement: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines about a statement."""
    opening, closing = statement["opening_cents"], statement["closing_cents"]
    has_both = opening is not None and closing is not None
    verdict = "fit" if not statement["differences"] else "differ"
    differences = [
        (
            f"difference ({difference['subject'].value.lower()})",
            f"declared {difference['declared']}, actual {difference['actual']}",
        )
        for difference in statement["differences"]
    ]
    return [
        ("account", f"{statement['account'] or 'unknown'} ({statement['currency']})"),
        ("period", f"{statement['first_day']} to {statement['last_day']}"),
        ("lines", f"{statement['lines']}, {statement['pending']} of them pending"),
        ("balances in cents", f"{opening} to {closing}, which {verdict}" if has_both else "not both in the file"),
        *differences,
    ]
