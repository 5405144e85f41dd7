"""The simulator's own lists (merchants, trades, parties, names, wordings) and the split of every entry."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base.chance import Floats, Ints, Keys, hashed, salt, uniform, weighted
from models.simulator.base.splits import SHARES, SPLITS, allowed_codes, split_of_families


@cache
def table(name: str) -> pl.DataFrame:
    """A data file as a frame of strings; missing values are empty strings."""
    source = files("models.simulator.base").joinpath("data", f"{name}.csv").read_bytes()
    return pl.read_csv(source, infer_schema=False, comment_prefix="#").fill_null("")


@dataclass(frozen=True)
class WeightedList:
    """Entries to draw from; `frame` has at least `weight` and `split`."""

    frame: pl.DataFrame

    @cached_property
    def weights(self) -> Floats:
        return self.frame["weight"].to_numpy().astype(np.float64)

    @cached_property
    def splits(self) -> NDArray[np.uint8]:
        return self.frame["split"].to_numpy()

    @cached_property
    def is_pattern(self) -> NDArray[np.bool_]:
        """Whether a `name` has slots that each booking or user fills."""
        return self.frame["name"].str.contains("{", literal=True).to_numpy()

    def pick(self, chances: Floats) -> Ints:
        """Positions in the frame."""
        return weighted(chances, self.weights)

    def limited(self, codes: NDArray[np.uint8]) -> "WeightedList":
        """Only entries of these splits, or all if there would be none: some authorities are unique."""
        inside = np.isin(self.splits, codes)
        return WeightedList(self.frame.filter(inside)) if inside.any() else self


def _with_split(frame: pl.DataFrame, group: str, family: str) -> pl.DataFrame:
    codes = split_of_families(frame[group].to_list(), frame[family].to_list())
    return frame.with_columns(split=pl.Series(codes, dtype=pl.UInt8))


def _number(name: str, default: float) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False).fill_null(default)


def _family(*names: str) -> pl.Expr:
    """The first non-empty column, without slots for names."""
    return (
        pl.coalesce(pl.when(pl.col(name) != "").then(name) for name in names)
        .str.replace_all(r"\{[A-Za-z]+\}", "")
        .str.strip_chars()
    )


SPLIT_CATEGORIES = {
    "GALERIA": "SHOPPING_CLOTHINGACCESSORIES",
    "Mister Minit": "LIVING_OTHER",
    "B1 Discount Baumarkt": "LIVING_OTHER",
}
"""The categories that merchants had when the lists were split: a later correction of a category must not change any split."""


@cache
def _businesses() -> dict[str, pl.DataFrame]:
    """Merchants, trades and parties with their splits, which they share where they share a family."""
    frames = {
        "merchants": table("merchants").with_columns(
            group=pl.coalesce(pl.col("name").replace_strict(SPLIT_CATEGORIES, default=None, return_dtype=pl.String), "category"),
            family=_family("family", "name"),
        ),
        "trades": table("trades").with_columns(group=pl.concat_str("category", "kind"), family=_family("family", "pattern")),
        "parties": table("parties").with_columns(group="pool", family=_family("family", "brand", "name")),
    }
    both = pl.concat(
        [frame.select("family", pl.concat_str(pl.lit(f"{name} "), "group").alias("group")) for name, frame in frames.items()]
    )
    codes = pl.Series(split_of_families(both["group"].to_list(), both["family"].to_list()), dtype=pl.UInt8)
    ends = np.cumsum([0, *(frame.height for frame in frames.values())])
    return {
        name: frame.with_columns(
            _number("weight", 1.0),
            split=codes.slice(int(start), frame.height),
            number=_numbers(frame["pattern" if name == "trades" else "name"]),
        )
        for (name, frame), start in zip(frames.items(), ends, strict=False)
    }


def _numbers(names: pl.Series) -> pl.Series:
    """A number for every entry, from its name."""
    return pl.Series([int(salt(text)) for text in names.to_list()], dtype=pl.UInt64)


@cache
def shops() -> pl.DataFrame:
    """All shops: merchants, small businesses (their names are patterns) and shops abroad; `source` is the sort."""
    brands = merchants().select(
        "name",
        "brand",
        "category",
        "weight",
        "split",
        "number",
        "freelancer",
        "place",
        _number("median", 20.0),
        _number("sigma", 0.6),
        _number("paypal", 0.0),
        _number("klarna", 0.0),
        source="kind",
        legal=pl.when(pl.col("legal") == "").then("name").otherwise("legal"),
        words=pl.lit(""),
        wording=pl.lit(""),
        terminal=pl.lit(0.0),
        currency=pl.lit(""),
    )
    trades = _businesses()["trades"].select(
        "brand",
        "category",
        "weight",
        "split",
        "number",
        "freelancer",
        "words",
        "wording",
        _number("median", 20.0),
        _number("sigma", 0.5),
        _number("terminal", 0.0),
        name="pattern",
        source=pl.when(pl.col("kind") == "invoice").then(pl.lit("trade_invoice")).otherwise(pl.lit("trade")),
        legal="pattern",
        place=pl.lit(""),
        paypal=pl.lit(0.0),
        klarna=pl.lit(0.0),
        currency=pl.lit(""),
    )
    places = table("abroad")
    abroad = _with_split(places.with_columns(number=_numbers(places["name"])), "category", "name").select(
        "number",
        "name",
        "category",
        "split",
        "currency",
        _number("median", 20.0),
        brand=pl.lit(""),
        weight=pl.when(pl.col("category") == "TRAVEL_ACCOMMODATION").then(0.2).otherwise(1.0),
        freelancer=pl.lit(""),
        place="city",
        sigma=pl.lit(0.5),
        paypal=pl.lit(0.0),
        klarna=pl.lit(0.0),
        source=pl.lit("abroad"),
        legal="name",
        words=pl.lit(""),
        wording=pl.lit(""),
        terminal=pl.lit(0.0),
    )
    return pl.concat([brands, trades.select(brands.columns), abroad.select(brands.columns)])


def merchants() -> pl.DataFrame:
    """The brands that people buy from, with their splits."""
    return _businesses()["merchants"]


@cache
def parties() -> pl.DataFrame:
    """The counterparties of contracts, by pool; names may be patterns."""
    return _businesses()["parties"]


@cache
def wordings() -> pl.DataFrame:
    """Purposes by kind. `number` 0 is the empty purpose."""
    frame = _with_split(table("wordings").with_columns(_number("weight", 1.0)), "kind", "text")
    return frame.with_row_index("number", 1).with_columns(pl.col("number").cast(pl.UInt16))


@cache
def names(kind: str) -> pl.DataFrame:
    """A list of names: `surname`, `female`, `male`, `street`, or words of houses (`fancy`, ...)."""
    frame = table("names").filter(pl.col("list") == kind).with_columns(_number("weight", 1.0))
    return _with_split(frame, "list", "text")


@cache
def towns() -> pl.DataFrame:
    """Towns with weight, state and postcode."""
    return _with_split(table("towns").with_columns(_number("weight", 1.0), group=pl.lit("town")), "group", "town")


@dataclass(frozen=True)
class AllowedLists:
    """Every list of one simulation, limited to the allowed splits."""

    splits: tuple[str, ...]

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        return allowed_codes(self.splits)

    @cached_property
    def _pools(self) -> dict[tuple[str, str], WeightedList]:
        return {}

    def _pool(self, kind: str, name: str, make: Callable[[], pl.DataFrame]) -> WeightedList:
        """The entries of a sort; `make` is called for the first one who asks."""
        key = (kind, name)
        if key not in self._pools:
            frame = make()
            if frame.is_empty():
                raise LookupError(f"no {kind} {name}")
            self._pools[key] = WeightedList(frame).limited(self.codes)
        return self._pools[key]

    def wording(self, kind: str) -> WeightedList:
        return self._pool("wording", kind, lambda: wordings().filter(pl.col("kind") == kind))

    def party(self, pool: str) -> WeightedList:
        return self._pool("party", pool, lambda: parties().filter(pl.col("pool") == pool))

    def shop(self, category: str, source: str, only: str = "", match: str = "") -> WeightedList:
        """Shops of a sort, by their `position` among all. `match` is ignored where no allowed shop fits it."""

        def make() -> pl.DataFrame:
            frame = shops().with_row_index("position")
            frame = frame.filter((pl.col("category") == category) if category else True, pl.col("source") == source)
            allowed = frame.filter(pl.col("split").is_in(self.codes))
            exact = allowed.filter((pl.col("freelancer") == only) if only else True)
            exact = exact.filter(
                pl.Series([re.search(match, text) is not None for text in exact["name"].to_list()], dtype=pl.Boolean)
            )
            best = exact if exact.height else allowed if allowed.height else frame
            return best.select("position", "weight", "split")

        return self._pool("shop", f"{category} {source} {only} {match}", make)

    def some_split(self, chances: Floats) -> NDArray[np.uint8]:
        """A split for each made-up name, by the shares of the allowed splits."""
        return self.codes[weighted(chances, np.array(SHARES)[self.codes])]

    def name(self, kind: str, keys: Keys, splits: NDArray[np.uint8]) -> pl.Series:
        """Names from a list, each of its split."""
        frame = names(kind)
        if frame.is_empty():
            raise LookupError(f"no names {kind}")
        positions = np.zeros(keys.size, np.int64)
        chances = uniform(keys, f"name {kind}")
        for code in range(len(SPLITS)):
            of_split = np.flatnonzero(frame["split"].to_numpy() == code)
            where = splits == code
            if of_split.size and where.any():
                positions[where] = of_split[weighted(chances[where], frame["weight"].to_numpy()[of_split])]
        return frame["text"][pl.Series(positions, dtype=pl.UInt32)]

    def town(self, keys: Keys, splits: NDArray[np.uint8]) -> Ints:
        """Positions in `towns()`, each of its split."""
        frame = towns()
        positions = np.zeros(keys.size, np.int64)
        chances = uniform(keys, "name town")
        for code in range(len(SPLITS)):
            of_split, where = np.flatnonzero(frame["split"].to_numpy() == code), splits == code
            if where.any():
                positions[where] = of_split[weighted(chances[where], frame["weight"].to_numpy()[of_split])]
        return positions


@cache
def allowed_lists(splits: tuple[str, ...]) -> AllowedLists:
    """The lists for these splits, cached."""
    return AllowedLists(splits)


def fill_names(
    lists: AllowedLists, patterns: pl.Series, keys: Keys, splits: NDArray[np.uint8], town: pl.Series, words: pl.Series
) -> pl.Series:
    """Party names from patterns: {N}, {M} surnames, {V} first name, {O} town, {S} street, {W} of the list that `words` names."""
    has_slots = patterns.str.contains("{", literal=True)
    where = has_slots.arg_true()
    if not len(where):
        return patterns
    own_keys, split = keys[where.to_numpy()], splits[where.to_numpy()]
    frame = pl.DataFrame(
        {
            "p": patterns[where],
            "O": town[where],
            "N": lists.name("surname", own_keys, split),
            "V": lists.name("female", own_keys, split).zip_with(
                pl.Series(uniform(own_keys, "woman") < 0.5), lists.name("male", own_keys, split)
            ),
            "S": lists.name("street", own_keys, split),
            "W": _house_words(lists, own_keys, split, words[where]),
            "M": lists.name("surname", hashed(own_keys, "second surname"), split),
        }
    )
    filled = pl.col("p")
    for letter in "NVOSWM":
        filled = filled.str.replace_all(f"{{{letter}}}", pl.col(letter), literal=True)
    return patterns.scatter(where, frame.select(filled).to_series())


def _house_words(lists: AllowedLists, keys: Keys, splits: NDArray[np.uint8], words: pl.Series) -> pl.Series:
    """A word for the name of each business, from the list of its trade."""
    kinds = words.replace("", "fancy")
    out = pl.Series([""], dtype=pl.String).new_from_index(0, keys.size)
    for kind in kinds.unique().to_list():
        mask = (kinds == kind).to_numpy()
        out = out.scatter(pl.Series(np.flatnonzero(mask)), lists.name(kind, keys[mask], splits[mask]))
    return out
