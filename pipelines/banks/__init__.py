"""The ways to banks: the contract of a connector, the connectors themselves, the catalogue of banks, and sessions with them."""
