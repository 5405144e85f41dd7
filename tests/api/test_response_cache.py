"""The cache of responses: limited by bytes, compressed ones included, and never out of date."""

import gzip
from datetime import date
from uuid import UUID

from api.http.response_cache import ENTRY_BYTES, CachedResponse, ResponseCache
from pipelines.results.live import ResultState

ANNA, BERT = UUID(int=1), UUID(int=2)
STATE = ResultState(7, date(2026, 11, 15), "v1")
LATER = ResultState(8, date(2026, 11, 15), "v1")


def response(size: int, state: ResultState = STATE) -> CachedResponse:
    return CachedResponse(state, b"x" * size, precomputed=True)


def test_only_the_response_of_the_state_is_found() -> None:
    cache = ResponseCache(100, entry_bytes=0)
    cache.put(ANNA, "contracts", response(10))
    assert cache.find(ANNA, "contracts", STATE) == response(10)
    assert cache.find(ANNA, "contracts", LATER) is None
    assert cache.find(ANNA, "cashflow", STATE) is None
    assert cache.find(BERT, "contracts", STATE) is None
    cache.put(ANNA, "contracts", response(20, LATER))
    assert cache.find(ANNA, "contracts", STATE) is None


def test_the_least_recently_used_response_is_evicted_first() -> None:
    cache = ResponseCache(100, entry_bytes=0)
    for name in ("a", "b"):
        cache.put(ANNA, name, response(50))
    assert cache.find(ANNA, "a", STATE)
    cache.put(ANNA, "c", response(50))
    assert [name for name in "abc" if cache.find(ANNA, name, STATE)] == ["a", "c"]


def test_compressed_bytes_count_and_too_large_a_response_is_not_stored() -> None:
    cache = ResponseCache(100, entry_bytes=0)
    cache.put(ANNA, "a", response(40))
    compressed = response(60).with_gzip()
    assert compressed.gzip_body is not None
    assert gzip.decompress(compressed.gzip_body) == compressed.body
    assert compressed.size_bytes == 60 + len(compressed.gzip_body) > 60
    cache.put(ANNA, "b", compressed)
    assert [name for name in "ab" if cache.find(ANNA, name, STATE)] == ["b"]
    cache.put(ANNA, "c", response(101))
    assert [name for name in "abc" if cache.find(ANNA, name, STATE)] == ["b"]
    assert ResponseCache(0).find(ANNA, "a", STATE) is None


def test_many_small_responses_do_not_exceed_the_limit() -> None:
    cache = ResponseCache(100 * ENTRY_BYTES)
    for number in range(200):
        cache.put(ANNA, f"cashflow-{number}", response(2))
    assert sum(cache.find(ANNA, f"cashflow-{number}", STATE) is not None for number in range(200)) < 100
