"""Words of bank texts as people write them, for the reasons that they read: with umlauts and capitals, without the numbers that
lines have replaced, and without first names, which are no evidence.

Lines are plain (`gebuehr`, `0fk0`). Which spelling a bank used is not part of a line, so the usual one is written.
"""

import re
from functools import cache, lru_cache

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
NO_UMLAUT = re.compile("|".join(map(re.escape, NO_UMLAUTS)))
UMLAUT_UE = re.compile("([^aeq]|^)ue")
SHARP = re.compile("|".join(map(re.escape, SHARP_S)))
MAX_KEPT_WORDS = 1 << 16
"""Words whose written form a process keeps: the same few thousand come again and again."""


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
    """Quoted words as people write them, each distinct quotation looked at once; null where no word is left."""
    number, first = Numbering().of(quotations.hash().to_numpy())
    texts = [_written(quotation or "", with_first_names) for quotation in quotations[first].to_list()]
    return pl.Series(quotations.name, texts, pl.String)[number]


def _written(quotation: str, with_first_names: bool) -> str | None:
    words = [_written_word(word, with_first_names) for word in quotation.split(" ")]
    text = " ".join(word for word in words if word is not None)
    return text[0].upper() + text[1:] if text else None


@lru_cache(maxsize=MAX_KEPT_WORDS)
def _written_word(word: str, with_first_names: bool) -> str | None:
    """A word as people write it; null for a first name, a number or nothing."""
    if not word or "0" in word or (not with_first_names and word in _first_names()):
        return None
    apart = NO_UMLAUT.sub(lambda part: _apart(part[0]), word)
    umlauts = UMLAUT_UE.sub("\\1ü", apart.replace("ae", "ä").replace("oe", "ö")).replace(APART, "")
    capital = SHARP.sub(lambda part: SHARP_S[part[0]], umlauts).title()
    return ABBREVIATIONS.get(capital, capital)


def _apart(part: str) -> str:
    for pair in UMLAUTS:
        part = part.replace(pair, pair[0] + APART + pair[1])
    return part


@cache
def _first_names() -> frozenset[str]:
    return frozenset(name.strip("*") for name in word_lists()["firstnames"])
