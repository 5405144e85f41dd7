"""Finished answers as they lie ready: long texts that repeat themselves, in a tenth of their size or less."""

import pyarrow as pa

LENGTH_BYTES = 8
CODEC = "zstd"


def packed(content: bytes) -> bytes:
    """The content, packed."""
    squeezed: bytes = pa.compress(content, codec=CODEC, asbytes=True)
    return len(content).to_bytes(LENGTH_BYTES) + squeezed


def unpacked(content: bytes) -> bytes:
    """The content again."""
    size = int.from_bytes(content[:LENGTH_BYTES])
    plain: bytes = pa.decompress(content[LENGTH_BYTES:], decompressed_size=size, codec=CODEC, asbytes=True)
    return plain
