"""Uploads of statement files as the interface shows them, and the errors of files that cannot be read."""

from collections.abc import Sequence

from api.http.errors import Problem, wrong
from api.http.negotiation import current_language
from api.http.responses import Links, self_relation
from api.schemas.accesses import ACCESSES
from api.schemas.base import amount
from api.schemas.languages import Language, Text, say
from api.schemas.statement_files import (
    DIFFERENCES,
    FAULTS,
    FILE_FIELD,
    IN_LINE,
    StatementWarning,
    UploadBody,
    UploadedAccount,
    UploadedFileBody,
)
from pipelines.fetching.statement_files import AccountUpload, FileUpload, StatementFileFault
from pipelines.statements.statement import Difference, Subject

MAX_WARNINGS = 20


def upload_body(links: Links, access_key: str, uploads: Sequence[FileUpload], *, is_stored: bool) -> UploadBody:
    """What an upload has brought."""
    files = [
        UploadedFileBody(name=upload.name, accounts=[_account(links, access_key, account) for account in upload.accounts])
        for upload in uploads
    ]
    return UploadBody(stored=is_stored, added=sum(account.added for file in files for account in file.accounts), files=files)


def fault_text(fault: StatementFileFault, language: Language) -> str:
    """Why a file cannot be read, and in which line, as the end of a sentence that begins with its name."""
    text = say(FAULTS[fault.reason], language)
    return text if fault.line is None else say(IN_LINE, language, fault=text, line=fault.line)


def unreadable_file(fault: StatementFileFault) -> Problem:
    """The error of a file that is no statement."""
    texts = Text(*(f"„{fault.name}“ {fault_text(fault, language)}" for language in ("de", "en")))
    return wrong(FILE_FIELD, Text(*(text.replace("{", "{{").replace("}", "}}") for text in texts)), "form")


def warning_text(difference: Difference, language: Language) -> str:
    """What a file says about itself and its lines do not confirm."""
    has_lines = difference.subject is Subject.LINES
    values = (difference.declared, difference.actual)
    declared, actual = values if has_lines else (amount(value) for value in values)
    return say(DIFFERENCES[difference.subject], language, declared=declared, actual=actual)


def _account(links: Links, access_key: str, account: AccountUpload) -> UploadedAccount:
    days = [None if day is None else day.isoformat() for day in (account.first_day, account.last_day)]
    return UploadedAccount(
        product=account.product,
        name=account.name,
        iban=account.iban,
        currency=account.currency,
        format=account.format,
        first_day=days[0],
        last_day=days[1],
        lines=account.lines,
        pending=account.pending,
        added=account.added,
        already_there=account.lines - account.added,
        balance=None if account.balance_cents is None else amount(account.balance_cents),
        is_new=account.is_new_product,
        warnings=[
            StatementWarning(subject=difference.subject.value, message=warning_text(difference, current_language()))
            for difference in account.differences[:MAX_WARNINGS]
        ],
        relations=self_relation(links.to(*ACCESSES, access_key, account.product)),
    )
