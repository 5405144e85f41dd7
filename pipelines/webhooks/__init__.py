"""Webhooks: sends signed events to the addresses that tenants registered."""
