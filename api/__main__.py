"""`python -m api`: serves the API with the settings of the environment. `kontor up` starts it so."""

from api.http import server
from warehouse.settings import Settings

if __name__ == "__main__":
    server.run(Settings())
