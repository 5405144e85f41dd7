"""The measure of all ratios: one FastAPI route that answers JSON, served exactly as the API is. Nothing else belongs here."""

import uvicorn
from fastapi import FastAPI

from api.http.server import options
from warehouse.settings import Settings

app = FastAPI()


@app.get("/")
async def hello() -> dict[str, str]:
    return {"hello": "world"}


if __name__ == "__main__":
    settings = Settings()
    uvicorn.run(app, workers=settings.workers, **options(settings))
