"""Errors as HTTP responses: one table from domain errors to status, code and German text, and the bodies that carry them.

Every 4xx and 5xx response has the same shape, never repeats a rejected value and never reveals where in the code it arose.
The OAuth2 endpoints use the names of RFC 6749 instead. Paths of web pages answer with a page, which the app passes to `install`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from api.schemas import messages
from api.schemas.base import field_names
from pipelines.banks.base import Code
from warehouse import errors

OAUTH_PREFIX = "/auth/oauth2/"
TEXTS = {
    400: ("BA400", "Die Anfrage ist ungültig."),
    401: ("BA401", "Die Anmeldung fehlt oder ist fehlgeschlagen."),
    403: ("BA403", "Das Token ist ungültig oder abgelaufen, oder ihm fehlt die Berechtigung."),
    404: ("BA404", "Das Objekt wurde nicht gefunden."),
    405: ("BA405", "Die Methode ist hier nicht erlaubt."),
    406: ("BA406", "Das gewünschte Format wird nicht angeboten."),
    408: ("BA408", "Die Anfrage wurde nicht rechtzeitig vollständig gesendet."),
    409: ("BA409", "Die Anfrage steht im Widerspruch zum Stand der Daten."),
    410: ("BA410", "Diese Operation oder dieser Stand wird nicht mehr angeboten."),
    413: ("BA413", "Die Anfrage ist zu groß."),
    415: ("BA415", "Das Format der Anfrage wird nicht unterstützt."),
    429: ("BA429", "Zu viele Versuche. Bitte später erneut versuchen."),
    500: ("BA999", "Interner Fehler."),
    503: ("BA503", "Der Dienst ist vorübergehend nicht verfügbar."),
    504: ("BA504", "Die Anfrage wurde nicht rechtzeitig beantwortet. Bitte in Kürze wiederholen."),
}
OAUTH_NAMES = {
    401: "invalid_client",
    429: "temporarily_unavailable",
    500: "server_error",
    503: "temporarily_unavailable",
    504: "temporarily_unavailable",
}
RETRY_AFTER_SECONDS = 5
UNREAD_ANSWERS = "Zu viele lange Antworten dieses Mandanten sind noch nicht abgeholt."
MAX_DESCRIBED_PROBLEMS = 20
STOPS = {404: "not_found", 429: "too_many", 503: "unavailable", 504: "unavailable"}
"""The text of an error page by status: keys of `STOPS` in `api/webform/texts.py`."""
ErrorPage = Callable[[str, int, dict[str, str]], Response]
"""Builds the page of an error from the key of its text, its status and its headers."""


@dataclass(frozen=True)
class ErrorResponse:
    status: int
    details: str | None = None
    code: Code | None = None
    """The message code, where the interface defines one for this error."""


FACTS: dict[type[errors.KontorError], ErrorResponse] = {
    errors.NotFound: ErrorResponse(404),
    errors.NameTaken: ErrorResponse(409, "Der Name ist bereits vergeben."),
    errors.AlreadyActive: ErrorResponse(409, "Der Benutzer ist bereits aktiv."),
    errors.UsernameDiffers: ErrorResponse(400, "username: stimmt nicht mit dem Benutzer überein"),
    errors.PasswordTooShort: ErrorResponse(400, "password: hat weniger als 8 Zeichen"),
    errors.PasswordCommon: ErrorResponse(400, "password: ist zu einfach und wird als eines der ersten ausprobiert"),
    errors.PasswordHasName: ErrorResponse(400, "password: besteht aus dem Namen des Benutzers"),
    errors.AddressRefused: ErrorResponse(400, "url: keine öffentliche https-Adresse"),
    errors.CallbackRefused: ErrorResponse(
        400, "callbackUrl: ist keine https-Adresse oder steht nicht auf der Liste des Mandanten"
    ),
    errors.ProviderUnknown: ErrorResponse(400, "providerId: ist kein angebotener Anbieter"),
    errors.CredentialUnreadable: ErrorResponse(400, "credentials.{field}: ist nicht für diesen Mandanten verschlüsselt"),
    errors.CredentialUnfit: ErrorResponse(400, "credentials.{field}: entspricht nicht dem Format des Feldes"),
    errors.AccessDiffers: ErrorResponse(
        409, "Der Bankzugang besteht bereits mit anderen Angaben. Neue Angaben werden nur mit refresh=true übernommen."
    ),
    errors.FromBank: ErrorResponse(409, "Der Umsatz stammt von der Bank. Nur übertragene Umsätze können gelöscht werden."),
    errors.CursorTooOld: ErrorResponse(410, "cursor: ist zu alt. Bitte ohne cursor neu beginnen und den Bestand ersetzen."),
    errors.TooMany: ErrorResponse(409, "Es gibt bereits so viele davon, wie möglich sind."),
    errors.SignDiffers: ErrorResponse(400, "tags.systemName: passt nicht zum Vorzeichen des Betrags"),
    errors.NoCounterparty: ErrorResponse(400, "createRule: der Umsatz nennt keinen Zahlungspartner"),
    errors.AmountOutOfRange: ErrorResponse(400, "{field}: muss zwischen 0.01 und 999999999.99 liegen"),
    errors.CurrencyRefused: ErrorResponse(400, "{field}: nur EUR ist möglich"),
    errors.IbanUnfit: ErrorResponse(400, "{field}: ist keine gültige IBAN"),
    errors.NotInSepa: ErrorResponse(400, "{field}: das Land der IBAN gehört nicht zum SEPA-Raum"),
    errors.BicUnfit: ErrorResponse(400, "{field}: ist kein gültiger BIC"),
    errors.BicMissing: ErrorResponse(400, "{field}: wird für das Land der IBAN gebraucht"),
    errors.BicDiffers: ErrorResponse(400, "{field}: passt nicht zum Land der IBAN"),
    errors.TextEmpty: ErrorResponse(400, "{field}: ist leer"),
    errors.TextTooLong: ErrorResponse(400, "{field}: hat im SEPA-Zeichensatz mehr als {limit} Zeichen"),
    errors.CharacterRefused: ErrorResponse(400, "{field}: enthält Zeichen, die im SEPA-Zeichensatz nicht darstellbar sind"),
    errors.IdentifierUnfit: ErrorResponse(
        400, "{field}: darf nicht mit Leerzeichen oder / beginnen oder enden und kein // enthalten"
    ),
    errors.PurposeCodeUnfit: ErrorResponse(400, "{field}: muss aus vier Großbuchstaben oder Ziffern bestehen"),
    errors.DayOutOfRange: ErrorResponse(400, "{field}: muss ein Tag von heute bis in 365 Tagen sein"),
    errors.DayWithInstant: ErrorResponse(400, "{field}: ist bei Echtzeitüberweisungen nicht möglich"),
    errors.CountOutOfRange: ErrorResponse(400, "{field}: die Anzahl ist nicht möglich"),
    errors.OutOfTurn: ErrorResponse(409, "Der Vorgang erwartet diesen Schritt nicht, wird gerade bearbeitet oder ist beendet."),
    errors.NotOffered: ErrorResponse(400, "Das Verfahren oder Medium steht nicht zur Wahl."),
    errors.PaymentDiffers: ErrorResponse(409, "paymentId: gehört zu einem anderen Auftrag", Code.TRANSFER_REFUSED),
    errors.PaymentRepeated: ErrorResponse(409, "Ein gleicher Auftrag wurde gerade erst erteilt.", Code.TRANSFER_REFUSED),
    errors.Invalid: ErrorResponse(400),
    errors.LoginFailed: ErrorResponse(401),
    errors.Deactivated: ErrorResponse(403),
    errors.AccessGone: ErrorResponse(409, "Der Bankzugang wurde inzwischen gelöscht."),
    errors.ScopeNotGranted: ErrorResponse(400, "scope: nicht erteilbar"),
    errors.TooManyUnattended: ErrorResponse(
        429,
        "Customer-IP-Address: fehlt. Ohne diesen Header gilt der Kunde als abwesend; dann sind höchstens {limit} Abrufe am Tag"
        " möglich, der nächste ab dem {allowed_at}.",
    ),
    errors.Throttled: ErrorResponse(429),
    errors.DatabaseUnavailable: ErrorResponse(503),
    errors.Busy: ErrorResponse(503),
    errors.KeysMissing: ErrorResponse(503),
    errors.SealBroken: ErrorResponse(503),
    errors.TooLate: ErrorResponse(504),
}


class Problem(HTTPException):
    """An error that the HTTP layer or a route itself raises."""

    def __init__(
        self, status: int, details: str | None = None, *, oauth: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, headers=headers)
        self.details = details
        self.oauth = oauth


def install(app: FastAPI, pages: Mapping[str, ErrorPage] | None = None) -> None:
    """Makes all errors of an app answer in the common shape, and with a page below the path prefixes of `pages`."""
    app.state.error_pages = pages or {}
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(errors.KontorError, _of_fact)


def respond(
    path: str,
    status: int,
    details: str | None = None,
    *,
    oauth: str | None = None,
    headers: dict[str, str] | None = None,
    code: Code | None = None,
    pages: Mapping[str, ErrorPage] | None = None,
) -> Response:
    """The error response of a status, in the shape that fits the path."""
    headers = dict(headers or {})
    if status == 401:
        headers.setdefault(
            "WWW-Authenticate", 'Basic realm="kontor", charset="UTF-8"' if path.startswith(OAUTH_PREFIX) else "Bearer"
        )
    if status in (429, 503):
        headers.setdefault("Retry-After", str(RETRY_AFTER_SECONDS))
    if path.startswith(OAUTH_PREFIX):
        headers["Pragma"] = "no-cache"
    page = next((page for prefix, page in (pages or {}).items() if path.startswith(prefix)), None)
    if page is not None:
        return page(STOPS.get(status, "bad_request" if status < 500 else "failure"), status, headers)
    return Response(_body(path, status, details, oauth, code), status, headers, media_type="application/json")


def _body(path: str, status: int, details: str | None, oauth: str | None, message_code: Code | None) -> bytes:
    code, text = (
        (message_code, messages.TEXTS[message_code][1])
        if message_code
        else TEXTS.get(status) or TEXTS[400 if status < 500 else 500]
    )
    if path.startswith(OAUTH_PREFIX):
        description = f"{text} {details}" if details else text
        return orjson.dumps({"error": oauth or OAUTH_NAMES.get(status, "invalid_request"), "error_description": description})
    message = {"level": "ERROR", "code": code, "message": text}
    return orjson.dumps({"messages": [message | ({"details": details} if details else {})]})


def _of_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    details, oauth = (error.details, error.oauth) if isinstance(error, Problem) else (None, None)
    if status == 405:
        headers["Allow"] = ", ".join(_allowed(request))
    return respond(request.url.path, status, details, oauth=oauth, headers=headers, pages=request.app.state.error_pages)


def _allowed(request: Request) -> list[str]:
    """All methods of a path. Routes with the fewest parameters win: a literal segment of one route is no id of another."""
    path = request.scope["path"]
    routes = [route for route in request.app.routes if isinstance(route, Route) and route.path_regex.match(path)]
    fewest = min((len(route.param_convertors) for route in routes), default=0)
    methods = {method for route in routes if len(route.param_convertors) == fewest for method in route.methods or ()}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def _of_validation(request: Request, error: Exception) -> Response:
    """A response that names the wrong fields as the interface does; unknown names are not repeated."""
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    details = "; ".join(dict.fromkeys(_describe(problem) for problem in problems[:MAX_DESCRIBED_PROBLEMS]))
    return respond(request.url.path, 400, details or None, pages=request.app.state.error_pages)


def _describe(item: dict[str, Any]) -> str:
    place = [str(part) for part in item["loc"][1:]]
    path = ".".join(part if part.isdigit() or part in field_names() or item["loc"][0] != "body" else "…" for part in place)
    problem = "fehlt" if item["type"] == "missing" else "ist zu lang" if item["type"] == "string_too_long" else "ist ungültig"
    return f"{path or 'Inhalt'}: {problem}"


def _of_fact(request: Request, error: Exception) -> Response:
    response = next((FACTS[kind] for kind in type(error).__mro__ if kind in FACTS), None)
    if response is None:
        raise error
    headers = {"Retry-After": str(error.retry_after_seconds)} if isinstance(error, errors.Throttled) else {}
    oauth = "invalid_scope" if isinstance(error, errors.ScopeNotGranted) else None
    details = response.details.format(**vars(error)) if response.details else None
    path, pages = request.url.path, request.app.state.error_pages
    return respond(path, response.status, details, oauth=oauth, headers=headers, code=response.code, pages=pages)
