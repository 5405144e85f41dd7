"""All pages of the console, put together."""

from fastapi import APIRouter

from api.console import accounts, customers, login, operations, overview, tenants, visits, webhooks

PARTS = (login, overview, tenants, customers, webhooks, operations, accounts)
"""Each registers its pages when it is loaded."""


def console_routes() -> APIRouter:
    """The routes of the console."""
    return visits.routes
