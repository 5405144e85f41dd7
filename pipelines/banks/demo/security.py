"""How the demo bank's customers confirm: methods, media, and which medium serves which method."""

from datetime import datetime
from zoneinfo import ZoneInfo

from pipelines.banks.base import Medium, MediumClass, Method

BERLIN = ZoneInfo("Europe/Berlin")

MANUAL = Method("1", "chipTAN manuell", "Geben Sie den Startcode in Ihren TAN-Generator ein.")
OPTICAL = Method("2", "chipTAN optisch", "Halten Sie Ihren TAN-Generator vor die flackernde Grafik.")
LISTED = Method("900", "iTAN", "Nehmen Sie die TAN mit der genannten Nummer von Ihrer Liste.")
PUSH = Method("942", "pushTAN", "Sie erhalten die TAN auf Ihr Mobilgerät.")
APP = Method("944", "Freigabe in der App", "Bestätigen Sie den Auftrag in der App; eine TAN brauchen Sie nicht.")
PAGE = Method(
    "946", "Freigabe auf der Seite der Bank", "Sie werden zu Ihrer Bank weitergeleitet und geben den Auftrag dort frei."
)
PHOTO = Method("972", "photoTAN", "Fotografieren Sie die Grafik mit Ihrem Lesegerät.")

SERVED = {
    MANUAL.code: {MediumClass.GENERATOR, MediumClass.SECODER},
    OPTICAL.code: {MediumClass.GENERATOR, MediumClass.SECODER},
    LISTED.code: {MediumClass.LIST},
    PUSH.code: {MediumClass.MOBILE, MediumClass.PUSH_TAN},
    APP.code: {MediumClass.PUSH_TAN},
    PHOTO.code: {MediumClass.GENERATOR, MediumClass.MOBILE},
}
"""The media with which a method works."""

GENERATOR = Medium(
    "Sparkassen-Card 1234", MediumClass.GENERATOR, datetime(2023, 1, 1, tzinfo=BERLIN), datetime(2028, 12, 31, tzinfo=BERLIN)
)
SECOND_GENERATOR = Medium("Ersatzkarte 5678", MediumClass.GENERATOR)
SECODER = Medium("Secoder am Schreibtisch", MediumClass.SECODER)
LIST = Medium("iTAN-Liste 7", MediumClass.LIST, datetime(2024, 3, 1, tzinfo=BERLIN))
PHONE = Medium("Mobiltelefon ...4711", MediumClass.MOBILE)
TABLET = Medium("Tablet", MediumClass.PUSH_TAN)
PHONE_APP = Medium("iPhone", MediumClass.PUSH_TAN, datetime(2024, 6, 1, tzinfo=BERLIN))
OLD_PHONE = Medium(
    "Altes Telefon", MediumClass.PUSH_TAN, datetime(2020, 1, 1, tzinfo=BERLIN), datetime(2024, 5, 31, tzinfo=BERLIN)
)


def usable_methods(methods: tuple[Method, ...], return_to: str | None) -> tuple[Method, ...]:
    """The methods that can be used now: the bank's own page only if there is a way back from it."""
    return tuple(method for method in methods if return_to is not None or method != PAGE)


def offered_media(method: str, media: tuple[Medium, ...], now: datetime) -> tuple[Medium, ...]:
    """The media that serve a method now."""
    return tuple(
        medium
        for medium in media
        if medium.kind in SERVED.get(method, ())
        and (medium.valid_from is None or medium.valid_from <= now)
        and (medium.valid_to is None or now <= medium.valid_to)
    )
