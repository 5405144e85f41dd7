"""`python -m api`: serves the API with the settings of the environment, as `kontor up` starts it."""

from api.http import server
from warehouse.settings import Settings

if __name__ == "__main__":
    server.run(Settings())
