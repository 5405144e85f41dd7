"""Every page of the form with values as they could be, and a hostile set of them: to render, to look at and to check."""

from dataclasses import replace
from datetime import UTC, date, datetime

from api.webform.pages import (
    AccountChoice,
    Accounts,
    App,
    BankChoice,
    BankPage,
    Banks,
    Design,
    Field,
    FormPage,
    LoginPage,
    Media,
    Methods,
    Option,
    Order,
    PageFrame,
    PayeePage,
    PayeeResult,
    ResultPage,
    Return,
    Start,
    Stopped,
    Summary,
    Tan,
    Terms,
    Trouble,
    Upload,
    Uploaded,
    UploadedLine,
    Working,
)

Sample = tuple[PageFrame, FormPage]

CODE = "1784011041875F051234567890041203000044302C323015"
"""A code of the optical chipTAN, as the demo bank shows it."""
DESIGN = Design(
    "Haushaltsbuch Nord",
    imprint_url="https://haushaltsbuch.example/impressum",
    privacy_url="https://haushaltsbuch.example/datenschutz",
)
BANK = BankChoice("6c2f7d0e-6f0a-4a55-9a1e-3d6f0c1b2a3d", "Demo-Bank Nord", "10010010", "DEMODEFFXXX")
BANKS = (
    replace(BANK, recent=True),
    BankChoice("b", "Sparkasse Musterstadt-Oberhavelland", "16050000", "WELADED1PMB", disturbed=True),
    BankChoice("c", "Volksbank Beispiel eG", "29090900"),
    BankChoice("d", "Direktbank", bic="DIREDEFF"),
)
TERMS = (
    "# Was wir tun",
    "Wir rufen in Ihrem Auftrag Kontostände und Umsätze bei Ihrer Bank ab und geben sie an Haushaltsbuch Nord weiter. "
    "Das geschieht nur für die Konten, die Sie gleich auswählen.",
    "# Was wir nicht tun",
    "Ihre Zugangsdaten verwenden wir ausschließlich für diese Abrufe. Wir geben sie an niemanden außer Ihrer Bank weiter.",
    "# Ihre Rechte",
    "Sie können Ihre Zustimmung jederzeit widerrufen. Danach rufen wir nichts mehr ab und löschen, was wir gespeichert haben.",
)
ACCOUNTS = (
    AccountChoice("1", "Girokonto Plus", "CHECKING", "Erika Mustermann", "DE89 3704 0044 0532 0130 00"),
    AccountChoice("2", "Urlaub und Rücklagen", "CALL_MONEY", "Erika Mustermann", "DE27 1007 7777 0209 2997 00", selected=False),
    AccountChoice("3", "Visa Card", "CREDIT_CARD", "Erika und Max Mustermann", "4111 XXXX XXXX 1111"),
    AccountChoice("4", "Depot", "DEPOT", "Erika Mustermann"),
)
FIELDS = (
    Field("user", "Anmeldename", False, "^[0-9A-Za-z_.@-]{1,64}$", hint="Ihr Name im Online-Banking"),
    Field("pin", "PIN", True, "^[0-9]{5,12}$"),
)
ORDER = Order(
    BANK,
    ACCOUNTS[0],
    "Stadtwerke Musterstadt GmbH",
    "DE02 1203 0000 0000 2020 51",
    "1.234,50",
    "Rechnung 2026-0815 Kundennummer 471100",
    False,
)
CONNECTING = ("terms", "bank", "login", "confirm", "accounts", "summary")
UPLOADING = ("bank", "upload", "done")
PAYING = ("order", "bank", "login", "confirm", "done")


def connecting(step: int, **more: object) -> PageFrame:
    """The frame of a step on the way to connected accounts."""
    return replace(PageFrame("de", DESIGN, "t" * 43, step, CONNECTING, step, True), **more)  # type: ignore[arg-type]


def paying(step: int, **more: object) -> PageFrame:
    """The frame of a step on the way to a transfer."""
    return replace(PageFrame("de", DESIGN, "t" * 43, step, PAYING, step, True), **more)  # type: ignore[arg-type]


SAMPLES: dict[str, Sample] = {
    "payee_similar": (
        paying(2),
        PayeePage(BANK, "Erika Musterman", "DE02 1203 0000 0000 2020 51", "CLOSE_MATCH", "Erika Mustermann"),
    ),
    "payee_other": (paying(2), PayeePage(BANK, "Max Muster", "DE02 1203 0000 0000 2020 51", "NO_MATCH", notice="Name prüfen.")),
    "terms": (connecting(0, seconds_left=290), Terms(TERMS)),
    "terms_transfer": (paying(0), Terms(TERMS, "SINGLE_TRANSFER")),
    "terms_renewal": (connecting(0, steps=("terms", "confirm", "done")), Terms(TERMS, "AUTHENTICATE_ACCOUNT")),
    "banks": (connecting(1, seconds_left=290), Banks(None, BANKS, files=BankChoice("f", "Kontoauszug hochladen"))),
    "banks_found": (connecting(1), Banks("Spar", BANKS[1:2], 12)),
    "banks_none": (connecting(1, trouble=Trouble("bank_not_chosen")), Banks("Xyz", ())),
    "login": (connecting(2), LoginPage(BANK, FIELDS, "Nutzen Sie denselben Zugang wie in der App Ihrer Bank.")),
    "login_refused": (
        connecting(2, trouble=Trouble("wrong_credentials", {"left": "2"}, "9942 PIN falsch")),
        LoginPage(BANK, FIELDS),
    ),
    "login_unfit": (
        connecting(2, trouble=Trouble("login_unfit")),
        LoginPage(BANK, (replace(FIELDS[0], value="e m", wrong=True), FIELDS[1]), other=False),
    ),
    "upload": (connecting(1, steps=UPLOADING), Upload()),
    "upload_refused": (
        connecting(1, steps=UPLOADING, trouble=Trouble("file_unreadable")),
        Upload("„Umsätze 2026.pdf“ ist kein Kontoauszug, den wir lesen können, Zeile 12."),
    ),
    "uploaded": (
        connecting(2, steps=UPLOADING, cancels=False),
        Uploaded(
            (
                UploadedLine("Sparkasse KölnBonn", "DE02 3705 0198 0001 8020 57", "01.01.2026 – 31.03.2026", 312, 300),
                UploadedLine("N26", None, "02.02.2026 – 05.02.2026", 4, 4, ("Anfangssaldo und Umsätze ergeben 90.00.",)),
            ),
        ),
    ),
    "start": (connecting(0, steps=("login", "confirm", "done")), Start(BANK)),
    "working": (connecting(3, cancels=False), Working(BANK)),
    "methods": (
        connecting(3),
        Methods(
            BANK,
            (
                Option("942", "pushTAN", "Freigabe in der App Ihrer Bank"),
                Option("2", "chipTAN optisch", "Mit Karte und TAN-Generator"),
                Option("972", "photoTAN"),
            ),
        ),
    ),
    "media": (
        connecting(3, trouble=Trouble("nothing_chosen")),
        Media(BANK, (Option("a", "Handy von Erika", "PUSH_TAN"), Option("b", "Karte *4711", "GENERATOR"))),
    ),
    "tan": (connecting(3), Tan(BANK, "smsTAN", "Wir haben Ihnen eine TAN per SMS an *4711 gesendet.")),
    "tan_flicker": (
        paying(3, trouble=Trouble("wrong_tan", {"left": "1"})),
        Tan(BANK, "chipTAN optisch", "Stecken Sie Ihre Karte in den Generator.", "29088813", flickers=True),
    ),
    "tan_photo": (paying(3), Tan(BANK, "photoTAN", "Scannen Sie die Grafik mit der photoTAN-App.", photo=True)),
    "tan_transfer": (
        paying(3, seconds_left=290),
        Tan(
            BANK,
            "chipTAN optisch",
            "Halten Sie Ihren TAN-Generator vor die flackernde Grafik.",
            "1041875",
            flickers=True,
            order=replace(ORDER, account=None),
            payee=PayeeResult("CLOSE_MATCH", "Stadtwerke Musterstadt AöR"),
        ),
    ),
    "app_transfer": (
        paying(3, cancels=False),
        App(BANK, "Bestätigen Sie den Auftrag in der App.", replace(ORDER, account=None), PayeeResult("MATCH")),
    ),
    "app": (connecting(3), App(BANK, "Öffnen Sie die App Ihrer Bank und geben Sie den Zugriff frei.")),
    "bank_page": (connecting(3), BankPage(BANK, "https://banking.demo-bank.example/freigabe?auftrag=1&art=2")),
    "accounts": (connecting(4), Accounts(BANK, ACCOUNTS)),
    "accounts_one": (
        paying(3, trouble=Trouble("no_account_chosen")),
        Accounts(BANK, tuple(replace(account, selected=False) for account in ACCOUNTS[:2]), one=True),
    ),
    "summary": (connecting(5), Summary(BANK, (ACCOUNTS[0], ACCOUNTS[2]))),
    "order": (paying(0), replace(ORDER, execute_on=date(2026, 12, 1))),
    "order_instant": (paying(0, trouble=Trouble("repeated_order")), replace(ORDER, instant=True)),
    "order_editable": (
        paying(0, trouble=Trouble("fields_missing")),
        replace(
            ORDER,
            bank=None,
            account=None,
            iban="DE02 1203 0000 0000 2020 52",
            amount="",
            editable=True,
            wrong={
                "iban": Trouble("iban_unfit"),
                "amount": Trouble("field_required"),
                "purpose": Trouble("text_too_long", {"limit": "140"}),
            },
        ),
    ),
    "result_consent": (
        connecting(3, steps=("login", "confirm", "done"), cancels=False),
        ResultPage("consent_done", True, datetime(2027, 5, 14, 22, 30, tzinfo=UTC)),
    ),
    "result_paid": (paying(5, cancels=False), ResultPage("paid", True, order=ORDER)),
    "result_refused": (paying(5, cancels=False), ResultPage("refused", False, details="Limit überschritten", order=ORDER)),
    "result_unknown": (paying(5, cancels=False), ResultPage("unknown", False, order=ORDER)),
    "return": (PageFrame("de", DESIGN), Return("https://haushaltsbuch.example/zurueck?a=1&baReentry=DONE", "DONE")),
    "return_to_opener": (
        PageFrame("de", DESIGN, opener="https://haushaltsbuch.example"),
        Return("https://haushaltsbuch.example/zurueck?baReentry=FINISHED&paymentId=1", "FINISHED", "1"),
    ),
    "stopped": (PageFrame("de"), Stopped("expired")),
    "stopped_of_tenant": (
        PageFrame("de", DESIGN),
        Stopped("expired_of_tenant", "ERROR", url="https://haushaltsbuch.example/zurueck?baReentry=ERROR"),
    ),
    "stopped_callback": (
        PageFrame("de", DESIGN),
        Stopped("invalid_callback", "INVALID_CALLBACK_URL", "4f3c1f7e-0a55-4d24-8a53-6b6d7a5f7e11"),
    ),
}


def in_english(sample: Sample) -> Sample:
    """The same page in English."""
    return replace(sample[0], language="en"), sample[1]
