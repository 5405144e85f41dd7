"""Two further ways to serve, for what analyses are measured by: the whole API with one route more that answers plain JSON after
the same check of the token, and with nothing kept in memory; or (`alone`) the API with no routes but those of the analyses.
"""

import sys
from dataclasses import replace

import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.customer import Reads
from api.http.response_cache import ResponseCache
from api.http.route import router
from api.http.route_index import RouteIndex
from api.http.server import options
from api.routes import analyses
from warehouse.runtime import logs
from warehouse.settings import Settings

ALONE = "alone"
routes = router("/bench", "Bench")


@routes.get("/hello")
async def hello(_caller: Reads) -> dict[str, str]:
    """What a route costs that does nothing but answer."""
    return {"hello": "world"}


def whole(settings: Settings) -> FastAPI:
    """The API with that route, found as quickly as the others, and without answers that are kept."""
    app = create_app(settings)
    app.state.services = replace(app.state.services, response_cache=ResponseCache(0))
    app.router.routes[:0] = [RouteIndex(routes.routes), *routes.routes]
    return app


if __name__ == "__main__":
    given = Settings()
    logs.configure(given.log_level)
    made = create_app(given, (analyses.routes,)) if ALONE in sys.argv[1:] else whole(given)
    uvicorn.run(made, **options(given))
