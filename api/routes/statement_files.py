"""Routes of statement files: customers' own files are uploaded to an access without a bank."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from api.bodies.statement_files import unreadable_file, upload_body
from api.customer import AccessKey, Modifies, changing_for
from api.http.errors import Problem
from api.http.mistakes import missing
from api.http.multipart import MULTIPART, UploadedFile, boundary_of, read_form
from api.http.responses import json_response
from api.http.route import UPLOAD, StrictRequest, router
from api.schemas.base import Flag
from api.schemas.own_products import OwnKey
from api.schemas.statement_files import FILE_FIELD, STATEMENTS, UploadBody
from api.services import AppServices, Services
from pipelines.fetching import statement_files
from pipelines.fetching.statement_files import StatementFile, StatementFileFault, UploadOptions

routes = router("/customer/v2/bankzugaenge/{access}", "Customer")
FORM: dict[str, Any] = {
    "required": True,
    "content": {MULTIPART: {"schema": {"$ref": "#/components/schemas/StatementForm"}}},
}


@routes.post(
    f"/{STATEMENTS}", response_model=UploadBody, responses={409: {}, 429: {}}, openapi_extra={"requestBody": FORM, UPLOAD: True}
)
async def upload_statements(
    request: Request,
    access: AccessKey,
    caller: Modifies,
    services: AppServices,
    product: Annotated[
        OwnKey | None,
        Query(description="product of lines whose file names no account; added if there is none", examples=["bargeld"]),
    ] = None,
    dry_run: Annotated[Flag, Query(alias="dryRun", description="only say what would be new")] = False,
) -> Response:
    """Merges statement files (CAMT, MT940, CSV) into the products of an access without a bank: all of them or none.

    The format is recognised by the content. Bookings that are there already are not added again, whatever file they came with.
    """
    boundary = boundary_of(request.headers.get("content-type"))
    body = await StrictRequest(request.scope, request.receive).body()
    files = await services.compute(caller, read_files, services, body, boundary)
    now = datetime.now(UTC)
    options = UploadOptions(product, dry_run)

    def store() -> tuple[statement_files.FileUpload, ...]:
        return statement_files.upload(changing_for(services, caller), services.settings, access, files, now, options)

    uploads = await services.changes.insist(store)
    return json_response(services.zone, upload_body(services.links, access, uploads, is_stored=not dry_run))


def read_files(services: Services, body: bytes, boundary: bytes) -> tuple[StatementFile, ...]:
    """The statement files of a form; raises with the first that is none."""
    files = [file for file in read_form(body, boundary).files if file.field_name == FILE_FIELD]
    if not files:
        raise Problem(400, mistakes=missing(FILE_FIELD, place="form"))
    return read_uploaded(services, files)


def read_uploaded(services: Services, files: list[UploadedFile]) -> tuple[StatementFile, ...]:
    """The files as statements."""
    today = datetime.now(services.zone).date()
    try:
        return statement_files.read_statement_files([(file.name, file.content) for file in files], today)
    except StatementFileFault as fault:
        raise unreadable_file(fault) from fault
