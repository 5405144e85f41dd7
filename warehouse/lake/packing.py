"""Finished answers as they lie ready: long texts that repeat themselves, in a tenth of their size or less."""

import io

import polars as pl
import pyarrow as pa

LENGTH_BYTES = 8
CODEC = "zstd"


def pack(content: bytes) -> bytes:
    """The content, packed."""
    squeezed: bytes = pa.compress(content, codec=CODEC, asbytes=True)
    return len(content).to_bytes(LENGTH_BYTES) + squeezed


def unpack(content: bytes) -> bytes:
    """The content again."""
    size = int.from_bytes(content[:LENGTH_BYTES])
    plain: bytes = pa.decompress(content[LENGTH_BYTES:], decompressed_size=size, codec=CODEC, asbytes=True)
    return plain


def pack_frame(frame: pl.DataFrame) -> bytes:
    """The rows of a frame as bytes, packed: the same bytes whatever frame they were cut from, and no text of its other rows.

    Arrow's own format takes such texts along, and they may be of other people.
    """
    out = io.BytesIO()
    frame.rechunk().write_parquet(out, compression="zstd", compression_level=1, statistics=False)
    return out.getvalue()


def unpack_frame(content: bytes) -> pl.DataFrame:
    """The frame again."""
    return pl.read_parquet(io.BytesIO(content))
