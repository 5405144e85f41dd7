"""Bodies of requests, with limits on their size and on the time they take."""

import asyncio

from starlette.requests import ClientDisconnect, Request

from api.dagster_proxy.rules import Refusal

TOO_LARGE = Refusal(413, "The body is too large.")
TOO_SLOW = Refusal(408, "The body did not arrive in time.")
UNFINISHED = Refusal(400, "The body is incomplete.")


async def read_body(request: Request, max_bytes: int, timeout_seconds: float) -> bytes | Refusal:
    """The whole body of a request, or why it is refused."""
    try:
        async with asyncio.timeout(timeout_seconds):
            return await _collect(request, max_bytes)
    except TimeoutError:
        return TOO_SLOW
    except ClientDisconnect:
        return UNFINISHED


async def _collect(request: Request, max_bytes: int) -> bytes | Refusal:
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > max_bytes:
        return TOO_LARGE
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            return TOO_LARGE
    return bytes(body)
