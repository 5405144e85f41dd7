"""The command line `kontor`, for operators. One file per group of commands; each calls stores and flows."""

from api.cli.command_line import app, main

__all__ = ["app", "main"]
