"""The redirect form: pages on which end users of tenants that may not handle credentials connect and confirm."""
