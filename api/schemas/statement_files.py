"""Bodies of uploaded statement files, and the texts about files that cannot be read."""

from typing import Annotated

from pydantic import Field

from api.schemas.base import Number, Relation, Wire, shape
from api.schemas.languages import Text
from pipelines.statements.statement import Reason, Subject

FILE_FIELD = "datei"
"""The field of the form that carries a file; there may be several."""
STATEMENTS = "kontoauszuege"
"""The last segment of the address to which files are uploaded."""
FAULTS: dict[Reason, Text] = {
    Reason.EMPTY: Text("ist leer", "is empty"),
    Reason.TOO_LARGE: Text("ist größer als 10 MiB", "is larger than 10 MiB"),
    Reason.TOO_MANY_LINES: Text("hat mehr als 50.000 Umsätze", "has more than 50,000 bookings"),
    Reason.FORMAT_UNKNOWN: Text(
        "ist kein Kontoauszug, den wir lesen können (CAMT.052, CAMT.053, MT940, MT942 oder CSV einer bekannten Bank)",
        "is no statement that we can read (CAMT.052, CAMT.053, MT940, MT942, or the CSV of a known bank)",
    ),
    Reason.ARCHIVE: Text("ist ein Archiv: bitte vorher entpacken", "is an archive: unpack it first"),
    Reason.ENCODING: Text("hat eine unbekannte Zeichenkodierung", "has an unknown character encoding"),
    Reason.DOCTYPE: Text("enthält eine DOCTYPE-Angabe, die kein Kontoauszug hat", "has a DOCTYPE, which no statement has"),
    Reason.MARKUP: Text("ist fehlerhaft aufgebaut", "is malformed"),
    Reason.TRUNCATED: Text("ist abgeschnitten", "is cut off"),
    Reason.COLUMNS: Text("hat in einer Zeile nicht die Spalten des Kopfes", "has a line without the columns of its header"),
    Reason.AMOUNT: Text("enthält einen ungültigen Betrag", "has an invalid amount"),
    Reason.CURRENCY: Text("enthält keine oder eine unbekannte Währung", "has no currency, or an unknown one"),
    Reason.DAY: Text("enthält einen ungültigen Tag", "has an invalid day"),
    Reason.TEXT_TOO_LONG: Text("enthält einen zu langen Text", "has a text that is too long"),
    Reason.FIELD_MISSING: Text("ist unvollständig: ein Pflichtfeld fehlt", "is incomplete: a mandatory field is missing"),
    Reason.IMPLAUSIBLE: Text(
        "enthält einen Umsatz, der nicht stimmen kann (Tag, Betrag, Währung oder Text)",
        "has a booking that cannot be true (day, amount, currency or text)",
    ),
    Reason.IMPLAUSIBLE_ACCOUNT: Text(
        "nennt ein Konto oder einen Zeitraum, die nicht stimmen können (IBAN, Nummer, Inhaber, Währung oder Tag des Saldos)",
        "names an account or a period that cannot be true (IBAN, number, owner, currency or day of the balance)",
    ),
}
"""What is wrong with a file, behind its name."""
IN_LINE = Text("{fault}, Zeile {line}", "{fault}, line {line}")
DIFFERENCES: dict[Subject, Text] = {
    Subject.BALANCE: Text(
        "Anfangssaldo und Umsätze ergeben {actual}, der Auszug nennt als Schlusssaldo {declared}.",
        "Opening balance and bookings give {actual}; the statement says {declared} as closing balance.",
    ),
    Subject.LINES: Text(
        "Der Auszug nennt {declared} Umsätze und enthält {actual}.", "The statement says {declared} bookings and has {actual}."
    ),
    Subject.BATCH: Text(
        "Die Teile einer Sammelbuchung ergeben {actual} statt {declared}; sie bleibt ein Umsatz.",
        "The parts of a batch give {actual} instead of {declared}; it stays one booking.",
    ),
}


MAX_FILES = 20


class StatementForm(Wire):
    """A form with statement files."""

    files: list[Annotated[str, Field(json_schema_extra={"format": "binary"})]] = Field(
        alias=FILE_FIELD,
        min_length=1,
        max_length=MAX_FILES,
        examples=[["umsaetze.csv"]],
        description="Files of at most 10 MiB together",
    )


class StatementWarning(Wire):
    """Something that a file says about itself and its lines do not confirm. The lines were stored all the same."""

    subject: Annotated[str, shape("StatementWarningSubject", [subject.value for subject in Subject])] = Field(
        alias="art", examples=["BALANCE"]
    )
    message: str = Field(
        alias="hinweis", examples=["Anfangssaldo und Umsätze ergeben 90.00, der Auszug nennt als Schlusssaldo 100.00."]
    )


class UploadedAccount(Wire):
    """What a file has brought for one account."""

    product: str = Field(alias="bankprodukt", examples=["DE02120300000000202051"], description="Id of the product")
    name: str = Field(alias="bezeichnung", examples=["Sparkasse KölnBonn"])
    iban: str | None = Field(None, examples=["DE02120300000000202051"])
    currency: str | None = Field(None, alias="waehrung", examples=["EUR"])
    format: str = Field(examples=["CAMT.053.001.08"])
    first_day: str | None = Field(None, alias="von", examples=["2026-10-01"])
    last_day: str | None = Field(None, alias="bis", examples=["2026-10-31"])
    lines: int = Field(alias="umsaetze", examples=[42], description="Bookings in the file")
    pending: int = Field(alias="davonVorgemerkt", examples=[0])
    added: int = Field(alias="neu", examples=[40])
    already_there: int = Field(alias="bereitsVorhanden", examples=[2])
    balance: Number | None = Field(None, alias="saldo", examples=[1234.56], description="Of the product, after the upload")
    is_new: bool = Field(alias="neuesBankprodukt", examples=[True])
    warnings: list[StatementWarning] = Field(alias="hinweise")
    relations: list[Relation]


class UploadedFileBody(Wire):
    """A file that was read."""

    name: str = Field(alias="datei", examples=["umsaetze.csv"])
    accounts: list[UploadedAccount] = Field(alias="konten")


class UploadBody(Wire):
    """What an upload has brought. All of its files were stored, or with `dryRun` none."""

    stored: bool = Field(alias="gespeichert", examples=[True])
    added: int = Field(alias="neu", examples=[40])
    files: list[UploadedFileBody] = Field(alias="dateien")
