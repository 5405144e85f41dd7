"""How tenants want their form to look: what is kept, and hostile values as tables."""

from collections.abc import Iterator
from typing import Any

import pytest

from api.webform import terms
from tests.support.stack import Stack, TenantUnderTest
from warehouse.errors import Invalid
from warehouse.inputs import logos
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import FormDesign
from warehouse.stores import designs

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SVG = '<svg xmlns="http://www.w3.org/2000/svg">{}</svg>'
GOOD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!-- drawn by hand -->\n'
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" version="1.1" '
    'xml:space="preserve" role="img" aria-label="https://sparfuechse.example"><title>Sparfüchse &amp; Söhne</title>'
    '<g id="a" style="fill:#0a5c36; stroke-width:.5"><path d="M0 0h9v9z" transform="rotate(3 1,2)"/></g>'
    '<text x="1" y="2" font-family="Inter, sans-serif"><tspan>S: &lt;i&gt;</tspan></text></svg>'
)


@pytest.fixture(scope="module")
def mine(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def owner(stack: Stack, mine: TenantUnderTest) -> Iterator[Owner]:
    """A tenant that has said nothing."""
    with stack.database.acting_for(mine.tenant_id) as acting:
        designs.clear(acting)
        yield acting


def test_a_tenant_has_said_nothing_at_first(owner: Owner) -> None:
    assert designs.find(owner) is None


def test_only_what_is_given_changes(owner: Owner) -> None:
    designs.change(owner, name=" Sparfüchse ", colour="#0A5C36", terms={"de": "Guten Tag"})
    designs.change(owner, imprint_url="HTTPS://app.example.de/#imprint", logo=PNG, terms={"en": "Hello"})
    found = designs.find(owner)
    assert found is not None
    assert (found.name, found.colour, found.imprint_url) == ("Sparfüchse", "#0a5c36", "https://app.example.de/#imprint")
    assert (found.logo, found.logo_type, found.privacy_url) == (PNG, "image/png", None)
    assert found.terms == {"de": "Guten Tag", "en": "Hello"}


def test_none_is_the_houses_own_again_and_clear_is_all_of_it(owner: Owner) -> None:
    designs.change(owner, name="Sparfüchse", logo=PNG, terms={"de": "Guten Tag", "en": "Hello"})
    found = designs.change(owner, name=None, logo=None, terms={"de": None})
    assert (found.name, found.logo, found.logo_type, found.terms) == (None, None, None, {"en": "Hello"})
    designs.clear(owner)
    assert designs.find(owner) is None
    designs.clear(owner)


def test_a_value_that_is_refused_changes_nothing(owner: Owner) -> None:
    designs.change(owner, name="Sparfüchse")
    with pytest.raises(Invalid):
        designs.change(owner, name="Andere", colour="green")
    found = designs.find(owner)
    assert found is not None
    assert found.name == "Sparfüchse"


def test_another_tenant_sees_nothing_of_it(stack: Stack, mine: TenantUnderTest, r2: TenantUnderTest) -> None:
    with stack.database.operating() as operator:
        designs.change(operator.for_tenant(mine.tenant_id), name="Sparfüchse")
    with stack.database.acting_for(r2.tenant_id) as owner:
        assert designs.find(owner) is None
        designs.clear(owner)
    with stack.database.acting_for(mine.tenant_id) as owner:
        assert designs.find(owner) is not None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"name": ""}, "1 to 70 characters"),
        ({"name": "   "}, "1 to 70 characters"),
        ({"name": "x" * 71}, "1 to 70 characters"),
        ({"name": "Spar\nfüchse"}, "control characters"),
        ({"name": "Spar\0füchse"}, "control characters"),
        ({"name": "Spar\u2028füchse"}, "control characters"),
        ({"name": "\u202eknaB"}, "control characters"),
        ({"name": "\ud800"}, "control characters"),
        ({"colour": ""}, "six hexadecimal digits"),
        ({"colour": "green"}, "six hexadecimal digits"),
        ({"colour": "#0a5"}, "six hexadecimal digits"),
        ({"colour": "0a5c36"}, "six hexadecimal digits"),
        ({"colour": "#0a5c36ff"}, "six hexadecimal digits"),
        ({"colour": "#０a5c36"}, "six hexadecimal digits"),
        ({"colour": "#0a5c36;background:url(//evil.example)"}, "six hexadecimal digits"),
        ({"colour": "#0a5c36\n}body{display:none"}, "six hexadecimal digits"),
        ({"imprint_url": "app.example.de/imprint"}, "absolute URL"),
        ({"imprint_url": "http://app.example.de/imprint"}, "must use https"),
        ({"imprint_url": "javascript:alert(1)"}, "must use https"),
        ({"privacy_url": "data:text/html,<script>alert(1)</script>"}, "must use https"),
        ({"privacy_url": "https://good.example@evil.example/"}, "no credentials"),
        ({"privacy_url": "https://app.example.de/" + "x" * 2048}, "at most 2048 characters"),
        ({"terms": {"fr": "Bonjour"}}, "terms are in de or en, not in fr"),
        ({"terms": {"de": ""}}, "1 to 20,000 characters"),
        ({"terms": {"de": " \n\n "}}, "1 to 20,000 characters"),
        ({"terms": {"de": "x" * 20_001}}, "not 20,001"),
        ({"terms": {"de": "Guten\n\nTag\0"}}, "line 3"),
        ({"terms": {"de": "Guten\tTag"}}, "line 1"),
        ({"terms": {"de": "Guten\rTag"}}, "line 1"),
        ({"terms": {"en": "Hello\n\x1b[31mred"}}, "line 2"),
        ({"terms": {"en": "You do \u202enot\u202c agree"}}, "line 1"),
        ({"terms": {"en": "\ud800"}}, "line 1"),
    ],
)
def test_values_that_are_refused(owner: Owner, values: dict[str, Any], reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        designs.change(owner, **values)
    assert designs.find(owner) is None


def test_texts_are_kept_as_they_are_and_made_harmless_where_they_are_shown(owner: Owner) -> None:
    given = "# Bedingungen\r\n\r\n<script>alert(1)</script> {tenant.__class__} {0} %s \u00adSilben\u00adtrennung"
    kept = designs.change(owner, terms={"de": given}).terms["de"]
    assert kept == given.replace("\r\n", "\n")
    assert terms.paragraphs(kept, "Sparfüchse")[1].startswith("<script>alert(1)</script> {tenant.__class__} {0} %s")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 20, "image/jpeg"),
        (b"RIFF\x10\0\0\0WEBPVP8 " + b"\0" * 8, "image/webp"),
        (GOOD.encode(), "image/svg+xml"),
        (b"\xef\xbb\xbf" + GOOD.encode(), "image/svg+xml"),
        (SVG.format("").encode().ljust(logos.MAX_LOGO_BYTES), "image/svg+xml"),
    ],
)
def test_pictures_are_known_by_their_content(content: bytes, kind: str) -> None:
    assert logos.media_type(content) == kind


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "PNG, JPEG, WebP or SVG"),
        (b"GIF89a", "PNG, JPEG, WebP or SVG"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "PNG, JPEG, WebP or SVG"),
        (b"\x89PNG", "PNG, JPEG, WebP or SVG"),
        (b" " + PNG, "PNG, JPEG, WebP or SVG"),
        (b"<html><script>alert(1)</script></html>", "PNG, JPEG, WebP or SVG"),
        (b"%PDF-1.7", "PNG, JPEG, WebP or SVG"),
        (GOOD.encode("utf-16"), "PNG, JPEG, WebP or SVG"),
        (PNG.ljust(logos.MAX_LOGO_BYTES + 1), "at most 64 KiB"),
        (SVG.format(" " * logos.MAX_LOGO_BYTES).encode(), "at most 64 KiB"),
    ],
)
def test_what_is_no_picture_of_these_kinds_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        logos.media_type(content)


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        ("<svg", "well-formed"),
        ("<svg></svg>", "begins with <svg"),
        ('<svg xmlns="http://www.w3.org/2000/svg"><g></svg>', "line 1 is not"),
        ('<svg xmlns="http://www.w3.org/2000/svg">&nbsp;</svg>', "well-formed"),
        ('<svg xmlns="http://www.w3.org/2000/svg"/><script/>', "well-formed"),
        ('<svg xmlns="http://www.w3.org/1999/xhtml"/>', "begins with <svg"),
        ('<x><svg xmlns="http://www.w3.org/2000/svg"/></x>', "begins with <svg"),
        ("<!DOCTYPE svg>" + SVG, "no DOCTYPE"),
        ("<!doctype svg>" + SVG, "well-formed"),
        ('<!DOCTYPE svg SYSTEM "https://evil.example/x.dtd">' + SVG, "no DOCTYPE"),
        ('<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG, "no DOCTYPE"),
        ('<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + SVG.replace("{}", "&a;"), "no DOCTYPE"),
        ('<!DOCTYPE svg [<!ENTITY a "aa"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]>' + SVG.replace("{}", "&c;"), "no DOCTYPE"),
        ('<?xml version="1.0" encoding="utf-7"?>' + SVG, "UTF-8"),
        ('<?xml version="1.0" encoding="iso-2022-jp"?>' + SVG, "UTF-8"),
        ('<?xml-stylesheet href="https://evil.example/x.css"?>' + SVG, "processing instructions"),
        (SVG.format("<script>alert(1)</script>"), "no element <script>"),
        (SVG.format("<SCRIPT>alert(1)</SCRIPT>"), "no element <SCRIPT>"),
        (SVG.format('<s:script xmlns:s="http://www.w3.org/2000/svg"/>'), "no element <script>"),
        (SVG.format('<h:script xmlns:h="http://www.w3.org/1999/xhtml"/>'), "no element <script>"),
        (SVG.format('<script xmlns="urn:x"/>'), "no element <script>"),
        (SVG.format('<script href="data:image/png;,"/>'), "no element <script>"),
        (SVG.format("<foreignObject/>"), "no element <foreignObject>"),
        (SVG.format('<body xmlns="http://www.w3.org/1999/xhtml"/>'), "no element <body>"),
        (SVG.format('<set attributeName="onload" to="alert(1)"/>'), "no element <set>"),
        (SVG.format('<animate attributeName="href" values="javascript:alert(1)"/>'), "no element <animate>"),
        (SVG.format('<animateTransform attributeName="transform"/>'), "no element <animateTransform>"),
        (SVG.format("<style>@import 'https://evil.example/x.css';</style>"), "no element <style>"),
        (SVG.format("<style>path { fill: url(https://evil.example/) }</style>"), "no element <style>"),
        (SVG.format('<use href="#a"/>'), "no element <use>"),
        (SVG.format('<use href="other.svg#a"/>'), "no element <use>"),
        (SVG.format('<a href="javascript:alert(1)"/>'), "no element <a>"),
        (SVG.format('<image href="https://evil.example/pixel.png"/>'), "no element <image>"),
        (SVG.format('<image href="data:image/png;base64,AAAA"/>'), "no element <image>"),
        (SVG.format('<feImage href="https://evil.example/"/>'), "no element <feImage>"),
        (SVG.format('<linearGradient id="a"/>'), "no element <linearGradient>"),
        (SVG.format("<iframe/>"), "no element <iframe>"),
        (SVG.format('<metadata><r xmlns="urn:rdf"/></metadata>'), "no element <metadata>"),
        (SVG.format('<path xmlns="urn:x"/>'), "no element <path>"),
        (SVG.replace("<svg ", '<svg onload="alert(1)" '), "no attribute onload"),
        (SVG.format('<g ONCLICK="alert(1)"/>'), "no attribute ONCLICK"),
        (SVG.format('<g onmouseover&#61;"1"/>'), "well-formed"),
        (SVG.format('<g href="#a"/>'), "no attribute href"),
        (SVG.format('<g xmlns:x="http://www.w3.org/1999/xlink" x:href="https://evil.example/"/>'), "no attribute href"),
        (SVG.format('<g xmlns:i="urn:inkscape" i:label="x"/>'), "no attribute label"),
        (SVG.format('<g xml:base="https://evil.example/"/>'), "no attribute base"),
        (SVG.format('<g filter="blur(1px)"/>'), "no attribute filter"),
        (SVG.format('<rect fill="url(#a)"/>'), "refers to nothing, not even to itself: fill does"),
        (SVG.format('<rect fill="URL &#40;https://evil.example/#a)"/>'), "refers to nothing"),
        (SVG.format('<rect fill="\\75rl(https://evil.example/)"/>'), "refers to nothing"),
        (SVG.format('<rect style="fill:url(https://evil.example/)"/>'), "refers to nothing"),
        (SVG.format('<rect style="fill:u/**/rl(x)"/>'), "refers to nothing"),
        (SVG.format('<text font-family="data:font/woff,x">a</text>'), "refers to nothing"),
        (SVG.format('<rect style="background:red"/>'), "simple styles"),
        (SVG.format('<rect style="-moz-binding:none"/>'), "simple styles"),
        (SVG.format('<rect style="fill:red;behavior:none"/>'), "simple styles"),
    ],
)
def test_svg_pictures_that_are_refused(picture: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        logos.media_type(picture.encode())


class TestTerms:
    @pytest.mark.parametrize(
        ("own", "german", "english"),
        [
            ({}, terms.HOUSE["de"], terms.HOUSE["en"]),
            ({"de": "Guten Tag"}, "Guten Tag", "Guten Tag"),
            ({"en": "Hello"}, terms.HOUSE["de"], "Hello"),
            ({"de": "Guten Tag", "en": "Hello"}, "Guten Tag", "Hello"),
        ],
    )
    def test_the_tenants_text_comes_first_then_its_german_one_then_the_houses(
        self, own: dict[str, str], german: str, english: str
    ) -> None:
        design = FormDesign(terms=own)
        assert (terms.text(design, "de"), terms.text(design, "en")) == (german, english)

    def test_without_a_design_the_houses_texts_are_shown(self) -> None:
        assert (terms.text(None, "de"), terms.text(None, "en")) == (terms.HOUSE["de"], terms.HOUSE["en"])

    def test_a_text_is_asked_for_again_exactly_if_something_that_is_read_has_changed(self) -> None:
        nothing, own = FormDesign(terms={}), FormDesign(terms={"de": "A", "en": "B"})
        assert len(terms.digest(None)) == 32
        assert terms.digest(None) == terms.digest(nothing) == terms.digest(FormDesign(terms={}, name="Other", colour="#000000"))
        others = [{"de": "A"}, {"de": "A", "en": "C"}, {"de": "AB", "en": ""}, {"en": "B"}, {"de": "B", "en": "A"}]
        assert len({terms.digest(FormDesign(terms=other)) for other in others} | {terms.digest(own), terms.digest(None)}) == 7

    def test_paragraphs_are_lines_with_headings_and_the_tenants_name(self) -> None:
        text = "\n# About {tenant}\nFirst line\nof {tenant}.\n \n\nSecond. {other}\n# End\n#no heading"
        assert terms.paragraphs(text, "A & {tenant}") == (
            "# About A & {tenant}",
            "First line of A & {tenant}.",
            "Second. {other}",
            "# End",
            "#no heading",
        )

    def test_the_houses_texts_say_the_same_in_both_languages(self) -> None:
        german, english = (terms.paragraphs(terms.HOUSE[language], "Sparfüchse") for language in designs.LANGUAGES)
        assert [line.startswith("# ") for line in german] == [line.startswith("# ") for line in english]
        assert [line.count("Sparfüchse") > 0 for line in german] == [line.count("Sparfüchse") > 0 for line in english]
        for whole in map(" ".join, (german, english)):
            assert "180" in whole
            assert not set("{}") & set(whole)
            assert len(whole) < 5_000
