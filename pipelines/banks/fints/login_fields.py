"""The login fields of FinTS banks by group: how the group calls them, how long they are, and where customers find them.

Every bank has a user id and a PIN. A format refuses only what the group's own parameters exclude: a login that is refused here
never reaches the bank.
"""

from dataclasses import dataclass

from pipelines.banks.base import LoginField

USER_ID, PIN = "userid", "pin"
ANY_USER_ID, ANY_PIN = "^[!-~¡-ÿ]{1,30}$", "^[!-~¡-ÿ]{1,50}$"


@dataclass(frozen=True)
class LoginForm:
    """The fields of a login, and a text for the whole form."""

    fields: tuple[LoginField, LoginField]
    hint: str | None = None


def _form(
    label: str,
    hint: str,
    pin_hint: str = "PIN Ihres Online-Bankings",
    *,
    pin_format: str = ANY_PIN,
    form_hint: str | None = None,
) -> LoginForm:
    user_id = LoginField(USER_ID, label, False, ANY_USER_ID, hint)
    return LoginForm((user_id, LoginField(PIN, "PIN", True, pin_format, pin_hint)), form_hint)


USUAL_FORM = _form("Anmeldename", "Anmeldename oder Legitimations-ID Ihres Online-Bankings")
SPARKASSE = _form(
    "Anmeldename", "Anmeldename oder Legitimations-ID", "Online-Banking-PIN, 5 bis 38 Zeichen", pin_format="^[!-~¡-ÿ]{5,38}$"
)
COOPERATIVE = _form(
    "VR-NetKey oder Alias", "Ihr VR-NetKey oder der Alias, den Sie dafür gewählt haben", "Online-PIN Ihres Online-Bankings"
)
DEUTSCHE_BANK = _form(
    "Filiale und Konto",
    "Filialnummer (3 Ziffern), Kontonummer (7 Ziffern) und Unterkonto (2 Ziffern) ohne Leerzeichen",
    form_hint="Der FinTS-Zugang muss im Online-Banking freigeschaltet sein.",
)
FORMS = {
    ".s-fints-pt-": SPARKASSE,
    "fints.1822direkt.com": SPARKASSE,
    "atruvia.de": COOPERATIVE,
    "fiducia.de": COOPERATIVE,
    "hbci-pintan.gad.de": COOPERATIVE,
    "fints.apobank.de": _form("apoBank-NetKey oder Alias", "Ihr NetKey oder der Alias, den Sie dafür gewählt haben"),
    "fints.deutsche-bank.de": DEUTSCHE_BANK,
    "fints.norisbank.de": DEUTSCHE_BANK,
    "hbci.postbank.de": _form(
        "Postbank ID", "Die Postbank ID, mit der Sie sich im Online-Banking anmelden", "Passwort, 5 bis 50 Zeichen",
        pin_format="^[!-~¡-ÿ]{5,50}$",
    ),
    "fints.commerzbank.de": _form("Teilnehmernummer", "Ihre Teilnehmernummer, nicht der Benutzername"),
    "fints.comdirect.de": _form("Zugangsnummer", "Ihre Zugangsnummer mit 8 Ziffern"),
    "hypovereinsbank.de": _form("Direct-Banking-Nummer", "Ihre Direct-Banking-Nummer"),
    "fints.dkb.de": _form("Anmeldename", "Der Anmeldename Ihres Bankings", "Passwort Ihres Bankings"),
    "fints.ing.de": _form(
        "Zugangsnummer", "Die letzten 10 Ziffern Ihrer IBAN", "Internetbanking PIN, 5 bis 10 Zeichen",
        pin_format="^[!-~¡-ÿ]{5,10}$",
    ),
    "consorsbank.de": _form("UserID", "UserID oder Kontonummer", "PIN Ihres Online-Bankings"),
    "fints.targobank.de": _form("Online-Banking-Nummer", "Kontonummer oder der Benutzername, den Sie gewählt haben"),
}  # fmt: skip
"""The form of a group by a part of its address."""


def form_of(address: str) -> LoginForm:
    """The login form of the bank at an address."""
    return next((form for part, form in FORMS.items() if part in address), USUAL_FORM)
