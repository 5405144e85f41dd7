"""Errors as HTTP responses: one table from domain errors to status and text, and the bodies that carry them.

Every 4xx and 5xx response has the same shape. It names the wrong fields, what was sent for them (`api/schemas/echo.py` says for
which), what is allowed, and the page of its code; it never reveals where in the code it arose. Its texts come from the catalogue
of codes (`api/schemas/codes.py`), in the language of the caller. The OAuth2 endpoints use the names of RFC 6749 instead. Paths of
web pages answer with a page, which the app passes to `install`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from api.http import field_schemas, mistakes
from api.http.mistakes import MAX_COMPARED_NAMES, MAX_MISTAKES, NOTHING, Mistake, mistake
from api.http.negotiation import language_of
from api.schemas.codes import BY_STATUS, CATALOGUE, CodeEntry, entry_of_status
from api.schemas.languages import Language, Text, say
from pipelines.banks.base import Code
from warehouse import errors

OAUTH_PREFIX = "/auth/oauth2/"
PAGES = "/docs/errors"
"""Where the pages about codes are."""
TEXTS = {status: (str(entry.code), entry.title.de) for status, entry in sorted(BY_STATUS.items())}
"""Code and German text of every status."""
OAUTH_NAMES = {
    401: "invalid_client",
    429: "temporarily_unavailable",
    500: "server_error",
    503: "temporarily_unavailable",
    504: "temporarily_unavailable",
}
RETRY_AFTER_SECONDS = 5
UNREAD_ANSWERS = Text(
    "Zu viele lange Antworten dieses Mandanten sind noch nicht abgeholt.",
    "Too many long responses of this tenant have not been read yet.",
)
STOPS = {404: "not_found", 429: "too_many", 503: "unavailable", 504: "unavailable"}
"""The text of an error page by status: keys of `STOPS` in `api/webform/texts.py`."""
ErrorPage = Callable[[str, int, dict[str, str]], Response]
"""Builds the page of an error from the key of its text, its status and its headers."""


@dataclass(frozen=True)
class ErrorSite:
    """What error responses know of the service: its address, and the prefixes of paths that answer with a page."""

    base_url: str = ""
    pages: Mapping[str, ErrorPage] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorResponse:
    """Status and text of a fact; `{…}` are attributes of the fact."""

    status: int
    text: Text | None = None
    field: str | None = None
    """The field that the text is about."""
    place: str = "body"
    code: Code | None = None
    """The message code, where the interface defines one for this error."""


FACTS: dict[type[errors.KontorError], ErrorResponse] = {
    errors.NotFound: ErrorResponse(404),
    errors.NameTaken: ErrorResponse(409, Text("Der Name ist bereits vergeben.", "The name is already in use.")),
    errors.AlreadyActive: ErrorResponse(409, Text("Der Benutzer ist bereits aktiv.", "The user is already active.")),
    errors.UsernameDiffers: ErrorResponse(
        400, Text("stimmt nicht mit dem Benutzer überein", "does not match the user"), "username"
    ),
    errors.PasswordTooShort: ErrorResponse(400, Text("hat weniger als 8 Zeichen", "has less than 8 characters"), "password"),
    errors.PasswordCommon: ErrorResponse(
        400,
        Text("ist zu einfach und wird als eines der ersten ausprobiert", "is too common and among the first that are tried"),
        "password",
    ),
    errors.PasswordHasName: ErrorResponse(
        400, Text("besteht aus dem Namen des Benutzers", "consists of the user's name"), "password"
    ),
    errors.AddressRefused: ErrorResponse(400, Text("keine öffentliche https-Adresse", "not a public https address"), "url"),
    errors.CallbackRefused: ErrorResponse(
        400,
        Text(
            "ist keine https-Adresse oder steht nicht auf der Liste des Mandanten",
            "is not an https address, or not on the tenant's list",
        ),
        "callbackUrl",
        "query",
    ),
    errors.ProviderUnknown: ErrorResponse(
        400, Text("ist kein angebotener Anbieter", "is not a provider that is offered"), "providerId"
    ),
    errors.CredentialUnreadable: ErrorResponse(
        400,
        Text("ist nicht für diesen Mandanten verschlüsselt", "is not encrypted for this tenant"),
        "credentials.{field}",
    ),
    errors.CredentialUnfit: ErrorResponse(
        400,
        Text("entspricht nicht dem Format des Feldes", "does not have the format of the field"),
        "credentials.{field}",
    ),
    errors.AccessDiffers: ErrorResponse(
        409,
        Text(
            "Der Bankzugang besteht bereits mit anderen Angaben. Neue Angaben werden nur mit refresh=true übernommen.",
            "The access already exists with other details. New details are only accepted with refresh=true.",
        ),
    ),
    errors.TooMany: ErrorResponse(
        409,
        Text("Es gibt bereits so viele davon, wie möglich sind.", "There are already as many of these as are possible."),
    ),
    errors.SignDiffers: ErrorResponse(
        400,
        Text("passt nicht zum Vorzeichen des Betrags", "does not fit the sign of the amount"),
        "tags.systemName",
    ),
    errors.NoCounterparty: ErrorResponse(
        400,
        Text("der Umsatz nennt keinen Zahlungspartner", "the booking names no counterparty"),
        "createRule",
        "query",
    ),
    errors.AmountOutOfRange: ErrorResponse(
        400,
        Text("muss zwischen 0.01 und 999999999.99 liegen", "must be between 0.01 and 999999999.99"),
        "{field}",
    ),
    errors.CurrencyRefused: ErrorResponse(400, Text("nur EUR ist möglich", "only EUR is possible"), "{field}"),
    errors.IbanUnfit: ErrorResponse(400, Text("ist keine gültige IBAN", "is not a valid IBAN"), "{field}"),
    errors.NotInSepa: ErrorResponse(
        400,
        Text("das Land der IBAN gehört nicht zum SEPA-Raum", "the country of the IBAN does not belong to SEPA"),
        "{field}",
    ),
    errors.BicUnfit: ErrorResponse(400, Text("ist kein gültiger BIC", "is not a valid BIC"), "{field}"),
    errors.BicMissing: ErrorResponse(
        400, Text("wird für das Land der IBAN gebraucht", "is required for the country of the IBAN"), "{field}"
    ),
    errors.BicDiffers: ErrorResponse(
        400, Text("passt nicht zum Land der IBAN", "does not fit the country of the IBAN"), "{field}"
    ),
    errors.TextEmpty: ErrorResponse(400, Text("ist leer", "is empty"), "{field}"),
    errors.TextTooLong: ErrorResponse(
        400,
        Text("hat im SEPA-Zeichensatz mehr als {limit} Zeichen", "has more than {limit} characters in the character set of SEPA"),
        "{field}",
    ),
    errors.CharacterRefused: ErrorResponse(
        400,
        Text(
            "enthält Zeichen, die im SEPA-Zeichensatz nicht darstellbar sind",
            "contains characters that the character set of SEPA does not have",
        ),
        "{field}",
    ),
    errors.FromBank: ErrorResponse(
        409,
        Text(
            "Der Umsatz stammt von der Bank. Nur übertragene Umsätze können gelöscht werden.",
            "The booking is from the bank. Only pushed bookings can be deleted.",
        ),
    ),
    errors.CursorTooOld: ErrorResponse(
        410,
        Text(
            "ist zu alt. Bitte ohne cursor neu beginnen und den Bestand ersetzen.",
            "is too old. Begin anew without a cursor, and replace what you have.",
        ),
        "cursor",
        "query",
    ),
    errors.IdentifierUnfit: ErrorResponse(
        400,
        Text(
            "darf nicht mit Leerzeichen oder / beginnen oder enden und kein // enthalten",
            "must not begin or end with a blank or /, and must not contain //",
        ),
        "{field}",
    ),
    errors.PurposeCodeUnfit: ErrorResponse(
        400,
        Text("muss aus vier Großbuchstaben oder Ziffern bestehen", "must consist of four capital letters or digits"),
        "{field}",
    ),
    errors.DayOutOfRange: ErrorResponse(
        400,
        Text("muss ein Tag von heute bis in 365 Tagen sein", "must be a day from today to 365 days ahead"),
        "{field}",
    ),
    errors.DayWithInstant: ErrorResponse(
        400, Text("ist bei Echtzeitüberweisungen nicht möglich", "is not possible with instant transfers"), "{field}"
    ),
    errors.CountOutOfRange: ErrorResponse(400, Text("die Anzahl ist nicht möglich", "the number is not possible"), "{field}"),
    errors.OutOfTurn: ErrorResponse(
        409,
        Text(
            "Der Vorgang erwartet diesen Schritt nicht, wird gerade bearbeitet oder ist beendet.",
            "The dialogue does not expect this step, is being processed, or has ended.",
        ),
    ),
    errors.NotOffered: ErrorResponse(
        400,
        Text("Das Verfahren oder Medium steht nicht zur Wahl.", "The method or medium is not one of those to choose from."),
    ),
    errors.PaymentDiffers: ErrorResponse(
        409, Text("gehört zu einem anderen Auftrag", "belongs to another order"), "paymentId", "query", Code.TRANSFER_REFUSED
    ),
    errors.PaymentRepeated: ErrorResponse(
        409,
        Text("Ein gleicher Auftrag wurde gerade erst erteilt.", "An equal order was placed a moment ago."),
        code=Code.TRANSFER_REFUSED,
    ),
    errors.Invalid: ErrorResponse(400),
    errors.LoginFailed: ErrorResponse(401),
    errors.Deactivated: ErrorResponse(403),
    errors.AccessGone: ErrorResponse(
        409, Text("Der Bankzugang wurde inzwischen gelöscht.", "The access has been deleted in the meantime.")
    ),
    errors.ScopeNotGranted: ErrorResponse(400, Text("nicht erteilbar", "cannot be granted"), "scope", "form"),
    errors.TooManyUnattended: ErrorResponse(
        429,
        Text(
            "fehlt. Ohne diesen Header gilt der Kunde als abwesend; dann sind höchstens {limit} Abrufe am Tag möglich, der"
            " nächste ab dem {allowed_at:%d.%m.%Y, %H:%M} Uhr.",
            "is missing. Without this header the customer counts as absent; then at most {limit} fetches a day are possible, the"
            " next one from {allowed_at:%Y-%m-%d %H:%M} on.",
        ),
        "Customer-IP-Address",
        "header",
    ),
    errors.Throttled: ErrorResponse(429),
    errors.DatabaseUnavailable: ErrorResponse(503),
    errors.Busy: ErrorResponse(503),
    errors.KeysMissing: ErrorResponse(503),
    errors.SealBroken: ErrorResponse(503),
    errors.TooLate: ErrorResponse(504),
}


class Problem(HTTPException):
    """An error that the HTTP layer or a route itself raises: about fields (`mistakes`), or with a text of its own."""

    def __init__(
        self,
        status: int,
        details: Text | None = None,
        *,
        mistakes: Sequence[Mistake] = (),
        oauth: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, headers=headers)
        self.details = details
        self.mistakes = mistakes
        self.oauth = oauth


def wrong(name: str, text: Text, place: str = "body", sent_value: object = NOTHING, **values: object) -> Problem:
    """The error of a request in which one field is wrong."""
    return Problem(400, mistakes=[mistake(name, text, place, sent_value, **values)])


def misnamed(name: str, text: Text, place: str, sent_name: str, names: Iterable[str]) -> Problem:
    """The error of a request in which a field names something that does not exist, with the name that was probably meant."""
    unnamed = mistake(name, text, place, sent_name)
    return Problem(400, mistakes=[replace(unnamed, suggestion=mistakes.closest(sent_name, names))])


def install(app: FastAPI, site: ErrorSite | None = None) -> None:
    """Makes all errors of an app answer in the common shape, and with a page where the site has one."""
    app.state.error_site = site or ErrorSite()
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(errors.KontorError, _of_fact)


def respond(
    path: str,
    status: int,
    details: str | None = None,
    *,
    site: ErrorSite,
    language: Language = "de",
    problems: Sequence[Mistake] = (),
    oauth: str | None = None,
    headers: dict[str, str] | None = None,
    code: Code | None = None,
) -> Response:
    """The error response of a status, in the shape that fits the path. Mistakes in fields are its details."""
    headers = dict(headers or {})
    if status == 401:
        headers.setdefault(
            "WWW-Authenticate", 'Basic realm="kontor", charset="UTF-8"' if path.startswith(OAUTH_PREFIX) else "Bearer"
        )
    if status in (429, 503):
        headers.setdefault("Retry-After", str(RETRY_AFTER_SECONDS))
    if path.startswith(OAUTH_PREFIX):
        headers["Pragma"] = "no-cache"
    page = next((page for prefix, page in site.pages.items() if path.startswith(prefix)), None)
    if page is not None:
        return page(STOPS.get(status, "bad_request" if status < 500 else "failure"), status, headers)
    headers |= {"Content-Language": language, "Vary": "Accept-Language"}
    entry = CATALOGUE[code] if code else entry_of_status(status)
    details = "; ".join(dict.fromkeys(problem.summary(language) for problem in problems)) or details
    if path.startswith(OAUTH_PREFIX):
        content = _oauth_body(site, oauth or OAUTH_NAMES.get(status, "invalid_request"), entry, details, language)
    else:
        content = _body(site, entry, details, [problem.body(language) for problem in problems], language)
    return Response(orjson.dumps(content), status, headers, media_type="application/json")


def _body(
    site: ErrorSite, entry: CodeEntry, details: str | None, fields: list[dict[str, Any]], language: Language
) -> dict[str, Any]:
    message: dict[str, Any] = {"level": "ERROR", "code": entry.code, "message": say(entry.title, language)}
    message |= {"details": details} if details else {}
    message |= {"hint": say(entry.remedy, language), "documentation": f"{site.base_url}{PAGES}/{entry.code}"}
    return {"messages": [message | ({"fields": fields} if fields else {})]}


def _oauth_body(site: ErrorSite, name: str, entry: CodeEntry, details: str | None, language: Language) -> dict[str, str]:
    text = say(entry.title, language)
    description = f"{text} {details}" if details else text
    return {"error": name, "error_description": description, "error_uri": f"{site.base_url}{PAGES}/{name}"}


def _of_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    language = language_of(request.scope["headers"])
    if status == 405:
        headers["Allow"] = ", ".join(_allowed(request))
    if not isinstance(error, Problem):
        return _respond(request, status, language=language, headers=headers)
    details = say(error.details, language) if error.details else None
    problems = _explained(request, error.mistakes) if status == 400 else error.mistakes
    return _respond(request, status, details, language=language, problems=problems, oauth=error.oauth, headers=headers)


def _respond(request: Request, status: int, details: str | None = None, **parts: Any) -> Response:
    return respond(request.url.path, status, details, site=request.app.state.error_site, **parts)


def _allowed(request: Request) -> list[str]:
    """All methods of a path. Routes with the fewest parameters win: a literal segment of one route is no id of another."""
    path = request.scope["path"]
    routes = [route for route in request.app.routes if isinstance(route, Route) and route.path_regex.match(path)]
    fewest = min((len(route.param_convertors) for route in routes), default=0)
    methods = {method for route in routes if len(route.param_convertors) == fewest for method in route.methods or ()}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def _of_validation(request: Request, error: Exception) -> Response:
    """A response that names the wrong fields as the interface does."""
    reported = error.errors() if isinstance(error, RequestValidationError) else []
    problems = [mistakes.of_validation(item) for item in reported[:MAX_MISTAKES]]
    language = language_of(request.scope["headers"])
    return _respond(request, 400, language=language, problems=_explained(request, problems))


def _explained(request: Request, problems: Iterable[Mistake]) -> list[Mistake]:
    """The mistakes with what their fields allow and what was sent, and with slips of the pen in the query."""
    route = request.scope.get("route")
    explained = [_with_value(request, _with_schema(route, problem)) for problem in problems]
    for name in islice(request.query_params, MAX_COMPARED_NAMES if explained else 0):
        suggestion = mistakes.closest(name, field_schemas.parameter_names(route))
        if suggestion is not None and suggestion != name and len(explained) < MAX_MISTAKES:
            explained.append(replace(mistake(name, mistakes.UNKNOWN, "query"), suggestion=suggestion))
    return explained


def _with_schema(route: object, problem: Mistake) -> Mistake:
    allowed = {**field_schemas.allowed_value(route, problem.place, problem.path), **problem.allowed}
    if not problem.is_echoed:
        allowed.pop("sample", None)  # so that nobody takes it for what was sent
    return replace(problem, allowed=allowed)


def _with_value(request: Request, problem: Mistake) -> Mistake:
    """The mistake with the parameter or header that it is about, where the request has it."""
    values = {"query": request.query_params, "header": request.headers}.get(problem.place)
    if values is None or problem.sent_value is not NOTHING or problem.field not in values:
        return problem
    return replace(problem, sent_value=values[problem.field])


def _of_fact(request: Request, error: Exception) -> Response:
    response = next((FACTS[kind] for kind in type(error).__mro__ if kind in FACTS), None)
    if response is None:
        raise error
    language = language_of(request.scope["headers"])
    headers = {"Retry-After": str(error.retry_after_seconds)} if isinstance(error, errors.Throttled) else {}
    oauth = "invalid_scope" if isinstance(error, errors.ScopeNotGranted) else None
    facts, details, problems = vars(error), None, list[Mistake]()
    if response.text and response.field:
        sent_value = error.value if isinstance(error, errors.OrderUnfit) and error.value is not None else NOTHING
        problem = mistake(response.field.format(**facts), response.text, response.place, sent_value, **facts)
        problems = _explained(request, [problem])
    elif response.text:
        details = say(response.text, language, **facts)
    return _respond(
        request,
        response.status,
        details,
        language=language,
        problems=problems,
        oauth=oauth,
        headers=headers,
        code=response.code,
    )
