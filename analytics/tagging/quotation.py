"""Words of bank texts as people write them, for the reasons that they read: with umlauts and capitals, without the numbers that
lines have replaced, and without first names, which are no evidence.

Lines are plain (`gebuehr`, `0fk0`). Which spelling a bank used is not part of a line, so the usual one is written.
"""

from functools import cache

import polars as pl

from analytics.native.dense_ids import Numbering
from analytics.tagging.rulebook import word_lists

UMLAUTS = ("ae", "oe", "ue")
NO_UMLAUTS = (
    *("uell", "samuel", "manuel", "zuers", "quer", "blue", "true", "value", "avenue", "revue", "fuel", "guest"),
    *("guess", "league", "vogue", "venue", "statue", "puert", "buen", "cuenta", "fuert", "nuev", "pueblo", "issue"),
    *("tissue", "rescue", "glue", "duett", "tuesday", "ael", "aero", "caes", "maestro", "paella", "aetna", "aloe"),
    *("oboe", "joe", "zoe", "noel", "shoe", "goethe", "phoenix", "soest", "hoe", "sloe", "coesfeld", "moers", "poesie"),
    *("boeing", "canoe", "koexist", "poet", "does", "neue", "coe", "michae", "israe", "kontoe", "autoe", "fotoe"),
    *("bruttoe", "nettoe", "videoe", "roeinr", "radioe", "bauer", "mauer"),
)
"""Parts of words in which two vowels stand side by side."""
SHARP_S = {
    "strasse": "straße",
    "grüss": "grüß",
    "gröss": "größ",
    "süss": "süß",
    "fuss": "fuß",
    "gross": "groß",
    "schliess": "schließ",
    "ausser": "außer",
    "weiss": "weiß",
    "heiss": "heiß",
    "massnahm": "maßnahm",
}
ABBREVIATIONS = {
    word.title(): word
    for word in (
        *("ADAC", "AG", "ARD", "AXA", "BAföG", "BVG", "DB", "DEVK", "DKB", "EC", "EDEKA", "EZB", "GA", "GEZ", "GKV"),
        *("HEM", "HUK", "HVV", "IBAN", "IHK", "IKEA", "ING", "KG", "KSK", "LBS", "LVM", "MVG", "PKV", "REWE", "SB"),
        *("SV", "TV", "TÜV", "USt", "VBB", "VGH", "VHS", "VRR", "VW", "WEG", "ZDF", "am", "an", "auf", "aus", "bei"),
        *("das", "dem", "den", "der", "des", "die", "für", "im", "mit", "und", "vom", "von", "zum", "zur"),
    )
}
"""How words are written that have other capitals than a German noun, by what a noun would have."""
APART = "\u2060"
"""Stands between two vowels that are no umlaut while the others are replaced."""


def quoted_words(lines: pl.DataFrame) -> pl.Series:
    """The `model_words` (`a|b|c`) of lines as a quotation, empty where none is left. Words in the name of a person are none."""
    spaced_name = pl.concat_str(pl.lit(" "), "name", pl.lit(" "))
    is_name = pl.col("is_person") & spaced_name.str.contains(pl.concat_str(pl.lit(" "), "word", pl.lit(" ")), literal=True)
    words = (
        lines.select("name", "is_person", row=pl.int_range(pl.len()), word=pl.col("model_words").str.split("|"))
        .explode("word")
        .filter(pl.col("word").fill_null("") != "", ~is_name)
    )
    readable_words = words.select("row", word=written(words["word"])).drop_nulls()
    quotations = readable_words.group_by("row", maintain_order=True).agg(pl.col("word").unique(maintain_order=True))
    label = pl.when(pl.col("word").list.len() == 1).then(pl.lit("Wort")).otherwise(pl.lit("Wörter"))
    texts = quotations.select("row", text=pl.format("{} »{}«", label, pl.col("word").list.join("«, »")))
    return pl.Series("model_quotation", [""]).new_from_index(0, lines.height).scatter(texts["row"], texts["text"])


def written(quotations: pl.Series, *, with_first_names: bool = False) -> pl.Series:
    """Quoted words as people write them, each distinct one looked at once; null where no word is left."""
    number, first = Numbering().of(quotations.hash().to_numpy())
    is_evidence = ~pl.element().str.contains("0", literal=True)
    if not with_first_names:
        is_evidence &= ~pl.element().is_in(_first_names().implode())
    return _written(quotations[first], is_evidence)[number].alias(quotations.name)


def _written(quotations: pl.Series, is_evidence: pl.Expr) -> pl.Series:
    words = quotations.to_frame("text").select(
        pl.col("text").str.split(" ").list.eval(pl.element().filter(is_evidence & (pl.element() != ""))).list.join(" ")
    )
    german = (
        pl.col("text")
        .str.replace_many(list(NO_UMLAUTS), [_apart(part) for part in NO_UMLAUTS])
        .str.replace_all("ae", "ä", literal=True)
        .str.replace_all("oe", "ö", literal=True)
        .str.replace_all("([^aeq]|^)ue", "${1}ü")
        .str.replace_all(APART, "", literal=True)
        .str.replace_many(SHARP_S)
    )
    capitals = german.str.to_titlecase().str.split(" ").list.eval(pl.element().replace(ABBREVIATIONS)).list.join(" ")
    first_capital = pl.concat_str(capitals.str.slice(0, 1).str.to_uppercase(), capitals.str.slice(1))
    return words.select(pl.when(pl.col("text") != "").then(first_capital)).to_series()


def _apart(part: str) -> str:
    for pair in UMLAUTS:
        part = part.replace(pair, pair[0] + APART + pair[1])
    return part


@cache
def _first_names() -> pl.Series:
    return pl.Series([name.strip("*") for name in word_lists()["firstnames"]])
