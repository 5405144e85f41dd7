"""The pages of the form: its words, its HTML, its colours and the flicker code. How they look is `tests/browser`."""

import ast
import re
import string
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import HTMLResponse

from analytics.products import ProductCategory
from api.webform import colours, flicker, pages, render, terms, texts
from api.webform.bank_texts import BANK_TEXTS
from api.webform.pages import BankChoice, Banks, Design, FormPage, LoginPage, PageFrame, ResultPage, Stopped, Terms, Trouble
from api.webform.patterns import browser_pattern
from api.webform.render import asset, asset_url, page_html, page_response
from api.webform.texts import Language, Text
from pipelines.banks import formats
from pipelines.banks.base import MediumClass, PayeeMatch
from pipelines.banks.demo import login
from pipelines.banks.fints import login_fields
from tests.browser.samples import ACCOUNTS, BANK, CODE, FIELDS, ORDER, SAMPLES, Sample, in_english

LANGUAGES: tuple[Language, ...] = get_args(Language)
TABLES = {name: table for name, table in vars(texts).items() if name.isupper() and isinstance(table, dict)}
TABLES |= {"BANK_TEXTS": BANK_TEXTS}
BANKS = Path(__file__).parents[2] / "pipelines" / "banks"
HOSTILE = "\"><script>alert(1)</script><b style='x'>{0}{{ 7*7 }}&amp;'"
TEMPLATES = sorted((Path(render.__file__).parent / "templates").glob("*.html"))
FIRST_PAGE_BYTES = 30_000
MAX_EMBED_BYTES = 3_000


class Reader(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag} says something twice"
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        return [found for name, found in self.tags if name == tag and wanted.items() <= found.items()]


def read(sample: Sample) -> Reader:
    return Reader(page_html(*sample))


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


# Words


@pytest.mark.parametrize("name", TABLES)
def test_every_text_is_there_in_both_languages_with_the_same_values(name: str) -> None:
    for key, text in TABLES[name].items():
        assert isinstance(text, Text), key
        assert all(words.strip() for words in text), key
        assert placeholders(text.de) == placeholders(text.en), key
        assert "" not in placeholders(text.de), key


def test_every_name_that_pages_can_carry_has_words() -> None:
    assert set(texts.KINDS) == set(ProductCategory)
    assert set(texts.MEDIA) == set(MediumClass)
    assert set(texts.HEADINGS) == set(texts.RESULTS)
    assert set(texts.STOP_HEADINGS) == set(texts.STOPS)
    assert set(texts.REQUESTS) == set(texts.REQUEST_LEADS) == set(pages.POINTS)
    assert {key for points in pages.POINTS.values() for _, key in points} == set(texts.POINTS)
    assert {len(points) for points in pages.POINTS.values()} == {3}
    assert set(texts.PAYEES) == set(texts.PAYEE_RESULTS) == set(PayeeMatch)
    assert set(texts.TROUBLES) > render.FIELDLESS_TROUBLES


def test_every_word_is_used_and_every_word_used_is_there() -> None:
    templates = "\n".join(path.read_text() for path in TEMPLATES)
    used = set(re.findall(r'\bt\("(\w+)"', templates)) | {"recipient", "iban", "amount", "purpose"}
    assert used == set(texts.WORDS)


def sentences(file: Path) -> list[str]:
    """The whole sentences in a module, without its docstrings."""
    tree = ast.parse(file.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    texts_of_module = [node.value for node in constants if isinstance(node.value, str)]
    return [text for text in texts_of_module if re.fullmatch(r"[A-ZÄÖÜ][^\n]* [^\n]*[.!]", text)]


def test_the_words_of_our_own_connectors_are_there_in_english_too() -> None:
    forms = [*login_fields.FORMS.values(), login_fields.USUAL_FORM]
    asked = [*login.FIELDS, *(field for form in forms for field in form.fields)]
    german = {text for field in asked for text in (field.label, field.hint)} | {form.hint for form in forms}
    connectors = [*(BANKS / "demo").glob("*.py"), *(BANKS / "fints").glob("*.py"), BANKS / "without_bank.py"]
    german |= {sentence for file in connectors for sentence in sentences(file)}
    assert len(german) > 60
    assert {text for text in german if text} - set(BANK_TEXTS) == set()


def test_what_a_bank_says_itself_is_shown_in_its_own_words() -> None:
    page = LoginPage(BANK, (replace(FIELDS[0], label="Nutzerkennung", hint="Vom Kundendienst"),), "Melden Sie sich an.")
    html = page_html(replace(SAMPLES["login"][0], language="en"), page)
    assert "User id" in html
    assert '<p class="notice" lang="de">Melden Sie sich an.</p>' in html
    refused = replace(
        SAMPLES["login"][0], language="en", trouble=Trouble("order_refused", details="Der Auftrag wurde abgebrochen.")
    )
    assert "Your bank writes: “The order was cancelled.”" in page_html(refused, page)


def test_german_speaks_to_customers_politely() -> None:
    german = [text.de for table in TABLES.values() for text in table.values()]
    assert [text for text in german if re.search(r"\b([Dd]u|[Dd]ein\w*|[Dd]ich|[Dd]ir)\b", text)] == []


# Pages


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_is_complete(name: str, language: Language) -> None:
    frame, page = in_english(SAMPLES[name]) if language == "en" else SAMPLES[name]
    found = read((frame, page))
    assert found.all("html") == [{"lang": language}]
    assert len(found.all("h1")) == len(found.all("main")) == len(found.all("title")) == 1
    assert found.all("main")[0]["data-turn"] == str(frame.turn)
    assert found.all("main")[0]["data-place"] == page.template
    for form in (form for form in found.all("form") if form["method"] == "post"):
        address = "upload" if form.get("enctype") == "multipart/form-data" else "extend" if form.get("id") == "ending" else "form"
        assert (form["action"], form["accept-charset"]) == (f"/customer/v2/webform/{address}", "utf-8")
    posts = len(found.all("form", method="post"))
    assert [tag["value"] for tag in found.all("input", name="token")] == [frame.token] * posts
    assert [tag["value"] for tag in found.all("input", name="turn")] == [str(frame.turn)] * posts
    ids = [tag["id"] for _, tag in found.tags if "id" in tag]
    assert len(ids) == len(set(ids))
    assert {tag["for"] for tag in found.all("label")} <= set(ids)
    named = " ".join(tag["aria-describedby"] or "" for _, tag in found.tags if "aria-describedby" in tag)
    assert set(named.split()) <= set(ids)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_keeps_to_its_content_policy(name: str) -> None:
    found = read(SAMPLES[name])
    assert [tag for tag, values in found.tags if "style" in values or tag == "style"] == []
    assert [values for _, values in found.tags if any(key.startswith("on") for key in values)] == []
    assert [script["src"] for script in found.all("script")] == [asset_url("form.js")]
    for _, values in found.tags:
        assert not (source := values.get("src")) or source.startswith("/"), source
    assert all((link["href"] or "").startswith("/customer/v2/webform/") for link in found.all("link"))


def test_every_page_has_a_sample_and_every_template_a_page() -> None:
    classes = FormPage.__subclasses__()
    assert {page.__class__ for _, page in SAMPLES.values()} == set(classes)
    shared = {"base", "parts", "waits", "choices"}
    assert {path.stem for path in TEMPLATES} == {page.template for page in classes} | shared


def test_no_template_trusts_a_value() -> None:
    for path in TEMPLATES:
        assert not re.search(r"\|\s*safe|autoescape|Markup", path.read_text()), path.name


def hostile(value: Any, key: str = "") -> Any:
    """The same with something hostile after every text that is neither empty nor a name of ours."""
    if (
        isinstance(value, str)
        and value
        and key not in {"text", "kind", "language", "hint", "pattern", "steps", "result", "use_case"}
    ):
        return value + HOSTILE
    if isinstance(value, tuple):
        return value if key == "steps" else tuple(hostile(each, key) for each in value)
    if isinstance(value, dict):
        return {name: hostile(each, "value") for name, each in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return replace(value, **{field.name: hostile(getattr(value, field.name), field.name) for field in fields(value)})
    return value


@pytest.mark.parametrize("name", SAMPLES)
def test_a_hostile_value_stays_text(name: str) -> None:
    usual, attacked = (page_html(*sample) for sample in (SAMPLES[name], hostile(SAMPLES[name])))
    assert "<script>alert" not in attacked
    assert [(tag, sorted(values)) for tag, values in Reader(attacked).tags] == [
        (tag, sorted(values)) for tag, values in Reader(usual).tags
    ]


def test_a_title_names_step_page_and_bank_and_begins_with_the_trouble() -> None:
    assert "<title>Schritt 3 von 6: Bei Ihrer Bank anmelden – Demo-Bank Nord</title>" in page_html(*SAMPLES["login"])
    assert "<title>Fehler: Schritt 3 von 6: " in page_html(*SAMPLES["login_refused"])
    assert "<title>Error: Step 3 of 6: " in page_html(*in_english(SAMPLES["login_refused"]))
    assert "<title>Diese Sitzung ist abgelaufen – Kontor</title>" in page_html(*SAMPLES["stopped"])


def test_the_current_step_is_marked() -> None:
    html = page_html(*SAMPLES["login"])
    assert html.count('aria-current="step"') == 1
    assert re.search(r'aria-current="step"><span class="label">Anmelden<', html)
    assert "Schritt 3 von 6" in html
    assert 'aria-current="step"' not in page_html(*SAMPLES["result_paid"])


def test_a_trouble_is_told_at_the_top_and_leads_to_its_field() -> None:
    found = read(SAMPLES["login_unfit"])
    alert = next(tag for _, tag in found.tags if tag.get("role") == "alert")
    assert (alert["id"], alert["tabindex"]) == ("trouble", "-1")
    assert found.all("a", href="#field-0")
    assert not found.all("a", href="#field-1")
    (wrong,) = [tag for tag in found.all("input") if tag.get("aria-invalid") == "true"]
    assert wrong["aria-describedby"] == "field-0-hint field-0-error"
    assert not any((tag.get("href") or "").startswith("#") for tag in read(SAMPLES["order_instant"]).all("a"))


@pytest.mark.parametrize("key", sorted(texts.TROUBLES))
def test_every_trouble_can_be_told(key: str) -> None:
    frame, page = SAMPLES["login"]
    values = dict.fromkeys(placeholders(texts.TROUBLES[key].de), "7")
    assert "Bitte prüfen" in page_html(replace(frame, trouble=Trouble(key, values)), page)


@pytest.mark.parametrize("key", sorted(texts.STOPS))
def test_every_stop_is_told_in_both_languages(key: str) -> None:
    words = "".join(Reader(page_html(PageFrame("en"), Stopped(key))).words)
    assert texts.STOPS[key].de in words
    assert texts.STOPS[key].en in words


@pytest.mark.parametrize("key", sorted(texts.RESULTS))
def test_every_result_can_be_told(key: str) -> None:
    assert texts.HEADINGS[key].de in page_html(PageFrame("de"), ResultPage(key, key == "paid"))


def test_secrets_are_never_shown_again() -> None:
    frame, _ = SAMPLES["login"]
    told = LoginPage(BANK, (replace(FIELDS[0], value="erika"), replace(FIELDS[1], value="98765")))
    html = page_html(frame, told)
    assert 'value="erika"' in html
    assert "98765" not in html
    assert [tag["name"] for tag in Reader(html).all("input", type="password")] == ["field.pin"]


@pytest.mark.parametrize(
    ("name", "actions"),
    {
        "terms": ["accept", "decline"],
        "banks": ["bank", "bank", "cancel"],
        "upload": ["other", "cancel"],
        "uploaded": ["close"],
        "login": ["login", "other", "cancel"],
        "login_unfit": ["login", "cancel"],
        "start": ["start", "cancel"],
        "working": [],
        "methods": ["method", "cancel"],
        "media": ["medium", "cancel"],
        "tan": ["tan", "cancel"],
        "app": ["cancel"],
        "bank_page": ["cancel"],
        "accounts": ["accounts", "cancel"],
        "summary": ["connect", "back", "cancel"],
        "order": ["pay", "cancel"],
        "result_paid": ["finish"],
        "return": [],
        "stopped": [],
    }.items(),
)
def test_a_page_offers_its_actions(name: str, actions: list[str]) -> None:
    assert [tag["value"] for _, tag in read(SAMPLES[name]).tags if tag.get("name") == "action"] == actions


def test_accounts_are_sent_by_their_keys() -> None:
    boxes = read(SAMPLES["accounts"]).all("input", type="checkbox")
    assert [(box["name"], "checked" in box) for box in boxes] == [
        (f"account.{account.key}", account.selected) for account in ACCOUNTS
    ]
    assert [(box["name"], box["value"]) for box in read(SAMPLES["accounts_one"]).all("input", type="radio")] == [
        ("account", "1"),
        ("account", "2"),
    ]


def test_a_waiting_page_looks_again_also_without_script() -> None:
    for name in ("app", "working"):
        html = page_html(*SAMPLES[name])
        assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in html
        assert " data-polls" in html
    assert "http-equiv" not in page_html(*SAMPLES["tan"])


def test_a_transfer_is_shown_beside_its_challenge() -> None:
    for name in ("tan_transfer", "app_transfer"):
        words = " ".join("".join(read(SAMPLES[name]).words).split())
        for text in ("1.234,50 €", "Stadtwerke Musterstadt GmbH", "DE02 1203 0000 0000 2020 51", "Prüfung des Empfängers"):
            assert text in words, (name, text)
    words = " ".join("".join(read(SAMPLES["tan_transfer"]).words).split())
    for text in ("Name ist ähnlich", "Stadtwerke Musterstadt AöR", "1041875"):
        assert text in words


def test_password_managers_and_one_time_codes_are_told_what_a_field_is() -> None:
    fields = {tag["name"]: tag.get("autocomplete") for tag in read(SAMPLES["login"]).all("input") if tag["type"] != "hidden"}
    assert fields == {"field.user": "username", "field.pin": "current-password"}
    assert [tag["autocomplete"] for tag in read(SAMPLES["tan"]).all("input", name="tan")] == ["one-time-code"]
    assert not [form for name in ("login", "tan") for form in read(SAMPLES[name]).all("form") if "autocomplete" in form]


def test_an_expired_page_of_a_tenant_leads_back() -> None:
    url = "https://haushaltsbuch.example/zurueck?baReentry=ERROR"
    found = read(SAMPLES["stopped_of_tenant"])
    assert found.all("a", href=url)
    assert "Haushaltsbuch Nord" in "".join(found.words)
    assert not found.all("form")


def test_a_window_of_its_own_keeps_its_opener_and_waits_for_the_script() -> None:
    answer = page_response(*SAMPLES["return_to_opener"])
    assert answer.headers["cross-origin-opener-policy"] == "unsafe-none"
    assert '<noscript><meta http-equiv="refresh"' in bytes(answer.body).decode()
    assert read(SAMPLES["return_to_opener"]).all("main", **{"data-opener": "https://haushaltsbuch.example"})
    assert not read(SAMPLES["return"]).all("main", **{"data-opener": "https://haushaltsbuch.example"})


def test_the_way_back_goes_by_itself() -> None:
    found = read(SAMPLES["return"])
    url = "https://haushaltsbuch.example/zurueck?a=1&baReentry=DONE"
    assert [tag["content"] for tag in found.all("meta") if "http-equiv" in tag] == [f"0;url={url}"]
    assert found.all("a", href=url)


def test_a_search_keeps_its_words_when_the_language_changes() -> None:
    frame, _ = SAMPLES["banks_found"]
    assert read((frame, Banks("a b&c", ()))).all("a", href="/customer/v2/webform/form?lang=en&q=a%20b%26c")
    assert read(in_english(SAMPLES["banks"])).all("a", href="/customer/v2/webform/form?lang=de")


def test_the_house_does_not_claim_to_be_blind() -> None:
    assert "sieht sie nie" in page_html(*SAMPLES["login"])
    assert "sieht sie nie" not in page_html(PageFrame("de"), Terms(()))


def test_a_tenant_with_a_logo_is_named_by_it() -> None:
    assert read((PageFrame("de", Design("Nord", has_logo=True)), Terms(()))).all(
        "img", src="/customer/v2/webform/logo", alt="Nord"
    )


def test_a_bank_that_is_not_chosen_yet_is_not_shown() -> None:
    for bank in (None, BankChoice("None", "")):
        found = read((PageFrame("de"), replace(ORDER, bank=bank)))
        assert not [image for image in found.all("img") if "/providers/" in (image["src"] or "")]


def test_amounts_are_shown_in_the_notation_of_the_language() -> None:
    assert "1.234,50 €" in page_html(*SAMPLES["result_paid"])
    assert "€1,234.50" in page_html(*in_english(SAMPLES["result_paid"]))


def test_days_are_those_in_germany() -> None:
    assert "15.05.2027" in page_html(*SAMPLES["result_consent"])
    assert "15 May 2027" in page_html(*in_english(SAMPLES["result_consent"]))


# Answers and files


def test_an_answer_forbids_what_pages_do_not_need() -> None:
    answer = page_response(*SAMPLES["stopped"], status=410)
    assert isinstance(answer, HTMLResponse)
    assert answer.status_code == 410
    policy = answer.headers["content-security-policy"]
    assert policy == "default-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'"
    assert answer.headers["cross-origin-opener-policy"] == answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["permissions-policy"] == "camera=(), geolocation=(), microphone=(), payment=()"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_files_are_found_by_their_exact_names_only() -> None:
    for name, kind in {"form.css": "text/css", "form.js": "text/javascript", "favicon.svg": "image/svg+xml"}.items():
        found = asset(name)
        assert found is not None
        assert found.media_type.startswith(kind)
        assert asset_url(name) == f"/customer/v2/webform/static/{name}?v={found.etag[1:9]}"
    for name in ("", ".", "..", "../render.py", "form.css/", "FORM.CSS", "./form.css", "%2e%2e/pages.py", "form.css\0"):
        assert asset(name) is None


def test_the_first_page_is_small() -> None:
    """As it travels, with the whole text of the house's terms."""
    files = [found.gzip_content for name in ("form.css", "form.js") if (found := asset(name))]
    for language in LANGUAGES:
        text = terms.paragraphs(terms.text(None, language), "Haushaltsbuch Nord")
        html = page_html(replace(SAMPLES["terms"][0], language=language), Terms(text))
        assert sum([len(html.encode()), len(colours.stylesheet(None)), *map(len, files)]) < FIRST_PAGE_BYTES


def test_the_script_for_pages_of_tenants_is_small_and_depends_on_nothing() -> None:
    script = asset("embed.js")
    assert script is not None
    assert len(script.content) <= MAX_EMBED_BYTES
    assert script.is_shared
    assert not re.search(r"https?:|import|eval\(|innerHTML", script.content.decode())
    assert [name for name in ("form.css", "form.js", "favicon.svg") if (found := asset(name)) and found.is_shared] == []


def test_neither_stylesheet_nor_script_loads_anything() -> None:
    for name in ("form.css", "form.js", "favicon.svg"):
        found = asset(name)
        assert found is not None
        text = found.content.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|url\(|@import|eval\(|innerHTML", text), name


# Formats of login fields


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        ("^[0-9]{5,10}$", "[0-9]{5,10}"),
        ("#3-~1|2", r"[0-9]{3}[\-\/\. ]{0,1}[0-9A-Za-zÀ-ÖØ-öø-ɏẞ]{2}"),
        ("^[A-Za-z0-9_.@-]{1,64}$", r"[A-Za-z0-9_\.\@\-]{1,64}"),
        (r"^\d+(?:-[a-c]+)?$", r"\d+(?:-[a-c]+)?"),
        ("^a|b$", "a|b"),
        (r"^[^\s]+$", r"[^\s]+"),
        ("^.*$", ".*"),
        ("^(?i)abc$", None),
        ("^(?P<x>a)$", None),
        ("^[[:alpha:]]+$", None),
        (r"^\pL+$", None),
        (r"^\Qa\E$", None),
        ("^a{,3}$", None),
        (r"^[\pL]$", None),
        ("abc", None),
    ],
)
def test_a_format_becomes_what_browsers_understand(notation: str, expected: str | None) -> None:
    assert browser_pattern(formats.pattern(notation) if notation.startswith(("^", "#")) else notation) == expected


# Colours

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


@given(COLOURS)
def test_every_colour_of_a_tenant_stays_readable(colour: str) -> None:
    sheet = colours.stylesheet(colour)
    accent, on_accent, by_day, by_night = re.findall("#[0-9a-f]{6}", sheet)
    assert accent == colour
    assert colours.contrast(accent, on_accent) >= 4.5
    assert min(colours.contrast(by_day, background) for background in colours.LIGHT) >= 4.5
    assert min(colours.contrast(by_night, background) for background in colours.DARK) >= 4.5


def test_a_readable_colour_is_left_as_it_is() -> None:
    assert "--accent-text:#0b5cad}" in colours.stylesheet("#0B5CAD")
    assert colours.stylesheet(None) == colours.stylesheet(colours.DEFAULT_COLOUR)


@pytest.mark.parametrize(
    ("one", "other", "expected"), [("#000000", "#ffffff", 21.0), ("#777777", "#ffffff", 4.48), ("#ff0000", "#ffffff", 4.0)]
)
def test_contrast_is_that_of_wcag(one: str, other: str, expected: float) -> None:
    assert colours.contrast(one, other) == colours.contrast(other, one) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("colour", ["red", "#fff", "#12345g", "#123456;}", "##12345", "123456", "1234567", "#123456\n"])
def test_anything_else_is_no_colour(colour: str) -> None:
    with pytest.raises(ValueError, match="not a colour"):
        colours.stylesheet(colour)


def test_the_backgrounds_that_colours_are_measured_against_are_those_of_the_stylesheet() -> None:
    found = asset("form.css")
    assert found is not None
    sheet = found.content.decode()
    for name, *values in zip(("page", "card", "chosen"), colours.LIGHT, colours.DARK, strict=True):
        assert re.findall(rf"--{name}: (#\w+);", sheet) == values
    own = {name: re.findall(rf"--{name}: ?(#\w+)", sheet) for name in ("accent", "on-accent", "accent-text")}
    house = {name: re.findall(rf"--{name}:(#\w+)", colours.stylesheet(None)) for name in own}
    assert own == house


# Flicker code


def test_a_flicker_code_begins_with_the_sync_and_shows_the_lower_half_of_a_byte_first() -> None:
    shown = ["".join("1" if light else "0" for light in frame) for frame in flicker.frames("1784")]
    halves = ["1111", "0000", "1111", "1111", "1110", "1000", "0010", "0001"]
    assert shown == [clock + half for half in halves for clock in "10"]


def test_a_known_code_can_be_read_back() -> None:
    assert flicker.is_code(CODE)
    shown = flicker.frames(CODE)
    assert len(shown) == 2 * (len(CODE) + 4)
    assert [clock for clock, *_ in shown] == [True, False] * (len(CODE) + 4)
    assert shown[0::2] == [(True, *data) for _, *data in shown[1::2]]
    halves = [f"{sum(light << bit for bit, light in enumerate(data)):X}" for _, *data in shown[0::2]]
    assert "".join(high + low for low, high in zip(halves[0::2], halves[1::2], strict=True)) == "0FFF" + CODE


def test_a_flicker_picture_moves_by_itself() -> None:
    picture = flicker.svg(CODE)
    root = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    moves = root.findall(f".//{space}animate")
    assert len(moves) == 5
    assert {move.attrib["dur"] for move in moves} == {"8.32s"}
    assert {(move.attrib["attributeName"], move.attrib["calcMode"], move.attrib["repeatCount"]) for move in moves} == {
        ("fill", "discrete", "indefinite")
    }
    assert [move.attrib["values"].split(";") for move in moves] == [
        ["#fff" if frame[bar] else "#000" for frame in flicker.frames(CODE)] for bar in range(5)
    ]
    assert len(root.findall(f"{space}path")) == 2
    assert not re.search(r"style|script|href|on\w+=", picture)
    assert len(picture) < 5_000


@pytest.mark.parametrize("code", ["", "1", "17", "178", "17 4", "xyz0", "1784\n", '17"/><script>84', "17" * 300])
def test_anything_else_is_no_flicker_code(code: str) -> None:
    assert not flicker.is_code(code)
    with pytest.raises(ValueError, match="not a code"):
        flicker.svg(code)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2908881344731012345678900,00", "88134473"),
        (None, None),
        ("", None),
        ("29", None),
        ("2999881", None),
        ("29xx88134473", None),
        ("290488a3", None),
    ],
)
def test_what_is_typed_into_a_generator_by_hand(text: str | None, expected: str | None) -> None:
    assert flicker.start_code(text) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (CODE, "1041875"),
        ("0584018123456701", "81234567"),
        ("0504881234560000", "88123456"),
        ("058481018812345600", "88123456"),
        ("0400ABCDEF", None),
        ("LÜ+1", None),
        (None, None),
    ],
)
def test_the_start_code_is_also_inside_the_code_for_the_screen(code: str | None, expected: str | None) -> None:
    assert flicker.optical_start_code(code) == expected
