"""Telling tenants what has happened: events are sent, signed, to addresses that they chose."""
