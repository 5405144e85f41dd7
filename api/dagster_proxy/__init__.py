"""The door to the Dagster UI: a login, and a proxy that passes on only what the UI and our own programs send.

Dagster's webserver has no login, takes mutations by GET and from every page that a browser shows, and answers under every name.
So it listens on a unix socket that only this process reaches. Dagster itself is not loaded here.
"""
