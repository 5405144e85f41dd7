"""A small app of a tenant at `/demo`: connect a bank, come back, see what the public interface tells of one's money.

It is there where the demo is, and only there. It calls the interface over HTTP as any tenant does and looks at nothing else.
"""

import logging

from fastapi import FastAPI

from api.demo_app.app import ROUTES


def install(app: FastAPI) -> None:
    """Adds the demo's pages to an app; they answer only while the demo's credentials lie in the data directory."""
    app.router.routes.extend(ROUTES)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells addresses, and account numbers stand in some of them
