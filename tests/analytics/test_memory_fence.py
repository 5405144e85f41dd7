"""A memory fence: kernels read and write arrays that end, or begin, at a page that may not be touched.

A kernel that goes one byte beyond dies at once, whatever a bounds check would say. Each run is a process of its own.
"""

import ctypes
import mmap
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
PAGE = mmap.PAGESIZE
ENDS, BEGINS = "ends", "begins"
NO_ACCESS = 0
TEXTS = 2000
KERNELS = {
    "_plain", "_canonical", "_name_keys", "_cut", "_keys", "_lines", "_are_plain",
    "_longest", "_fill", "_scan", "_counts", "_best",
}  # fmt: skip
PIECES = [
    b"", b"x", b" ", b"\0", b"+", b":", b";", b"/", b"//", b"*", b"&", b"|", b"?", b"0", b"4711", b"DE", b"\xc3", b"\xc3\xa4",
    b"\xe2\x82", b"\xf0\x9f\x98", b"\xcc\x88", b"a\xcc\x88", b"\xc3\x83\xc2\xbc", b"\xff", b"\x80", b"SVWZ+", b"EREF+",
    b"MREF+", b"CRED+", b"IBAN+", b"BIC+", b"PURP+", b"ABWA+", b"SVW", b"E REF+", b"IBAN: DE", b"BIC: ", b"TAN1:", b"Referenz ",
    b"Mandat: ",
    b"Gl\xc3\xa4ubiger-ID: ", b"Verwendungszweck: ", b"Ref.", b" Ref. 12", b"nicht angegeben", b"NOTPROVIDED", b"RCUR ", b"zzz",
    b"DE98ZZZ09999999999", b"renz 1234567", b";1234567;", b"gmbh", b"Rewe GmbH & Co. KG", b"paypal *",
    b"//berlin/de", b"/koeln/DE",
    b"amazon", b"via paypal", b"januar", b"str 5", b"hauptstrasse 12", b"1&1", b"e v", b"vielen dank", b"\n", b"\t", b"-", b".",
]  # fmt: skip


def hostile_texts() -> list[bytes]:
    """Texts that end in the middle of everything that kernels look for."""
    chance = random.Random(1)
    texts = [
        *PIECES,
        *(piece[:cut] for piece in PIECES for cut in range(len(piece))),
        b"S" * 100_000,
        b"EREF+" * 4000,
        b"a b " * 9000,
    ]
    while len(texts) < TEXTS:
        text = b" ".join(chance.choices(PIECES, k=chance.randrange(1, 40)))
        texts.append(text if chance.random() < 0.5 else text.replace(b" ", b"")[: chance.randrange(200)])
    chance.shuffle(texts)
    return [*texts[:-1], b"paypal SVWZ"]  # the last text of all ends with the memory


class Fence:
    """Memory with a page beside it that may not be touched."""

    def __init__(self, side: str) -> None:
        self._side, self._maps = side, list[mmap.mmap]()

    def memory(self, size: int) -> tuple[mmap.mmap, int]:
        """Fresh memory of a number of bytes, and the offset where they begin."""
        pages = -(-size // PAGE) + 1
        memory = mmap.mmap(-1, pages * PAGE)
        self._maps.append(memory)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        forbidden = address + (pages - 1) * PAGE if self._side == ENDS else address
        assert ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(forbidden), PAGE, NO_ACCESS) == 0
        return memory, ((pages - 1) * PAGE - size if self._side == ENDS else PAGE)

    def around(self, argument: Any) -> Any:
        """An array, or a tuple of arrays, copied beside the fence; anything else as it is."""
        if isinstance(argument, tuple):
            parts = [self.around(part) for part in argument]
            return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
        if not isinstance(argument, np.ndarray) or argument.nbytes == 0:
            return argument
        memory, offset = self.memory(argument.nbytes)
        copy = np.frombuffer(memory, argument.dtype, argument.size, offset).reshape(argument.shape)
        copy[...] = argument
        return copy

    def kernel(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that works beside the fence; what it wrote is copied back."""

        def call(*arguments: Any) -> Any:
            fenced = [self.around(argument) for argument in arguments]
            result = function(*fenced)
            for argument, copy in zip(arguments, fenced, strict=True):
                if isinstance(argument, np.ndarray):
                    argument[...] = copy
            return result

        return call


def patch(module: Any, **values: Any) -> None:
    """Gives names of a module other values."""
    for name, value in values.items():
        setattr(module, name, value)


def run(side: str) -> None:
    """Reads hostile texts with every public function of reading, whose kernels work beside the fence."""
    from analytics.bank_text import canonical, ibans, lines, sepa
    from analytics.native import alias_scan, columns, similarity, word_scan

    fence, texts = Fence(side), hostile_texts()
    data, offsets = np.frombuffer(b"".join(texts), np.uint8).copy(), np.cumsum([0, *map(len, texts)]).astype(np.int64)
    for module in (canonical, ibans, lines, sepa, alias_scan, similarity, word_scan):
        patch(module, **{name: fence.kernel(vars(module)[name]) for name in KERNELS & vars(module).keys()})
    for module in (canonical, ibans, sepa, alias_scan, word_scan):
        patch(module, strings=lambda _: (data, offsets))
    patch(sepa, text_column=lambda name, _, ends: pl.Series(name, np.diff(ends)).cast(pl.String))
    column = pl.Series("text", [""] * len(texts))
    for function in (canonical.plain, canonical.canonical, canonical.name_key, ibans.compared):
        function(column)
    sepa.fields(column)
    read_lines(data, offsets, len(texts))
    words = ["miete", "miete*", "*apotheke", "*versich*", "spar plan", "verwendungszweck", "gmbh"]
    word_scan.find(column, word_scan.dictionary(words))
    patch(alias_scan, strings=columns.strings)
    known = alias_scan.Spellings(pl.Series(["rewe", "paypal", "amazon eu"]), np.array([0, 1, 2], np.uint8), pl.Series(["und"]))
    _ = known.table, known.words, known.squeezed.table, known.squeezed.words
    similar = similarity.Names(pl.Series(["rewe markt", "paypal europe"]))
    _ = similar.weights
    no = np.zeros(len(texts), np.bool_)
    patch(alias_scan, strings=lambda _: (data, offsets))
    alias_scan.find(column, known, alias_scan.LineKinds(no, no, no))
    alias_scan.find_squeezed(column, known, alias_scan.LineKinds(no, no, no), 3)
    similarity.most_alike(pl.Series(["rewe", "", "rewe markd", "x", "paypal europ"]), similar, 0.1)


def read_lines(data: Any, offsets: Any, rows: int) -> None:
    """Keys and lines of bookings whose texts are all hostile, each column in another order."""
    from analytics.bank_text import lines
    from analytics.native.columns import TextColumns

    lengths = np.diff(offsets)
    orders = [np.random.default_rng(column).permutation(rows) for column in range(6)]
    parts = [data[offsets[row] : offsets[row + 1]] for order in orders for row in order]
    borders, base = np.zeros((6, rows + 1), np.int64), 0
    for column, order in enumerate(orders):
        borders[column] = base + np.concatenate([[0], np.cumsum(lengths[order])])
        base = borders[column, -1]
    source = TextColumns(np.concatenate(parts), borders)
    patch(lines, texts=lambda *_: source)
    bookings = pl.DataFrame({name: [""] * rows for name in lines.READ[:-1]}).with_columns(
        amount_cents=pl.int_range(-1000, rows - 1000)
    )
    lines.keys(bookings, 1)
    lines.read(bookings)
    lines.contents(bookings)


def go_beyond(side: str) -> None:
    """Reads one byte beyond the fence."""
    from analytics.bank_text import ibans

    memory, offset = Fence(side).memory(8)
    array = np.frombuffer(memory, np.uint8, 8, offset)
    array[:] = ord("A")
    address = array.ctypes.data - (side == BEGINS)
    beyond = np.ctypeslib.as_array((ctypes.c_uint8 * 9).from_address(address))
    ibans._are_plain(array)
    print("within", flush=True)
    ibans._are_plain(beyond)


def child(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("side", [ENDS, BEGINS])
def test_no_kernel_of_reading_goes_beyond_its_arrays(side: str) -> None:
    process = child("run", side)
    assert process.returncode == 0, process.stderr[-2000:]


@pytest.mark.parametrize("side", [ENDS, BEGINS])
def test_one_byte_beyond_is_fatal(side: str) -> None:
    process = child("go_beyond", side)
    assert process.stdout == "within\n"
    assert process.returncode < 0


if __name__ == "__main__":
    {"run": run, "go_beyond": go_beyond}[sys.argv[1]](sys.argv[2])
