"""A categoriser of any classifier with scikit-learn's interface, an `analytics.tagging.tag.Scorer`.

Here belong models that are not linear; they are some tens of times slower than `models.categoriser.model`, which needs no
scikit-learn. They are stored with skops inside the same kind of file: reading it makes objects of trusted types only.
"""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.categoriser import file, scoring
from models.categoriser.features import hinted
from models.categoriser.model import SCORES, allowed
from models.categoriser.priors import PartnerPriors
from models.errors import ModelUnreadable

OWN_TYPES = tuple(
    f"models.categoriser.{name}"
    for name in ("line_features.LineFeatures", "by_sign.BySign", "temperature.TemperatureCalibration")
)
"""Types of ours that a file may have, besides those of scikit-learn and numpy that skops trusts."""
BLOCK_ROWS = 4096
"""Lines that are scored at a time: the probabilities of all at once could fill the memory."""
_SCHEMA = "schema.json"
_LOADER = re.compile(r'"__loader__": "(\w+)"')
_TINY = np.finfo(np.float32).tiny
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(eq=False)
class PipelineCategoriser:
    """A fitted and calibrated classifier that reads lines."""

    label: str
    classifier: Any
    """A `TemperatureCalibration` of a pipeline that begins with `LineFeatures`."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Where the model comes from, for people and reports."""
    version: str = field(init=False)

    def __post_init__(self) -> None:
        """Names the version after the content, so that two models never share one."""
        self.version = _version(self.label, self.content)

    @cached_property
    def content(self) -> bytes:
        """The classifier as a skops archive; equal classifiers give equal bytes."""
        from skops.io import dumps  # which takes longer to load than all the rest of the service

        return _renumbered(dumps(self.classifier))

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(map(str, self.classifier.classes_))

    @property
    def temperature(self) -> float:
        return float(self.classifier.temperature_)

    @classmethod
    def load(cls, path: Path, trusted_types: Sequence[str] = ()) -> Self:
        """The model of a file; `ModelUnreadable` if it is damaged, altered, or has objects of types that nobody trusts."""
        about, arrays = file.read(path, file.PIPELINE_ARRAYS)
        content = arrays["pipeline"].tobytes()
        try:
            label, facts = str(about["label"]), dict(about["facts"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelUnreadable(f"{path.name}: the description is incomplete") from error
        if _version(label, content) != about.get("version"):
            raise ModelUnreadable(f"{path.name}: the content is not that of {about.get('version')}")
        model = cls.__new__(cls)
        model.label, model.facts, model.version = label, facts, str(about["version"])
        model.__dict__["content"] = content
        model.classifier = _classifier(content, path.name, trusted_types)
        return model

    def save(self, path: Path) -> None:
        """Writes the model to a file."""
        about = {"label": self.label, "version": self.version, "facts": dict(self.facts)}
        file.write(path, about, {"pipeline": np.frombuffer(self.content, np.uint8)})

    def score(self, lines: pl.DataFrame, priors: pl.DataFrame | None = None, prior_power: float = 1.0) -> pl.DataFrame:
        """The category of each line, as `SCORES`, without words. With `PRIORS`, lines need a column `partner`."""
        table, prior_of = self._partner_priors.of_lines(lines, priors, prior_power)
        parts = [
            self._score(part, table, prior_of[number * BLOCK_ROWS : (number + 1) * BLOCK_ROWS])
            for number, part in enumerate(hinted(lines).iter_slices(BLOCK_ROWS))
        ]
        best = np.concatenate([np.empty(0, np.int32), *(part[0] for part in parts)])
        columns = [
            lines["key"],
            pl.Series("category", [*self.classes, None], pl.String).gather(np.where(best < 0, len(self.classes), best)),
            pl.Series("confidence", np.concatenate([np.empty(0), *(part[1] for part in parts)])),
            pl.repeat("", lines.height, eager=True).alias("words"),
        ]
        return pl.DataFrame(columns, schema=SCORES)

    def _score(
        self, lines: pl.DataFrame, priors: NDArray[np.float32], prior_of: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        logarithms = np.log(np.maximum(self.classifier.predict_proba(lines), _TINY)).astype(np.float32)
        positive = lines["positive"].cast(pl.UInt8).to_numpy()
        return scoring.choose(logarithms, positive, self._allowed, 1.0, priors, prior_of)

    @cached_property
    def _allowed(self) -> NDArray[np.bool_]:
        return allowed(self.classes)

    @cached_property
    def _partner_priors(self) -> PartnerPriors:
        return PartnerPriors(self.classes)


def untrusted_types(content: bytes, trusted_types: Sequence[str] = ()) -> list[str]:
    """The types of a skops archive that nobody trusts.

    Random states are among them although skops trusts them: it hands their positions to numpy unchecked.
    """
    from skops.io import get_untrusted_types

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        loaders = set(_LOADER.findall(archive.read(_SCHEMA).decode()))
    refused = set(get_untrusted_types(data=content)) - {*OWN_TYPES, *trusted_types}
    return sorted(refused | {name for name in loaders if name.startswith("Random")})


def _classifier(content: bytes, name: str, trusted_types: Sequence[str]) -> Any:
    from skops.io import loads

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        fits = size <= file.MAX_ARRAY_BYTES
        refused = untrusted_types(content, trusted_types) if fits else []
        classifier = loads(content, trusted=[*OWN_TYPES, *trusted_types]) if fits and not refused else None
    except Exception as error:  # a damaged archive fails in any of a dozen ways
        raise ModelUnreadable(f"{name}: {type(error).__name__} while reading") from error
    if not fits:
        raise ModelUnreadable(f"{name}: {size} bytes unpacked")
    if refused:
        raise ModelUnreadable(f"{name}: types that are not trusted: {', '.join(refused)}")
    return classifier


def _version(label: str, content: bytes) -> str:
    return f"{label}-{hashlib.sha256(content).hexdigest()[:6]}"


def _renumbered(content: bytes) -> bytes:
    """The archive with objects and files numbered in their order, and without times.

    skops names both after addresses in memory, which differ from run to run.
    """
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}

    def renumber(node: Any) -> Any:
        if isinstance(node, list):
            return [renumber(part) for part in node]
        if not isinstance(node, dict):
            return node
        renumbered = {name: renumber(part) for name, part in node.items()}
        if "__id__" in node:
            renumbered["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
        if isinstance(node.get("file"), str):
            renumbered["file"] = files.setdefault(node["file"], f"{len(files)}{Path(node['file']).suffix}")
        return renumbered

    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(buffer, "w") as target:
        schema = renumber(json.loads(source.read(_SCHEMA)))
        members = {new: source.read(old) for old, new in files.items()}
        for name, member in {_SCHEMA: json.dumps(schema).encode(), **members}.items():
            target.writestr(zipfile.ZipInfo(name, _EPOCH), member)
    return buffer.getvalue()
