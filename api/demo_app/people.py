"""The eight people of the demo bank whom a visitor can be, each with a line about their life and how their portrait looks."""

from dataclasses import dataclass

from api.schemas.languages import Text

PIN = "demo"


@dataclass(frozen=True)
class Portrait:
    """The colours of a drawn portrait, and the shape of the hair."""

    ground: str
    skin: str
    hair: str
    shirt: str
    shape: str


@dataclass(frozen=True)
class Person:
    """A customer of the demo bank: the login, the name, where and what, and a sentence."""

    login: str
    name: str
    place: Text
    line: Text
    portrait: Portrait


PEOPLE = (
    Person(
        "demo1",
        "Erika Muster",
        Text("Angestellte, Köln", "Employee, Cologne"),
        Text(
            "Mietwohnung, ein Sparplan und die Frage, was bis zum Gehalt bleibt.",
            "A rented flat, a savings plan, and what is left until payday.",
        ),
        Portrait("#f2d3c2", "#f0c3a0", "#5b3a29", "#0e6b5c", "long"),
    ),
    Person(
        "demo2",
        "Claudia und Jens Hoffmann",
        Text("Familie mit Haus, bei Stuttgart", "Family with a house, near Stuttgart"),
        Text(
            "Baudarlehen, Kindergeld und Bausparvertrag unter einem Dach.",
            "A mortgage, child benefit and home savings under one roof.",
        ),
        Portrait("#cfe3dc", "#f2caa9", "#8a5a34", "#b4472e", "pair"),
    ),
    Person(
        "demo3",
        "Lukas Klein",
        Text("Student, Leipzig", "Student, Leipzig"),
        Text(
            "BAföG, Nebenjob und ein Konto, das am Monatsende knapp wird.",
            "A student grant, a side job, and an account that runs low.",
        ),
        Portrait("#d6dff0", "#eebf9a", "#2f2a26", "#1d3f5e", "short"),
    ),
    Person(
        "demo4",
        "Renate Vogt",
        Text("Rentnerin, Hannover", "Pensioner, Hanover"),
        Text("Zwei Renten, Erspartes und gern Bargeld in der Tasche.", "Two pensions, savings, and cash in the purse."),
        Portrait("#ece2cd", "#f0c8ab", "#c9c6c0", "#7a4a6d", "bun"),
    ),
    Person(
        "demo5",
        "Samira Haddad",
        Text("Selbstständige Designerin, Berlin", "Freelance designer, Berlin"),
        Text(
            "Rechnungen in drei Währungen und Geld, das dem Finanzamt gehört.",
            "Invoices in three currencies, and money that is the tax office's.",
        ),
        Portrait("#f0d9e3", "#c98d62", "#1d1714", "#d0745c", "long"),
    ),
    Person(
        "demo6",
        "Anna Berger",
        Text("Paar, Hamburg", "Couple, Hamburg"),
        Text("Ein eigenes und ein gemeinsames Konto, getrennt und doch zusammen.", "One account of her own, one together."),
        Portrait("#d9e6c9", "#f3ccb0", "#b5562f", "#2f8f7c", "bob"),
    ),
    Person(
        "demo7",
        "Dr. Martin Seidel",
        Text("Anleger, München", "Investor, Munich"),
        Text("Zwei Depots, Festgeld und ein Goldkonto.", "Two securities accounts, a fixed deposit and gold."),
        Portrait("#dcd7ea", "#edc1a0", "#6f6a66", "#3b3a55", "glasses"),
    ),
    Person(
        "demo8",
        "Leonie Huber",
        Text("Auszubildende, München", "Apprentice, Munich"),
        Text("Das erste eigene Geld und die ersten eigenen Verträge.", "The first money and the first contracts of her own."),
        Portrait("#f6e3b8", "#f2c5a2", "#d8a657", "#b4472e", "bob"),
    ),
)
BY_LOGIN = {person.login: person for person in PEOPLE}
