"""Labelled lines of a bank in files: what is refused, what is learned from, and what is held back."""

from pathlib import Path

import polars as pl
import pytest

from models.errors import LabelledLinesInvalid
from models.training import labelled_files
from models.training.train import EXAMPLES, with_own

HEADER = "booking_text,gv_code,name,ultimate,purpose,amount,category\n"
LINES = HEADER + "".join(
    f"Lastschrift,,Imkerei Sonnenhang {number},,Honig Lieferung,-12.9{number % 10},LIVING_GROCERIES\n" for number in range(40)
)


def written(folder: Path, text: str, name: str = "bank.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_lines_of_a_file_are_examples_but_for_a_fifth_of_the_merchants(tmp_path: Path) -> None:
    lines = labelled_files.read(written(tmp_path, LINES))
    held_back = labelled_files.held_back(lines)
    assert lines.height == 40
    assert 1 <= held_back.height <= 16
    examples = labelled_files.examples(lines, 7.0)
    assert examples.schema == EXAMPLES
    assert examples["count"].sum() == 7.0 * (40 - held_back.height)
    assert set(examples["category"]) == {"LIVING_GROCERIES"}
    assert set(examples["part"]) == {"train"}


def test_a_merchant_is_either_learned_from_or_held_back(tmp_path: Path) -> None:
    rows = [f"Lastschrift,,Laden {number % 9},,Einkauf {number},-9,LIVING_GROCERIES" for number in range(90)]
    lines = labelled_files.read(written(tmp_path, HEADER + "\n".join(rows)))
    assert (lines.group_by("name").agg(pl.col("held_back").n_unique())["held_back"] == 1).all()


def test_parquet_and_folders_are_read_and_missing_text_columns_are_empty(tmp_path: Path) -> None:
    written(tmp_path, LINES)
    written(tmp_path, "not read", "notes.txt")
    pl.DataFrame({"name": ["Stadtwerke"], "amount": ["-80"], "category": ["BILLS_ELECTRICITY"]}).write_parquet(
        tmp_path / "b.parquet"
    )
    lines = labelled_files.read(tmp_path)
    assert lines.height == 41
    assert lines.filter(pl.col("name") == "Stadtwerke")["purpose"].to_list() == [""]
    assert labelled_files.read(tmp_path / "b.parquet").height == 1


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (HEADER + "x,,Laden,,Kauf,-1,GROCERIES\n", "line 2: there is no category GROCERIES"),
        (HEADER + "x,,Laden,,Kauf,-1,LIVING\n", "line 2: there is no category LIVING"),
        (
            HEADER + "x,,Laden,,Kauf,-1,LIVING_GROCERIES\nx,,Laden,,Kauf,1e3,LIVING_GROCERIES\n",
            "line 3: the amount »1e3« is none",
        ),
        (HEADER + "x,,Laden,,Kauf,12.50,LIVING_GROCERIES\n", "line 2: LIVING_GROCERIES does not fit an amount of 12.50"),
        (HEADER + ",,,,,-1,LIVING_GROCERIES\n", "line 2: there is no text"),
        (HEADER, "there are no lines"),
        ("name,amount\nLaden,-1\n", "missing columns: category"),
        ("name,amount,category,iban\nLaden,-1,LIVING_GROCERIES,x\n", "unknown columns: iban"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, mistake: str) -> None:
    with pytest.raises(LabelledLinesInvalid, match=mistake) as error:
        labelled_files.read(written(tmp_path, text))
    assert str(error.value).startswith("bank.csv")


def test_of_many_mistakes_the_first_ten_are_named(tmp_path: Path) -> None:
    with pytest.raises(LabelledLinesInvalid, match="and 2 more") as error:
        labelled_files.read(written(tmp_path, HEADER + "x,,Laden,,Kauf,-1,NO\n" * 12))
    assert str(error.value).count("line ") == 10


@pytest.mark.parametrize(("name", "content"), [("bank.xlsx", b"PK"), ("bank.parquet", b"PAR1"), ("bank.csv", b"\xff\xfe\x00")])
def test_files_of_another_kind_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LabelledLinesInvalid, match="bank"):
        labelled_files.read(tmp_path / name)


def test_the_word_of_people_replaces_that_of_the_simulation(tmp_path: Path) -> None:
    own_examples = labelled_files.examples(labelled_files.read(written(tmp_path, LINES)))
    simulated = own_examples.with_columns(category=pl.lit("HOUSING_RENT"), count=pl.lit(500.0))
    other = simulated.head(1).with_columns(key=pl.lit(1, pl.UInt64))
    examples = with_own(pl.concat([simulated, other]), own_examples)
    assert dict(examples["category"].value_counts().iter_rows()) == {"LIVING_GROCERIES": own_examples.height, "HOUSING_RENT": 1}
