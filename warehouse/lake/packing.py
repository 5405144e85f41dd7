"""Compression of results that are stored ready to send: repetitive texts shrink to a tenth of their size or less."""

import io

import polars as pl
import pyarrow as pa

LENGTH_BYTES = 8
CODEC = "zstd"


def pack(content: bytes) -> bytes:
    """The content, compressed."""
    compressed: bytes = pa.compress(content, codec=CODEC, asbytes=True)
    return len(content).to_bytes(LENGTH_BYTES) + compressed


def unpack(content: bytes) -> bytes:
    """The content that was packed."""
    size = int.from_bytes(content[:LENGTH_BYTES])
    text: bytes = pa.decompress(content[LENGTH_BYTES:], decompressed_size=size, codec=CODEC, asbytes=True)
    return text


def pack_frame(frame: pl.DataFrame) -> bytes:
    """The rows of a frame as compressed bytes, which do not depend on the larger frame that they were cut from.

    Arrow's own format would include texts of that frame's other rows, which may belong to other people.
    """
    out = io.BytesIO()
    frame.rechunk().write_parquet(out, compression="zstd", compression_level=1, statistics=False)
    return out.getvalue()


def unpack_frame(content: bytes, columns: list[str] | None = None) -> pl.DataFrame:
    """The frame that was packed, or only some of its columns."""
    return pl.read_parquet(io.BytesIO(content), columns=columns)
